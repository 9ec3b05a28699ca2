// The members in numbers: their own pauses, their packets, and how each hears the others.

import { byId, colour, el, explain, length, rove } from './dom.js';
import { choose, state } from './state.js';

let drawn = 0;
let waiting = false;
let stop;

export function start() {
  const list = () => [...byId('matrix').querySelectorAll('button')];
  stop = rove(byId('matrix'), list, (key) => ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: state.members.size - 1, ArrowUp: 1 - state.members.size })[key]);
}

export function update(changed) {
  if (changed.has('chosen') || changed.has('members') || changed.has('links')) waiting = true;
}

// Numbers that change ten times a second cannot be read: twice is enough.
export function frame(at) {
  if (!waiting || at - drawn < 500) return;
  // What somebody is about to press must not be replaced.
  if (byId('matrix').matches(':focus-within, :active')) return;
  drawn = at;
  waiting = false;
  table();
  pauses();
  matrix();
}

// pauses draws how many pauses of each length a member had, against what its leases survive: the chosen one, or the one that speaks.
function pauses() {
  const name = state.chosen?.kind === 'member' ? state.chosen.names[0] : state.about.self;
  const all = [...state.members.values()].filter((m) => m.pauses?.rungs);
  const m = all.find((x) => x.name === name) ?? all[0];
  byId('pauses').hidden = !m;
  if (!m) return;
  const p = m.pauses;
  byId('pauses-title').textContent = `Pauses of ${m.name}`;
  const day = p.day ? `; the longest in 24 hours was ${length(p.day)}, at ${new Date(p.dayAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hour12: false })}` : '';
  byId('pauses-text').textContent = p.survives ? `Leases survive pauses of ${length(p.survives)}${day}.` : '';
  byId('pauses-text').className = p.survives && p.day > p.survives ? 'warn' : '';
  let from = 0;
  const rows = p.rungs.map((r) => {
    const label = r.upper ? `up to ${length(r.upper)}` : `above ${length(from)}`;
    from = r.upper;
    const bar = el('span', { class: r.costs ? 'bar costs' : 'bar' });
    bar.style.width = `${r.share * 100}%`;
    return el('tr', { class: r.upper === p.survives ? 'survives' : '' }, el('th', { scope: 'row' }, label), el('td', { class: 'number' }, String(r.count)), el('td', { class: 'bars' }, bar));
  });
  byId('pauses-table').replaceChildren(el('tbody', {}, rows));
}

function table() {
  const all = [...state.members.values()];
  // Columns of which nobody knows anything are left out.
  const shown = columns.filter((c) => all.some((m) => c.of(m) !== undefined));
  const head = el('tr', {}, ['Member', 'State', ...shown.map((c) => c.label)].map((t) => el('th', { scope: 'col' }, t)));
  const rows = all.map((m) => el('tr', { class: m.state === 'removed' || m.leaving ? 'leaving' : '' },
    el('th', { scope: 'row' }, el('span', { class: `badge ${colour(state, m.name)}` }, m.name),
      m.role && !m.learning ? el('span', { class: 'badge plain' }, m.role) : '', m.learning ? el('span', { class: 'badge plain' }, 'learning') : '', m.leaving ? el('span', { class: 'badge plain' }, 'leaving') : '',
      m.drained ? el('span', { class: 'badge drained', title: 'An operator keeps this member from leading: regent undrain' }, 'drained') : ''),
    el('td', { class: m.state === 'up' && !m.problem ? '' : 'warn' }, m.problem ? `${m.state}: ${m.problem}` : m.state),
    shown.map((c) => el('td', { class: c.bad?.(m) ? 'number warn' : 'number' }, String(c.of(m) ?? '')))));
  byId('members-table').replaceChildren(el('thead', {}, head), el('tbody', {}, rows));
}

// knows says whether a member has told the source of itself.
const knows = (m) => !state.about.self || m.tells;

// roundTrip returns the longest of the round trips that a member measures.
function roundTrip(name) {
  let longest = 0;
  for (const l of state.links.values()) if (l.to === name) longest = Math.max(longest, l.roundTrip ?? 0);
  return longest ? length(longest) : undefined;
}

const columns = [
  { label: 'Leads', of: (m) => (knows(m) ? m.leading ?? 0 : undefined) },
  { label: 'Own pauses: median', of: (m) => m.pauses && length(m.pauses.median) },
  { label: '99 %', of: (m) => m.pauses && length(m.pauses.p99) },
  { label: 'longest', of: (m) => m.pauses && length(m.pauses.longest), bad: (m) => m.pauses?.survives && m.pauses.longest > m.pauses.survives },
  { label: 'Leases survive', of: (m) => (m.pauses?.survives ? length(m.pauses.survives) : undefined) },
  { label: 'Longest round trip', of: (m) => roundTrip(m.name) },
  { label: 'Key', of: (m) => (m.keyProblem ? `${m.key ?? ''} ${m.keyProblem}`.trim() : m.key) },
  { label: 'Packets in', of: (m) => m.packetsIn },
  { label: 'out', of: (m) => m.packetsOut },
];

function matrix() {
  const names = [...state.members.keys()];
  const head = el('tr', {}, el('th', { scope: 'col' }, 'hears'), names.map((n) => el('th', { scope: 'col' }, n)));
  const rows = names.filter((to) => names.some((from) => state.links.has(`${from}>${to}`))).map((to) => el('tr', {}, el('th', { scope: 'row' }, to), names.map((from) => cell(from, to))));
  byId('matrix').replaceChildren(el('thead', {}, head), el('tbody', {}, rows));
  stop();
}

function cell(from, to) {
  if (from === to) return el('td', { class: 'self' });
  const l = state.links.get(`${from}>${to}`);
  if (!l) return el('td', {}, '');
  const names = [...state.members.keys()];
  const pair = names.indexOf(from) < names.indexOf(to) ? [from, to] : [to, from];
  const chosen = state.chosen?.kind === 'link' && state.chosen.names.join() === pair.join();
  const label = l.state === 'cut' ? 'cut' : l.bound ? length(l.bound) : l.state === 'unknown' ? '?' : l.state;
  const button = el('button', { type: 'button', class: l.state, tabindex: -1, data: { link: `${from}>${to}` }, 'aria-pressed': chosen,
    'aria-label': `${to} hears ${from}: ${l.state}, ${label}`, onclick: () => choose({ kind: 'link', names: pair }) }, label);
  explain(button, () => [`${to} hears ${from}: ${l.state}`, l.bound ? `last packet proven within ${length(l.bound)}` : 'nothing is proven',
    l.roundTrip ? `round trip ${length(l.roundTrip)}` : '', l.made ? `you: ${l.made}` : '']);
  return el('td', {}, button);
}

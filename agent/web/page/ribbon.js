// The council in one line: its number, the running change and what it waits for, and a mark for each voter and phase.

import { byId, colour, el, keep, length, text } from './dom.js';
import { now, onChange, state } from './state.js';

const marks = [['accepted', 'has accepted the next configuration'], ['adopted', 'has the present configuration on its disk'], ['settled', 'has settled in it']];
const chips = new Map();

export function start() {}

export function update(changed) {
  if (!['about', 'members'].some((w) => changed.has(w))) return;
  const c = state.about.council;
  const box = byId('ribbon');
  box.hidden = !c;
  if (!c) return;
  box.dataset.number = c.number;
  box.dataset.running = c.change ? 'yes' : '';
  box.dataset.blocked = c.blocked ? 'yes' : '';
  const by = c.by ? ` (asked for at ${c.by})` : '';
  text(byId('ribbon-text'), c.change ? `${c.change}${by}` : `number ${c.number}, ${c.settled ? 'settled' : 'not settled'}`);
  text(byId('ribbon-note'), [c.fileDiffers, c.fixed && `This council cannot change: ${c.fixed}.`].filter(Boolean).join(' '));
  byId('ribbon-note').hidden = !c.fileDiffers && !c.fixed;
  text(byId('ribbon-given-up'), c.givenUp ?? '');
  byId('ribbon-given-up').hidden = !c.givenUp;
  const behind = [...state.members.values()].some((m) => m.number !== undefined && m.number !== c.number && m.state !== 'removed');
  const names = c.change || behind ? [...state.members.values()].filter((m) => m.state !== 'removed').map((m) => m.name) : [];
  keep(byId('ribbon-marks'), chips, names, chip);
  byId('ribbon-legend').hidden = !names.length;
  for (const [name, node] of chips) paint(node, state.members.get(name));
}

function chip(name) {
  return el('li', { data: { chip: name } }, el('span', { class: 'badge' }, name), el('b', { class: 'number' }), marks.map(([mark, title]) => el('i', { class: 'mark', title: `${name} ${title}`, data: { mark } })), el('small', {}));
}

function paint(node, m) {
  node.className = `${colour(state, m.name)}${m.learning ? ' learning' : ''}${m.leaving ? ' leaving' : ''}`;
  const has = [];
  node.querySelectorAll('.mark').forEach((i) => {
    const on = Boolean(m[i.dataset.mark]);
    i.classList.toggle('on', on);
    if (on) has.push(i.dataset.mark);
  });
  text(node.querySelector('b'), m.number === undefined ? '' : String(m.number));
  node.querySelector('b').title = m.number === undefined ? '' : `${m.name} has the council with number ${m.number}`;
  const waited = state.about.council.waits?.includes(m.name);
  const how = [m.learning && `learning${m.learns ? ` ${m.knows ?? 0} of ${m.learns}` : ''}`, m.leaving && 'leaving', waited && 'waited for'].filter(Boolean).join(', ');
  text(node.querySelector('small'), how);
  node.classList.toggle('waited', Boolean(waited));
  node.setAttribute('aria-label', [m.name, m.number !== undefined && `number ${m.number}`, ...has, how].filter(Boolean).join(', '));
}

let drawn = 0;

export function frame(at) {
  const c = state.about.council;
  if (!c || at - drawn < 500) return;
  drawn = at;
  text(byId('ribbon-since'), `since ${length(Math.max(0, now() - c.since))}`);
}

onChange((changed) => {
  if (changed.has('connection')) drawn = 0;
});

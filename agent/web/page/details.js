// What is chosen, in words: what it is like, what it leads to, and what happened to it last.

import { byId, el, keep, length, round, stamp, text } from './dom.js';
import { choose, leaders as all, opinions, shownGroup, state } from './state.js';
import { saying } from './views.js';

const RECENT = 3;
const lines = new Map();
const ways = new Map();

export function start() {}

export function update(changed) {
  if (['chosen', 'members', 'links', 'groups', 'shown', 'log', 'polled'].some((w) => changed.has(w))) render();
}

function render() {
  const c = state.chosen;
  const box = byId('details');
  box.hidden = !c;
  if (!c) return;
  const { says, to, about } = { group: ofGroup, member: ofMember, link: ofLink }[c.kind](c);
  const all = [...says, ...recent(about)].filter(Boolean);
  keep(byId('details-lines'), lines, all.map((_, i) => String(i)), () => el('li'));
  all.forEach((line, i) => text(lines.get(String(i)), line));
  keep(byId('details-ways'), ways, to.map((t) => t.label), (label) => el('button', { type: 'button', onclick: () => way(label) }, label));
}

// way goes where a button leads.
function way(label) {
  const { to } = { group: ofGroup, member: ofMember, link: ofLink }[state.chosen.kind](state.chosen);
  const t = to.find((x) => x.label === label);
  if (t) choose(t.choice);
}

const member = (n) => ({ label: `member ${n}`, choice: { kind: 'member', names: [n] } });

function ofGroup(c) {
  const g = state.groups.get(c.key);
  if (!g) return { says: ['This group is gone.'], to: [], about: () => false };
  const leaders = all(g);
  const says = leaders.map((l) => `${l.member} ${l.local ? 'leads its part' : 'leads'}${l.since === undefined ? ', as it says itself' : ` since ${stamp(l.since)}`}${l.token ? `, with token ${l.token}` : ''}.`);
  return { says: [...says, g.cause && `Reason: ${round(g.cause)} (${stamp(g.changed)}).`], to: leaders.map((l) => member(l.member)), about: (e) => e.group === g.name || e.groups?.includes(g.name) };
}

function ofMember(c) {
  const names = [...state.members.keys()];
  const of = c.names.map((n) => state.members.get(n)).filter(Boolean);
  const group = shownGroup();
  const says = of.map((m) => {
    const v = opinions(group).find((x) => x.member === m.name);
    const view = v ? ` ${saying(group, v)}` : '';
    const drained = m.drained ? ' An operator keeps it from leading (regent undrain).' : '';
    return `${m.name} is ${m.state}${m.problem ? `: ${m.problem}` : ''}.${view}${drained}${m.key ? ` Its key begins with ${m.key}.` : ''}${m.keyProblem ? ` Its key: ${m.keyProblem}.` : ''}`;
  });
  const to = of.length !== 1 ? [] : names.filter((n) => n !== of[0].name).map((n) => (names.indexOf(n) < names.indexOf(of[0].name) ? [n, of[0].name] : [of[0].name, n]))
    .filter(([a, b]) => state.links.has(`${a}>${b}`) || state.links.has(`${b}>${a}`)).map(([a, b]) => ({ label: `link ${a} – ${b}`, choice: { kind: 'link', names: [a, b] } }));
  return { says, to, about: (e) => c.names.includes(e.member) };
}

function ofLink(c) {
  const [a, b] = c.names;
  const way = (x, y) => {
    const l = state.links.get(`${x}>${y}`);
    if (!l) return `How ${y} hears ${x} is not known${state.about.polls ? `: ${y} does not answer` : ''}.`;
    // Bounds change with every packet: two digits are enough to read.
    const bound = l.state === 'cut' ? '' : l.bound ? `: its last packet took at most ${length(Number(l.bound.toPrecision(1)))}` : '';
    return `${y} hears ${x} ${{ fast: 'in time', slow: 'too late for a fast packet', cut: 'not at all', unknown: 'as far as is known not at all' }[l.state]}${bound}${l.made ? ` (you: ${l.made})` : ''}.`;
  };
  return { says: [way(a, b), way(b, a)], to: [member(a), member(b)], about: (e) => c.names.includes(e.member) };
}

// recent are the last events about what is chosen.
function recent(about) {
  const out = [];
  for (const e of [...state.log.values()].reverse()) {
    if (about(e) && out.push(`${stamp(e.at)}: ${round(e.text)}${e.group ? ` (${e.group})` : ''}`) === RECENT) break;
  }
  return out;
}


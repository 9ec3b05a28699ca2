// The log of events with their causes, newest first.

import { byId, colour, el, keep, round, stamp } from './dom.js';
import { shownGroup, state } from './state.js';

const SHOWN = 150;
const items = new Map();

export function start() {
  byId('log-chosen').addEventListener('change', () => update(new Set(['log'])));
}

export function update(changed) {
  if (!['log', 'chosen', 'shown', 'members'].some((w) => changed.has(w))) return;
  if (changed.has('members')) items.forEach((node, key) => { node.remove(); items.delete(key); });
  const only = byId('log-chosen').checked;
  const keys = [];
  for (const [key, e] of [...state.log].reverse()) {
    if (only && !concerns(e)) continue;
    if (keys.push(key) === SHOWN) break;
  }
  keep(byId('entries'), items, keys, entry);
}

// concerns says whether an entry is about what is chosen.
function concerns(e) {
  const c = state.chosen;
  if (c?.kind === 'member' || c?.kind === 'link') return c.names.includes(e.member);
  return !e.group || e.group === shownGroup()?.name;
}

function entry(key) {
  const e = state.log.get(key);
  return el('li', { class: e.tone ?? '' }, el('time', { class: 'number' }, stamp(e.at)),
    el('span', { class: `dot ${e.member ? colour(state, e.member) : ''}` }), el('span', { title: e.text }, round(e.text), e.group ? el('small', {}, ` ${e.group}`) : null));
}

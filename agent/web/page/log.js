// The log of events with their causes, newest first.

import { announce, byId, colour, el, keep, round, stamp } from './dom.js';
import { shownGroup, state } from './state.js';

const SHOWN = 150;
const items = new Map();

export function start() {
  byId('log-chosen').addEventListener('change', () => update(new Set(['log'])));
}

export function update(changed) {
  if (!['log', 'chosen', 'shown', 'members'].some((w) => changed.has(w))) return;
  if (changed.has('members')) items.forEach((node, key) => { node.remove(); items.delete(key); });
  if (changed.has('log')) say();
  const only = byId('log-chosen').checked;
  const keys = [];
  for (const [key, e] of [...state.log].reverse()) {
    if (only && !concerns(e)) continue;
    if (keys.push(key) === SHOWN) break;
  }
  for (const [key, node] of items) { // an incident that has grown is drawn anew
    if (state.log.get(key)?.text !== node.title) {
      node.remove();
      items.delete(key);
    }
  }
  keep(byId('entries'), items, keys, entry);
}

// newest is the line that was announced last.
let newest = null;

function say() {
  const [key] = [...state.log.keys()].slice(-1);
  const first = newest === null;
  if (key === undefined || key === newest) return;
  newest = key;
  if (!first && !state.playback) announce(state.log.get(key).text);
}

// concerns says whether an entry is about what is chosen.
function concerns(e) {
  const c = state.chosen;
  if (c?.kind === 'member' || c?.kind === 'link') return c.names.includes(e.member);
  const shown = shownGroup()?.name;
  return e.groups ? e.groups.includes(shown) : !e.group || e.group === shown;
}

function entry(key) {
  const e = state.log.get(key);
  return el('li', { class: e.tone ?? '', title: e.text }, el('time', { class: 'number' }, stamp(e.at)),
    el('span', { class: `dot ${e.member ? colour(state, e.member) : ''}` }), el('span', {}, round(e.text), e.group ? el('small', {}, ` ${e.group}`) : null));
}

// What each member says of the group that is shown: the view of one member is not the truth.

import { announce, byId, length, text } from './dom.js';
import { leadKey, opinions, shownGroup, state, touch } from './state.js';

const EVERY = 2000;
let asking = false;
let asked = 0;

export function start() {}

export function update(changed) {
  if (['groups', 'shown', 'members', 'polled', 'about'].some((w) => changed.has(w))) render();
}

// summary compares what members say of a group. It returns a sentence, and whether they all say the same.
export function summary(group, all) {
  const answered = all.filter((v) => v.answered);
  if (!all.length || !answered.length) return { says: '', whole: true };
  const votes = new Map();
  for (const v of answered) votes.set(leadKey(v), [...(votes.get(leadKey(v)) ?? []), v]);
  const [most] = [...votes.values()].sort((a, b) => b.length - a.length);
  const says = (v) => (v.leader ? `${v.leader} leads` : 'no member leads');
  const parts = [`${most.length} of ${all.length} ${most.length === 1 ? 'says' : 'agree'}: ${says(most[0])}.`];
  for (const list of votes.values()) {
    if (list !== most) parts.push(`${names(list)} ${list.length > 1 ? 'say' : 'says'}: ${says(list[0])}${list[0].leader === most[0].leader ? `, with token ${list[0].token}` : ''}.`);
  }
  const silent = all.filter((v) => !v.answered);
  if (silent.length) parts.push(`${names(silent)} ${silent.length > 1 ? 'do' : 'does'} not answer.`);
  return { says: parts.join(' '), whole: most.length === all.length };
}

const names = (list) => list.map((v) => v.member).join(', ');

function render() {
  const group = shownGroup();
  const box = byId('agreement');
  const known = group?.mode === 'quorum' ? opinions(group) : [];
  const { says, whole } = summary(group, known);
  const error = state.polled?.key === key(group) ? state.polled.error : '';
  box.hidden = !says && !error;
  if (says && box.dataset.whole && (box.dataset.whole === 'yes') !== whole) announce(says);
  box.dataset.whole = whole ? 'yes' : 'no';
  text(byId('agreement-text'), error ? `The other members were not asked: ${error}.` : says);
}

const key = (g) => (g ? `${g.mode}:${g.name}` : '');

let drawn = 0;

export function frame(at) {
  if (!state.about.polls || state.connection !== 'live') return;
  if (at - drawn > 500) {
    drawn = at;
    const p = state.polled;
    text(byId('agreement-age'), p ? `asked ${length(Math.round((performance.now() - p.at) / 1000) * 1e9)} ago` : '');
  }
  const group = shownGroup();
  if (group?.mode !== 'quorum' || asking) return;
  if (at - asked < EVERY && state.polled?.key === key(group)) return;
  asked = at;
  ask(group);
}

async function ask(group) {
  asking = true;
  try {
    const answer = await fetch(`api/views?group=${encodeURIComponent(group.name)}`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const said = await answer.json();
    state.polled = { key: key(group), views: said.views ?? [], error: said.error, at: performance.now() - said.age_ms };
  } catch (error) {
    state.polled = { key: key(group), views: [], error: error.message, at: performance.now() };
  }
  asking = false;
  touch('polled');
}

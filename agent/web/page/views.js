// What each member says of the group that is shown: the view of one member is not the truth.

import { announce, byId, length, text } from './dom.js';
import { opinions, shownGroup, state, touch } from './state.js';

const EVERY = 2000;
let asking = false;
let asked = 0;

export function start() {}

export function update(changed) {
  if (['groups', 'shown', 'members', 'polled', 'about'].some((w) => changed.has(w))) render();
}

// Each mode has its own words for what a member says. key is what members share that say the same, one is what one or several of them say, all what all of
// them do, and whole whether this is how the mode is when nothing is wrong.
const words = {
  quorum: {
    key: (v) => (v.leader ? `${v.leader} ${v.token ?? ''}` : ''),
    all: (v, n, of) => `${n} of ${of} ${n === 1 ? 'says' : 'agree'}: ${v.leader ? `${v.leader} leads` : 'no member leads'}.`,
    one: (who, v, most) => `${say(who)}: ${v.leader ? `${v.leader} leads` : 'no member leads'}${v.leader && v.leader === most.leader && v !== most ? `, with token ${v.token}` : ''}.`,
  },
  // Members of a local group that say different things need not be wrong: each speaks of its own part.
  local: {
    key: (v) => (v.leader ? `${v.leader} ${(v.support ?? []).join(' ')}` : ''),
    all: (v, n, of) => (n < of ? '' : v.leader ? `All ${of} are in one part: ${v.leader} leads it.` : `None of the ${of} has a leader of its part.`),
    one: (who, v) => (v.leader ? `${say(who)}: ${v.leader} leads our part${v.support ? ` (${v.support.join(', ')})` : ''}.` : `${say(who)}: no member leads our part.`),
  },
  eventual: {
    key: (v) => v.leader ?? '',
    all: (v, n, of) => `${n} of ${of} ${n === 1 ? 'trusts' : 'trust'} ${v.leader || 'no member'}.`,
    one: (who, v) => `${names(who)} ${who.length > 1 ? 'trust' : 'trusts'} ${v.leader || 'no member'}.`,
  },
  consistent: {
    key: (v) => (v.leader ? `${v.leader} ${v.token ?? ''} ${v.agreement ?? ''} ${(v.support ?? []).join(' ')}` : ''),
    all: (v, n, of) => (v.leader ? `${n} of ${of} ${n === 1 ? 'says' : 'agree'}: ${v.support ? `the members are ${v.support.join(', ')}, and ` : ''}${v.leader} manages.` : `${n} of ${of} ${n === 1 ? 'is no member' : 'are no members'} of the group.`),
    one: (who, v) => (v.leader ? `${say(who)}: ${v.support ? `the members are ${v.support.join(', ')}, and ` : ''}${v.leader} manages.` : `${names(who)} ${who.length > 1 ? 'are no members' : 'is no member'} of the group.`),
  },
};

// saying is what one member says of a group.
export const saying = (group, v) => (v.answered ? words[group.mode].one([v], v, v) : `${v.member} does not answer.`);

const say = (list) => `${names(list)} ${list.length > 1 ? 'say' : 'says'}`;

// summary puts together what members say of a group, in the words of its mode. It returns a sentence, whether all members say the same, and whether those that
// answered differ. Of a consistent group that is only for its members to say.
export function summary(group, all) {
  const answered = all.filter((v) => v.answered);
  if (!all.length || !answered.length) return { says: '', whole: true, differ: false };
  const mode = words[group.mode];
  const votes = new Map();
  for (const v of answered) votes.set(mode.key(v), [...(votes.get(mode.key(v)) ?? []), v]);
  const [most] = [...votes.values()].sort((a, b) => b.length - a.length);
  const whole = mode.all(most[0], most.length, all.length);
  const parts = [whole];
  for (const list of votes.values()) if (list !== most || !whole) parts.push(mode.one(list, list[0], most[0]));
  const silent = all.filter((v) => !v.answered);
  if (silent.length) parts.push(`${names(silent)} ${silent.length > 1 ? 'do' : 'does'} not answer${group.mode === 'local' ? ', and may be in another part' : ''}.`);
  return { says: parts.filter(Boolean).join(' '), whole: most.length === all.length, differ: [...votes.keys()].filter((k) => k || group.mode !== 'consistent').length > 1 };
}

const names = (list) => list.map((v) => v.member).join(', ');

function render() {
  const group = shownGroup();
  const box = byId('agreement');
  const { says, whole } = summary(group, opinions(group));
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
  if (!group || asking) return;
  if (at - asked < EVERY && state.polled?.key === key(group)) return;
  asked = at;
  ask(group);
}

async function ask(group) {
  asking = true;
  try {
    const answer = await fetch(`api/views?${new URLSearchParams({ mode: group.mode, group: group.name })}`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const said = await answer.json();
    state.polled = { key: key(group), views: said.views ?? [], error: said.error, at: performance.now() - said.age_ms };
  } catch (error) {
    state.polled = { key: key(group), views: [], error: error.message, at: performance.now() };
  }
  asking = false;
  touch('polled');
}

// The mode that is shown, as tabs, and what leads in it in a sentence.

import { attr, byId, el, keep, text } from './dom.js';
import { leaders, mode, modes, opinions, pickMode, shownGroup, state } from './state.js';
import { summary } from './views.js';

const says = {
  quorum: 'At most one member leads a group, with a lease from a majority. The crown marks it, and the ring is what is left of its lease.',
  local: 'Each part of the network that holds together has a leader of its own. It has no token.',
  eventual: 'All members agree on one leader in the end. Until then several may lead.',
  consistent: 'The members agree on who has failed. One of them, the manager, sees to what the failed ones left.',
};

const tabs = new Map();
// found are the numbers of groups of each mode that the search finds.
let found = new Map();

export function start() {
  byId('modes').addEventListener('keydown', (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const all = [...tabs.keys()];
    const next = all[(all.indexOf(mode()) + by + all.length) % all.length];
    pickMode(next);
    tabs.get(next).focus();
    e.preventDefault();
  });
}

// count says how many groups of each mode the search finds.
export function count(counts) {
  found = counts;
  render();
}

export function update(changed) {
  if (['groups', 'shown', 'about', 'polled', 'members'].some((w) => changed.has(w))) render();
}

function render() {
  const now = mode();
  const all = modes();
  keep(byId('modes'), tabs, all, (m) => el('button', { type: 'button', role: 'tab', id: `tab-${m}`, 'aria-controls': 'groups', data: { mode: m }, onclick: () => pickMode(m) }));
  for (const [m, tab] of tabs) {
    text(tab, `${m} ${found.get(m) ?? 0}`);
    attr(tab, 'aria-selected', m === now);
    attr(tab, 'tabindex', m === now ? 0 : -1);
  }
  byId('modes').hidden = all.length < 2;
  text(byId('mode-says'), says[now] ?? '');
  text(byId('headline'), headline(shownGroup()));
}

// headline says in a sentence who leads the group that is shown. Where members say different things, it says whose word it is.
function headline(g) {
  const self = state.members.get(state.about.self);
  if (!g && self?.state === 'joining') return `${self.name} does not take part yet${self.problem ? `: ${self.problem}` : ''}.`;
  if (!g) return state.about.kind ? `No program has campaigned for a group yet.${state.about.kind === 'agent' ? ' Start one: regent run GROUP -- COMMAND' : ''}` : '';
  const lead = leaders(g).filter((l) => g.mode !== 'quorum' || !l.local);
  const whose = state.about.self && g.mode !== 'local' && summary(g, opinions(g)).differ ? `, as ${state.about.self} sees it` : '';
  if (!lead.length) return `No member leads ${g.name}${g.cause ? `: ${g.cause}` : ''}${whose}.`;
  return `${lead.map((l) => `${l.member} ${g.mode === 'consistent' ? 'manages' : 'leads'} ${l.local && l.support ? l.support.join(', ') : g.name}`).join('; ')}${whose}.`;
}

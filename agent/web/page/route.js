// The address of the page names what it shows: #/quorum/billing, #/quorum/billing/member/a, #/quorum/billing/link/a/b.

import { choose, show, shownGroup, state } from './state.js';

// wanted is what the address names, until the source has said something.
let wanted = null;
// seen is the address that was read or written last. Another one is new, and its event is still to come: it is not written over.
let seen = '';

export function start() {
  wanted = parse();
  addEventListener('hashchange', () => {
    wanted = parse();
    follow();
  });
}

export function update(changed) {
  if (wanted && (changed.has('groups') || changed.has('members') || changed.has('about'))) follow();
  else if (changed.has('shown') || changed.has('chosen')) write();
}

function parse() {
  seen = location.hash;
  if (!location.hash.startsWith('#/')) return null;
  try {
    const [mode, group, kind, ...names] = location.hash.slice(2).split('/').map(decodeURIComponent);
    return { key: `${mode}:${group}`, kind, names };
  } catch {
    return null; // a person typed it
  }
}

function follow() {
  if (!wanted || !state.groups.size && !state.about.paged || !state.members.size) return;
  const { key, kind, names } = wanted;
  wanted = null;
  if (!state.groups.has(key) && !state.about.paged) return;
  show(key);
  const known = names.every((n) => state.members.has(n));
  if (known && (kind === 'member' && names.length || kind === 'link' && names.length === 2)) choose({ kind, names });
  else choose({ kind: 'group', key });
}

function write() {
  const g = shownGroup();
  if (!g || wanted || location.hash !== seen || !(state.shown || state.chosen)) return;
  const c = state.chosen;
  const parts = [g.mode, g.name, ...(c && c.kind !== 'group' ? [c.kind, ...c.names] : [])];
  const to = `#/${parts.map(encodeURIComponent).join('/')}`;
  if (to === location.hash) return;
  history.replaceState(null, '', to);
  seen = location.hash;
}

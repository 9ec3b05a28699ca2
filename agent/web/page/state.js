// The state of the page: what the source said, what is chosen, and the connection that keeps it up to date.

export const state = {
  about: { kind: '', title: '', actions: [] },
  // playback is where a recorded run stands; null if this is life.
  playback: null,
  members: new Map(),
  links: new Map(),
  groups: new Map(),
  tenures: new Map(),
  log: new Map(),
  // chosen is what actions are done to: {kind: 'member', names: [...]}, {kind: 'link', names: [a, b]} or {kind: 'group', key}.
  chosen: null,
  // several says that the next member is chosen in addition, where there is no Shift key to hold.
  several: false,
  // shown is the key of the group that the picture is about.
  shown: '',
  // mode is the one that is picked among tabs; empty: the first that has groups.
  mode: '',
  connection: 'connecting',
  // session is who looks, and what the server lets them do.
  session: null,
  // polled is what the members said when they were asked about a group: {key, views, error, at}. An agent's page has it.
  polled: null,
};

const keys = {
  members: (m) => m.name,
  links: (l) => `${l.from}>${l.to}`,
  groups: (g) => `${g.mode}:${g.name}`,
  tenures: (t) => t.id,
  log: (e) => String(e.id),
};

const listeners = new Set();

// onChange calls f with the names of what changed.
export function onChange(f) {
  listeners.add(f);
}

let dirty = new Set();
let planned = false;

// touch says that something changed. Listeners hear of it once, before the next frame; where nobody looks there are no
// frames, and a timer serves.
export function touch(...what) {
  what.forEach((w) => dirty.add(w));
  if (planned) return;
  planned = true;
  if (document.hidden) setTimeout(tell, 200);
  else requestAnimationFrame(tell);
}

function tell() {
  const changed = dirty;
  dirty = new Set();
  planned = false;
  for (const f of listeners) f(changed);
}

// The clock of the source, in milliseconds, against that of this page.
let offset = null;
let heard = 0;

// now returns the time of the source in nanoseconds.
export function now() {
  const playback = state.playback;
  const since = performance.now() - heard;
  if (playback) {
    const at = playback.at + playback.speed * Math.min(since, 100) * 1e6;
    return Math.min(Math.max(0, at), playback.end);
  }
  return offset === null ? 0 : (performance.now() + offset) * 1e6;
}

// hasTime says whether the source has told its time.
export function hasTime() {
  return Boolean(state.playback) || offset !== null;
}

function setClock(ns) {
  heard = performance.now();
  const fresh = ns / 1e6 - heard;
  // A message that took longer makes the source's clock seem late: so the earliest word counts, with some forgetting.
  offset = offset === null || fresh > offset || Math.abs(fresh - offset) > 1000 ? fresh : offset + (fresh - offset) * 0.05;
}

function apply(update) {
  if (update.reset) {
    for (const kind of Object.keys(keys)) {
      state[kind].clear();
      touch(kind);
    }
  }
  if (update.about) {
    state.about = { actions: [], ...update.about };
    touch('about');
  }
  if (update.playback) {
    state.playback = update.playback;
    touch('playback');
  }
  for (const [kind, key] of Object.entries(keys)) {
    const items = update[kind];
    const gone = update.gone?.[kind];
    if (!items && !gone) continue;
    gone?.forEach((k) => state[kind].delete(k));
    items?.forEach((item) => state[kind].set(key(item), item));
    touch(kind);
  }
  setClock(update.now);
}

// The connection. A page that hears nothing for a while, although the source says the time every second, is cut off,
// whatever the browser thinks.
const SILENCE = 5000;
let source = null;
let last = '';
let retry = 0;
let watchdog = 0;

export async function connect() {
  source?.close();
  source = null;
  watch();
  try {
    const answer = await fetch('api/session');
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    session({ ...(await answer.json()), kept: true });
  } catch {
    lost();
    return;
  }
  if (!state.session.mayLook) {
    clearTimeout(watchdog);
    setConnection('refused');
    return;
  }
  source?.close();
  source = new EventSource(`api/events${last ? `?last=${encodeURIComponent(last)}` : ''}`);
  source.onmessage = (event) => {
    last = event.lastEventId || last;
    retry = 0;
    apply(JSON.parse(event.data));
    setConnection('live');
    watch();
  };
  source.onerror = lost;
  watch();
}

// disconnect forgets all that the source said: another person may look next.
export function disconnect() {
  source?.close();
  source = null;
  last = '';
  for (const kind of Object.keys(keys)) {
    state[kind].clear();
    touch(kind);
  }
  state.about = { kind: '', title: '', actions: [] };
  state.chosen = null;
  touch('about', 'chosen');
}

// The key of this page's orders. That of a login comes with the login only, and stays in this browser, where only pages of this server read it.
const KEY = 'regent-key';
let pageKey = '';

// session takes note of who looks; null: nobody is logged in any more.
export function session(s) {
  if (s?.loggedIn && s.kept) s.key = pageKey || stored();
  pageKey = s?.key ?? '';
  if (!s?.kept) keepKey(s?.loggedIn ? pageKey : '');
  if (s?.loggedIn && s.mayOrder && !pageKey) Object.assign(s, { mayOrder: false, reason: 'This browser has lost the key of your login: log out, and log in again.' });
  refusals.clear();
  state.session = s;
  touch('session');
}

function stored() {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return ''; // a browser that keeps nothing asks for another login after a reload
  }
}

function keepKey(key) {
  try {
    if (key) localStorage.setItem(KEY, key);
    else localStorage.removeItem(KEY);
  } catch {
    // As above.
  }
}

// refusals are why the person who looks may not operate a group, by its name.
const refusals = new Map();

// whyNotGroup returns why the person who looks may not operate a group that a member leads; empty if they may, or while the server has not answered.
export function whyNotGroup(name, leader) {
  if (!state.session?.key && !state.session?.loggedIn) return '';
  if (!refusals.has(name)) {
    refusals.set(name, {});
    fetch(`api/session?group=${encodeURIComponent(name)}`).then((a) => a.json()).then((s) => {
      refusals.set(name, s);
      touch('session');
    }, () => refusals.delete(name));
  }
  const { groupReason, groupRemoteReason } = refusals.get(name);
  return groupReason || (leader !== state.about.self && groupRemoteReason) || '';
}

function watch() {
  clearTimeout(watchdog);
  watchdog = setTimeout(lost, SILENCE);
}

function lost() {
  source?.close();
  source = null;
  setConnection('lost');
  clearTimeout(watchdog);
  watchdog = setTimeout(connect, Math.min(250 * 2 ** retry++, 4000));
}

function setConnection(how) {
  if (state.connection === how) return;
  state.connection = how;
  touch('connection');
}

// do asks the source for something and returns what it says.
export async function command(body) {
  const answer = await fetch('api/do', { method: 'POST', headers: { 'Content-Type': 'application/json', 'Regent-Page-Key': pageKey }, body: JSON.stringify(body) });
  return outcome(answer);
}

// load hands a file over.
export async function load(file) {
  return outcome(await fetch(`api/load?name=${encodeURIComponent(file.name)}`, { method: 'POST', headers: { 'Regent-Page-Key': pageKey }, body: file }));
}

async function outcome(answer) {
  let said = {};
  try {
    said = await answer.json();
  } catch {
    said = { error: `the server answered ${answer.status}` };
  }
  if (!answer.ok) throw new Error(said.error ?? `the server answered ${answer.status}`);
  return said.text;
}

// choose makes something what actions are done to.
export function choose(what) {
  state.chosen = what;
  if (!what) state.several = false;
  touch('chosen');
}

// show makes a group the one that the picture is about.
export function show(key) {
  state.shown = key;
  state.mode = key.split(':')[0];
  touch('shown');
}

const order = ['quorum', 'local', 'eventual', 'consistent'];

// modes returns those of which there are groups.
export function modes() {
  if (state.about.paged) return order.filter((m) => state.about.paged[m]);
  const have = new Set();
  for (const g of state.groups.values()) if (have.add(g.mode).size === order.length) break;
  return order.filter((m) => have.has(m));
}

// mode returns the one that the page shows.
export function mode() {
  const all = modes();
  return all.includes(state.mode) ? state.mode : all[0] ?? '';
}

// pickMode shows the groups of a mode.
export function pickMode(m) {
  state.mode = m;
  state.chosen = null;
  touch('shown', 'groups', 'chosen');
}

// shownGroup returns the group that the picture is about: the one that was picked, or the first of the mode.
export function shownGroup() {
  const picked = state.groups.get(state.shown);
  const now = mode();
  if (picked?.mode === now) return picked;
  for (const g of state.groups.values()) if (g.mode === now) return g;
  return null;
}

// opinions returns what each member says of a group, as far as that is known: the source knows all members from the inside, or has asked them.
export function opinions(group) {
  if (!group) return [];
  if (state.about.polls) return state.polled?.key === `${group.mode}:${group.name}` ? state.polled.views : [];
  if (!group.views?.length || state.about.self) return [];
  const said = new Map(group.views.map((v) => [v.member, v]));
  return [...state.members.values()].filter((m) => m.state !== 'removed').map((m) => ({ ...said.get(m.name), member: m.name, answered: said.has(m.name) }));
}

// leaders returns all that lead a group: those that the source knows and, where each member speaks for itself, those that say it of themselves.
export function leaders(group) {
  const all = group?.leaders ?? [];
  if (!state.about.polls || !group || group.mode === 'quorum') return all;
  const own = opinions(group).filter((v) => v.answered && v.leader === v.member && !all.some((l) => l.member === v.member));
  return [...all, ...own.map((v) => ({ member: v.member, support: v.support, local: group.mode === 'local' }))];
}

// areas returns the parts into which a group's members fall: a leader with those who support it or, where that is not
// known, with those who believe in it.
export function areas(group) {
  if (!group) return [];
  return leaders(group).map((leader) => {
    let members = leader.support;
    if (!members?.length) {
      members = opinions(group).filter((v) => v.leader === leader.member).map((v) => v.member);
    }
    if (!members.includes(leader.member)) members = [leader.member, ...members];
    return { leader, members };
  });
}

// The table of groups. Only the rows that can be seen exist, so that thousands are as smooth as ten.

import { attr, byId, colour, el, length, round, text } from './dom.js';
import { choose, mode, now, show, state, touch } from './state.js';
import { count } from './modes.js';

const HEIGHT = 36;
const columns = [
  { id: 'name', label: 'Group', sort: (g) => g.name },
  { id: 'leader', label: 'Leader', sort: (g) => g.leaders?.[0]?.member ?? '' },
  { id: 'token', label: 'Term', title: 'The number of the leadership: the token of its orders. A later leader has a higher one. Failed elections and crashes skip numbers.' },
  { id: 'lease', label: 'Lease left' },
  { id: 'changed', label: 'Changed', sort: (g) => -g.changed },
  { id: 'cause', label: 'Cause' },
];

let body;
let space;
let list = [];
// total is how many groups the search finds. Of many, list is only the part of them that begins at offset.
let total = 0;
let offset = 0;
let order = { column: columns[0], back: false };
const rows = [];
// focused is the key of the row that the keyboard is on.
let focused = '';
// stop is the key of the row at which the tabulator stops.
let stop;

export function start() {
  const head = el('div', { class: 'row heads', role: 'row' }, columns.map((c) => {
    const cell = el('div', { class: `cell ${c.id}`, role: 'columnheader', title: c.title ?? '' });
    cell.append(c.sort ? el('button', { type: 'button', onclick: () => sort(c) }, c.label) : c.label);
    c.cell = cell;
    return cell;
  }));
  space = el('div', { class: 'space', role: 'rowgroup' });
  body = el('div', { class: 'rows', role: 'presentation' }, space);
  byId('groups-table').append(head, body);
  body.addEventListener('scroll', render, { passive: true });
  new ResizeObserver(render).observe(body);
  byId('search').addEventListener('input', () => {
    body.scrollTop = 0;
    refresh();
  });
  sort(columns[0]);
}

function sort(c) {
  order = { column: c, back: order.column === c && !order.back && total > 0 };
  columns.forEach((x) => x.cell.setAttribute('aria-sort', x === c ? (order.back ? 'descending' : 'ascending') : 'none'));
  refresh();
}

// finds says whether a group has all words.
function finds(g, words) {
  if (!words.length) return true;
  const hay = `${g.name} ${g.mode} ${g.cause ?? ''} ${(g.leaders ?? []).map((l) => `${l.member} ${l.value ?? ''}`).join(' ')} ${g.leaders?.length ? '' : 'no leader'}`.toLowerCase();
  return words.every((w) => hay.includes(w));
}

// shownMode is the mode of the groups in the table.
let shownMode = '';

// refresh decides which groups are in the table, and in which order.
function refresh() {
  shownMode = mode();
  if (state.about.paged) {
    request();
    return;
  }
  const words = wanted();
  const counts = new Map();
  let all = 0;
  list = [...state.groups.entries()].filter(([, g]) => {
    if (g.mode === shownMode) all++;
    if (!finds(g, words)) return false;
    counts.set(g.mode, (counts.get(g.mode) ?? 0) + 1);
    return g.mode === shownMode;
  });
  const by = order.column.sort;
  list.sort(([ka, a], [kb, b]) => {
    const [x, y] = [by(a), by(b)];
    const c = x < y ? -1 : x > y ? 1 : ka < kb ? -1 : 1;
    return order.back ? -c : c;
  });
  offset = 0;
  total = list.length;
  lay(counts, all);
}

const wanted = () => byId('search').value.toLowerCase().split(/\s+/).filter(Boolean);

// lay makes the table as long as there are groups.
function lay(counts, all) {
  count(counts);
  text(byId('groups-count'), total === all ? String(all) : `${total} of ${all}`);
  attr(byId('groups-table'), 'aria-rowcount', total + 1);
  space.style.height = `${total * HEIGHT}px`;
  body.style.height = `${Math.max(3, Math.min(11, total)) * HEIGHT + 2}px`;
  render();
}

// Of many groups the page asks for those that can be seen, again every two seconds, and at once when others are looked for.
const PART = 100;
const EVERY = 2000;
let asked = { query: '', at: -EVERY };
let asking = false;
// goal is the place of the row that gets the focus when it has come; -1: none.
let goal = -1;

async function request() {
  const first = Math.max(0, Math.floor(body.scrollTop / HEIGHT) - Math.floor(PART / 3));
  const inside = body.scrollTop / HEIGHT >= offset && Math.min(total, (body.scrollTop + body.clientHeight) / HEIGHT) <= offset + list.length;
  const query = new URLSearchParams({ mode: mode(), words: wanted().join(' '), order: order.column.id, back: order.back ? 1 : '', shown: state.shown }).toString();
  if (asking || query === asked.query && inside && performance.now() - asked.at < EVERY) return;
  asking = true;
  asked = { query, at: performance.now() };
  try {
    const answer = await fetch(`api/groups?${query}&limit=${PART}&offset=${first}`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    take(await answer.json());
  } catch {
    // The stream shows that the server is gone; until then there is nothing to ask.
    asked.at = performance.now() + EVERY;
  }
  asking = false;
}

// take shows a part of many groups, and forgets all others but the one that the picture shows.
function take(part) {
  list = part.groups.map((g) => [`${g.mode}:${g.name}`, g]);
  offset = part.offset;
  total = part.counts[mode()] ?? 0;
  state.groups = new Map(list);
  if (part.shown) state.groups.set(`${part.shown.mode}:${part.shown.name}`, part.shown);
  touch('groups');
  lay(new Map(Object.entries(part.counts)), part.all);
  if (goal >= 0) focus(goal);
}

export function update(changed) {
  if (changed.has('groups') && !state.about.paged || changed.has('about') || changed.has('shown') && shownMode !== mode()) refresh();
  else if (changed.has('members') || changed.has('chosen') || changed.has('shown')) render();
}

// render fills the rows that can be seen.
function render() {
  const first = Math.max(0, Math.floor(body.scrollTop / HEIGHT) - 2);
  const count = Math.min(total - first, Math.ceil(body.clientHeight / HEIGHT) + 4);
  while (rows.length < count) {
    rows.push(row());
    space.append(rows.at(-1).node);
  }
  // The tabulator stops at the row that had the focus, or else at the first that can be seen.
  const seen = list.slice(Math.max(0, first - offset), Math.max(0, first - offset + count)).map(([k]) => k);
  stop = seen.includes(focused) ? focused : seen[Math.min(seen.length - 1, Math.max(0, Math.ceil(body.scrollTop / HEIGHT) - first))];
  rows.forEach((r, i) => {
    r.node.hidden = i >= count;
    if (i < count) fill(r, first + i);
  });
}

function row() {
  const r = { cells: {} };
  r.node = el('div', { class: 'row', role: 'row', tabindex: -1 }, columns.map((c) => (r.cells[c.id] = el('div', { class: `cell ${c.id}`, role: 'cell' }))));
  r.bar = el('span', { class: 'left' }, el('i'));
  r.left = el('span', { class: 'number' });
  r.cells.lease.append(r.bar, r.left);
  r.node.addEventListener('click', () => pick(r.key));
  r.node.addEventListener('keydown', (e) => key(e, r));
  return r;
}

function pick(k) {
  focused = k;
  show(k);
  choose({ kind: 'group', key: k });
}

function key(e, r) {
  const i = r.index;
  const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: total - 1, PageDown: i + 8, PageUp: i - 8 }[e.key];
  if (e.key === 'Enter' || e.key === ' ') pick(r.key);
  else if (to !== undefined) focus(Math.min(total - 1, Math.max(0, to)));
  else return;
  e.preventDefault();
  e.stopPropagation();
}

function focus(i) {
  const there = list[i - offset];
  goal = there ? -1 : i;
  if (there) [focused] = there;
  const top = i * HEIGHT;
  if (top < body.scrollTop) body.scrollTop = top;
  if (top + HEIGHT > body.scrollTop + body.clientHeight) body.scrollTop = top + HEIGHT - body.clientHeight;
  render();
  if (there) rows.find((r) => !r.node.hidden && r.key === focused)?.node.focus({ preventScroll: true });
}

function fill(r, i) {
  r.index = i;
  r.node.style.transform = `translateY(${i * HEIGHT}px)`;
  const there = list[i - offset];
  r.node.classList.toggle('awaited', !there);
  if (!there) return;
  const [k, g] = there;
  r.key = k;
  r.group = g;
  attr(r.node, 'tabindex', k === stop ? 0 : -1);
  attr(r.node, 'aria-rowindex', i + 2);
  r.node.classList.toggle('chosen', state.chosen?.kind === 'group' && state.chosen.key === k);
  r.node.dataset.group = k;
  const real = (g.leaders ?? []).filter((l) => g.mode !== 'quorum' || !l.local);
  const local = (g.leaders ?? []).filter((l) => g.mode === 'quorum' && l.local);
  r.node.classList.toggle('bad', g.mode === 'quorum' && real.length > 1);
  text(r.cells.name, g.name);
  const signature = [...real, ...local].map((l) => l.member + (l.local ? '*' : '') + (l.value ?? '')).join(' ') + [...state.members.keys()].length;
  if (r.signature !== signature) {
    r.signature = signature;
    r.cells.leader.replaceChildren(...(real.length ? real : [null]).map((l) => (l ? badge(l) : el('em', {}, 'none'))), ...local.map((l) => badge(l, true)),
      ...real.filter((l) => l.value).map((l) => el('span', { class: 'value', title: `announced by ${l.member}` }, l.value)));
  }
  text(r.cells.token, real.map((l) => l.token ?? l.term ?? '').filter(Boolean).join(' '));
  text(r.cells.cause, round(g.cause ?? ''));
  attr(r.cells.cause, 'title', g.cause ?? '');
  lease(r, now());
}

function badge(l, marked) {
  return el('span', { class: `badge ${colour(state, l.member)}`, title: l.support ? `supported by ${l.support.join(', ')}` : '' },
    l.member, marked ? el('small', {}, 'local') : null);
}

function lease(r, at) {
  const g = r.group;
  const lead = g.leaders?.find((l) => l.until && (g.mode !== 'quorum' || !l.local));
  text(r.cells.changed, g.changed ? ago(at - g.changed) : '');
  r.bar.hidden = !lead;
  if (!lead) return text(r.left, '');
  const left = Math.max(0, lead.until - at);
  r.bar.firstChild.style.transform = `scaleX(${Math.min(1, left / lead.lease).toFixed(3)})`;
  attr(r.bar, 'class', `left ${colour(state, lead.member)}`);
  text(r.left, length(Math.round(left / 1e7) * 1e7));
}

// ago shows how long something is past, rounded down so that it does not flicker.
function ago(ns) {
  if (ns < 1e8) return 'now';
  const unit = ns < 10e9 ? 1e8 : 1e9;
  return `${length(Math.floor(ns / unit) * unit)} ago`;
}

let drawn = 0;

export function frame(at) {
  if (at - drawn < 66) return;
  drawn = at;
  const t = now();
  for (const r of rows) if (!r.node.hidden && r.group) lease(r, t);
  if (state.about.paged && state.connection === 'live') request();
}

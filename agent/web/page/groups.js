// The table of groups. Only the rows that can be seen exist, so that thousands are as smooth as ten.

import { attr, byId, colour, el, length, round, text } from './dom.js';
import { choose, mode, now, show, state } from './state.js';
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
let order = { column: columns[0], back: false };
const rows = [];
// focused is the key of the row that the keyboard is on.
let focused = '';

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
  byId('search').addEventListener('input', refresh);
  sort(columns[0]);
}

function sort(c) {
  order = { column: c, back: order.column === c && !order.back && list.length > 0 };
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
  const words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const counts = new Map();
  const current = (shownMode = mode());
  let all = 0;
  list = [...state.groups.entries()].filter(([, g]) => {
    if (g.mode === current) all++;
    if (!finds(g, words)) return false;
    counts.set(g.mode, (counts.get(g.mode) ?? 0) + 1);
    return g.mode === current;
  });
  count(counts);
  const by = order.column.sort;
  list.sort(([ka, a], [kb, b]) => {
    const [x, y] = [by(a), by(b)];
    const c = x < y ? -1 : x > y ? 1 : ka < kb ? -1 : 1;
    return order.back ? -c : c;
  });
  text(byId('groups-count'), list.length === all ? String(all) : `${list.length} of ${all}`);
  attr(byId('groups-table'), 'aria-rowcount', list.length + 1);
  space.style.height = `${list.length * HEIGHT}px`;
  body.style.height = `${Math.max(3, Math.min(11, list.length)) * HEIGHT + 2}px`;
  render();
}

export function update(changed) {
  if (changed.has('groups') || changed.has('shown') && shownMode !== mode()) refresh();
  else if (changed.has('members') || changed.has('chosen') || changed.has('shown')) render();
}

// render fills the rows that can be seen.
function render() {
  const first = Math.max(0, Math.floor(body.scrollTop / HEIGHT) - 2);
  const count = Math.min(list.length - first, Math.ceil(body.clientHeight / HEIGHT) + 4);
  while (rows.length < count) {
    rows.push(row());
    space.append(rows.at(-1).node);
  }
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
  const i = list.findIndex(([k]) => k === r.key);
  const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: list.length - 1, PageDown: i + 8, PageUp: i - 8 }[e.key];
  if (e.key === 'Enter' || e.key === ' ') pick(r.key);
  else if (to !== undefined) focus(Math.min(list.length - 1, Math.max(0, to)));
  else return;
  e.preventDefault();
  e.stopPropagation();
}

function focus(i) {
  focused = list[i][0];
  const top = i * HEIGHT;
  if (top < body.scrollTop) body.scrollTop = top;
  if (top + HEIGHT > body.scrollTop + body.clientHeight) body.scrollTop = top + HEIGHT - body.clientHeight;
  render();
  rows.find((r) => !r.node.hidden && r.key === focused)?.node.focus({ preventScroll: true });
}

function fill(r, i) {
  const [k, g] = list[i];
  const shown = state.groups.has(focused) && list.some(([x]) => x === focused) ? focused : list[0][0];
  r.key = k;
  r.group = g;
  r.node.style.transform = `translateY(${i * HEIGHT}px)`;
  attr(r.node, 'tabindex', k === shown ? 0 : -1);
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
  for (const r of rows) if (!r.node.hidden) lease(r, t);
}

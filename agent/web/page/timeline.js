// Who led when: a row for each group, in which a gap or an overlap is seen at once.

import { along, attr, byId, colour, draw, el, explain, keep, length, phase, rove, round, stamp, text, tick } from './dom.js';
import { mode, now, show, shownGroup, state, touch } from './state.js';

const ROWS = 8;
const LANE = 22;
const SECOND = 1e9;
const windows = [5, 15, 60, 300, 1800];

let span = 60 * SECOND;
const lanes = new Map();
let stale = true;
let axis;

export function start() {
  const select = byId('window');
  select.append(...windows.map((s) => el('option', { value: s }, s < 60 ? `${s} s` : `${s / 60} min`)), el('option', { value: 0 }, 'all'));
  select.value = '60';
  select.addEventListener('change', () => {
    span = Number(select.value) * SECOND;
    stale = true;
  });
  axis = draw('svg', { class: 'axis', height: 18, 'aria-hidden': true });
  new ResizeObserver(() => { stale = true; }).observe(byId('lanes'));
}

export function update(changed) {
  if (changed.has('playback') && state.playback && byId('window').dataset.kind !== 'playback') {
    byId('window').dataset.kind = 'playback';
    byId('window').value = '0';
    span = 0;
  }
  if (['tenures', 'groups', 'shown', 'members', 'playback'].some((w) => changed.has(w))) stale = true;
}

// frame returns the instants at the left and right edges.
function edges() {
  const t = now();
  const playback = state.playback;
  if (playback && !span) return [0, Math.max(playback.end, 1)];
  const width = span || Math.max(t, SECOND);
  if (playback) {
    const from = Math.max(0, Math.min(t - width / 2, playback.end - width));
    return [from, from + width];
  }
  return [Math.max(0, t - width), Math.max(t, Math.min(width, 10 * SECOND))];
}

// visible returns the groups that have a row: the shown one, then those that changed last.
function visible() {
  const shown = shownGroup();
  const current = mode();
  let list = [...state.groups.values()].filter((g) => g.mode === current);
  if (list.length > ROWS) {
    list.sort((a, b) => b.changed - a.changed);
    list = list.slice(0, ROWS);
    if (shown && !list.includes(shown)) list[ROWS - 1] = shown;
  }
  return list.sort((a, b) => (b === shown) - (a === shown) || (a.name < b.name ? -1 : 1));
}

let drawn = 0;

export function frame(at) {
  if (at - drawn < (stale ? 50 : 100)) return;
  drawn = at;
  stale = false;
  const box = byId('lanes');
  const groups = visible();
  keep(box, lanes, groups.map((g) => `${g.mode}:${g.name}`), lane);
  if (box.lastElementChild !== axis) box.append(axis);
  const [from, to] = edges();
  const width = Math.max(50, box.clientWidth - (innerWidth < 640 ? 84 : 132));
  const x = (t) => ((Math.min(Math.max(t, from), to) - from) / (to - from)) * width;
  for (const g of groups) fill(lanes.get(`${g.mode}:${g.name}`), g, from, to, x, width);
  scale(from, to, x, width);
}

function lane(key) {
  const node = el('div', { class: 'lane', data: { group: key } },
    el('button', { type: 'button', class: 'lane-name', onclick: () => show(key) }),
    draw('svg', { role: 'list' }, draw('g', { class: 'tenures' }), draw('g', { class: 'marks' }), draw('line', { class: 'now' })));
  node.bars = new Map();
  node.marks = new Map();
  // The list that assistive programs see is in the order of time; so is the row of bars.
  node.stop = rove(node, () => [...node.bars.values()], along);
  return node;
}

// stacked says whether several leaders of a group are in order: then each has a lane of its own.
const stacked = (t) => t.local || t.mode === 'local' || t.mode === 'eventual';

function fill(node, g, from, to, x, width) {
  const t = now();
  const key = `${g.mode}:${g.name}`;
  const all = [...state.tenures.values()].filter((n) => `${n.mode}:${n.group}` === key && n.from < to && (!n.to || n.to > from)).sort((a, b) => a.from - b.from);
  const own = [...new Set(all.filter(stacked).map((n) => n.member))].sort();
  const sole = all.some((n) => !stacked(n)) || !own.length ? 1 : 0;
  const height = (sole + own.length * 0.7) * LANE;
  const [svg] = node.querySelectorAll('svg');
  attr(svg, 'width', width);
  attr(svg, 'height', height);
  const name = node.querySelector('button');
  text(name, g.name);
  attr(name, 'title', `${g.name} (${g.mode})`);
  name.classList.toggle('chosen', shownGroup() === g);
  keep(svg.children[0], node.bars, all.map((n) => n.id), bar);
  for (const n of all) {
    const b = node.bars.get(n.id);
    const small = stacked(n);
    const top = small ? (sole + own.indexOf(n.member) * 0.7) * LANE + 1 : 2;
    const left = x(n.from);
    const wide = Math.max(1.5, x(n.to || t) - left);
    attr(b, 'class', `bar ${colour(state, n.member)}${small ? ' small' : ''}`);
    attr(b.children[0], 'x', left.toFixed(1));
    attr(b.children[0], 'width', wide.toFixed(1));
    attr(b.children[0], 'y', top);
    attr(b.children[0], 'height', small ? LANE * 0.7 - 3 : LANE - 4);
    attr(b.children[1], 'x', (left + 5).toFixed(1));
    attr(b.children[1], 'y', top + (small ? 10 : 13.5));
    text(b.children[1], wide > 14 + 7 * n.member.length + (n.local ? 34 : 0) ? n.member + (n.local ? ' local' : '') : '');
    attr(b, 'aria-label', `${n.member} led from ${stamp(n.from)} ${n.to ? `to ${stamp(n.to)}` : 'on'}`);
  }
  node.stop();
  flaws(node, svg, all.filter((n) => !stacked(n)), x, t, from);
  const line = svg.children[2];
  attr(line, 'x1', x(t).toFixed(1));
  attr(line, 'x2', x(t).toFixed(1));
  attr(line, 'y1', 0);
  attr(line, 'y2', height);
}

function bar(id) {
  const b = draw('g', { tabindex: -1, role: 'listitem', data: { tenure: id } }, draw('rect', { rx: 3 }), draw('text'));
  explain(b, () => {
    const n = state.tenures.get(id);
    if (!n) return [''];
    const end = n.to ? `to ${stamp(n.to)}: ${length(n.to - n.from)}` : 'and still does';
    return [`${n.member} led ${n.group}${n.local ? ' as local leader' : ''}`, `from ${stamp(n.from)} ${end}`, n.token ? `token ${n.token}` : '',
      n.cause ? `ended because: ${round(n.cause)}` : '', n.evidence ?? ''];
  });
  return b;
}

// flaws marks gaps and overlaps between leaderships that must follow one another.
function flaws(node, svg, all, x, t, from) {
  const found = new Map();
  let end = null;
  let last = null;
  for (const n of all) {
    const to = n.to || t;
    if (end !== null && n.from > end) found.set(`gap ${n.id}`, { kind: 'gap', from: end, to: n.from, text: [`nobody led ${n.group} for ${length(n.from - end)}`, `from ${stamp(end)} to ${stamp(n.from)}`, `${last.member} was followed by ${n.member}`] });
    if (n.mode === 'quorum' && end !== null && n.from < end && last.member + last.token !== n.member + n.token) {
      found.set(`overlap ${n.id}`, { kind: 'overlap', from: n.from, to: Math.min(end, to), text: [`two led ${n.group} at once, for ${length(Math.min(end, to) - n.from)}`, `${last.member} and ${n.member}`] });
    }
    if (end === null || to > end) {
      end = to;
      last = n;
    }
  }
  if (last?.to && t > last.to) found.set('gap now', { kind: 'gap', from: last.to, to: t, text: [`nobody leads ${last.group} since ${length(t - last.to)}`] });
  keep(svg.children[1], node.marks, [...found.keys()].filter((k) => found.get(k).to > from), (k) => {
    const mark = draw('rect', { class: 'flaw' });
    explain(mark, () => mark.lines ?? []);
    mark.dataset.flaw = k.split(' ')[0];
    return mark;
  });
  for (const [k, f] of found) {
    const m = node.marks.get(k);
    if (!m) continue;
    m.lines = f.text;
    const left = x(f.from);
    attr(m, 'class', `flaw ${f.kind}`);
    attr(m, 'x', left.toFixed(1));
    attr(m, 'width', Math.max(3, x(f.to) - left).toFixed(1));
    attr(m, 'y', f.kind === 'overlap' ? 0 : 2);
    attr(m, 'height', f.kind === 'overlap' ? LANE : LANE - 4);
  }
}

const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600].map((s) => s * SECOND);

function scale(from, to, x, width) {
  const step = steps.find((s) => (to - from) / s <= width / 80) ?? steps.at(-1);
  const ticks = [];
  const at = phase() % step;
  for (let t = Math.ceil((from + at) / step) * step - at; t <= to; t += step) if (x(t) > 24 && x(t) < width - 24) ticks.push(t);
  attr(axis, 'width', width);
  const want = `${from} ${to} ${width} ${phase()}`;
  if (axis.dataset.drawn === want) return;
  axis.dataset.drawn = want;
  axis.replaceChildren(...ticks.map((t) => draw('text', { x: x(t).toFixed(1), y: 13 }, tick(t, step))));
}

// A page that was not looked at draws at once when it is.
document.addEventListener('visibilitychange', () => touch('tenures'));

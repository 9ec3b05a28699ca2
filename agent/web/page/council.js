// The council as a picture: members around a circle, the links between them, who supports whom, and a lease as a ring.

import { attr, byId, colour, draw, el, explain, keep, length, rove, short, text } from './dom.js';
import { areas, choose, leaders, mode, now, onChange, opinions, show, shownGroup, state } from './state.js';
import { hull } from './hull.js';
import { summary } from './views.js';

const RADIUS = 155;
// wide is how far members stand from the middle to the sides, and room how many letters have room below a member.
let wide = RADIUS * 1.25;
let room = 18;
const NODE = 27;
const RING = 36;
const RING_LENGTH = 2 * Math.PI * RING;

const layers = {};
const nodes = new Map();
const lines = new Map();
const arrows = new Map();
const fields = new Map();
// where is where members are, and target where they go.
const where = new Map();
let target = new Map();
// plan is the layout that was asked for, and since when: it is taken up when it has stood for a moment.
let plan = '';
let planned = 0;
let laid = '';
let settled = 0;
let stop;

export function start() {
  const svg = byId('picture');
  svg.append(draw('defs', {}, draw('marker', { id: 'tip-arrow', viewBox: '0 0 8 8', refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto-start-reverse' },
    draw('path', { d: 'M0 0L8 4L0 8z', fill: 'context-stroke' }))));
  for (const name of ['fields', 'lines', 'arrows', 'labels', 'nodes']) svg.append((layers[name] = draw('g', { class: name })));
  stop = rove(svg, () => [...nodes.values()], (key) => ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 })[key]);
  new ResizeObserver(fit).observe(svg);
  byId('group-choice').addEventListener('change', (e) => show(e.target.value));
  svg.addEventListener('click', (e) => {
    if (e.target === svg) choose(null);
  });
}

// fit draws the picture narrower where there is less room, so that its letters stay as large.
function fit() {
  const narrow = byId('picture').clientWidth < 450;
  wide = narrow ? RADIUS * 0.85 : RADIUS * 1.25;
  attr(byId('picture'), 'viewBox', narrow ? '-230 -240 460 480' : '-320 -240 640 480');
  laid = '';
}

export function update(changed) {
  if (changed.has('groups') || changed.has('shown')) choices();
  if (!['members', 'links', 'groups', 'shown', 'chosen', 'about', 'polled'].some((w) => changed.has(w))) return;
  keep(layers.nodes, nodes, [...state.members.keys()], node);
  stop();
  for (const [name, n] of nodes) paint(n, name);
  keep(layers.lines, lines, pairs(), line);
  for (const [key, l] of lines) connectLine(l, key);
  place();
  moved();
}

// choices fills the list of groups; of thousands, those that changed last.
function choices() {
  const select = byId('group-choice');
  const shown = shownGroup();
  const current = mode();
  let list = [...state.groups.entries()].filter(([, g]) => g.mode === current);
  if (list.length > 50) list = list.sort((a, b) => b[1].changed - a[1].changed).slice(0, 50).sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const keys = list.map(([key]) => key);
  const picked = shown ? `${shown.mode}:${shown.name}` : '';
  if (picked && !keys.includes(picked)) keys.unshift(picked);
  select.closest('label').hidden = !keys.length;
  const have = [...select.options].map((o) => o.value).join('\n');
  if (have !== keys.join('\n')) {
    select.replaceChildren(...keys.map((key) => el('option', { value: key }, state.groups.get(key)?.name ?? '')));
  }
  if (select.value !== picked) select.value = picked;
}

function pairs() {
  const names = [...state.members.keys()];
  const out = [];
  names.forEach((a, i) => names.slice(i + 1).forEach((b) => {
    if (state.links.has(`${a}>${b}`) || state.links.has(`${b}>${a}`)) out.push(`${a}>${b}`);
  }));
  return out;
}

// INSIDE is the longest name that is drawn in the circle. Longer ones stand below it.
const INSIDE = 4;

// crown is drawn over a leader, and the label over a local one.
const CROWN = 'M-13 6L-15 -7L-7 -1L0 -11L7 -1L15 -7L13 6z';

function node(name) {
  const n = draw('g', { class: 'node', tabindex: -1, role: 'button', data: { member: name } },
    draw('circle', { class: 'halo', r: RING + 7 }),
    draw('circle', { class: 'ring-back', r: RING }),
    draw('circle', { class: 'ring', r: RING, transform: 'rotate(-90)', 'stroke-dasharray': RING_LENGTH, 'stroke-dashoffset': RING_LENGTH }),
    draw('circle', { class: 'body', r: NODE }),
    draw('text', { class: name.length > INSIDE ? 'name below' : 'name', y: name.length > INSIDE ? RING + 18 : 6 }, name),
    draw('path', { class: 'crown', d: CROWN, transform: `translate(0 ${-RING - 11})` }),
    draw('g', { class: 'local', transform: `translate(0 ${-RING - 11})` },
      draw('rect', { x: -27, y: -10, width: 54, height: 17, rx: 8 }), draw('text', { y: 3 }, 'LOCAL')),
    draw('path', { class: 'bars', d: 'M-8 -11v22M8 -11v22' }),
    draw('text', { class: 'how', y: name.length > INSIDE ? RING + 33 : RING + 17 }));
  n.addEventListener('click', (e) => pick(name, e.shiftKey || e.ctrlKey || e.metaKey));
  n.addEventListener('keydown', (e) => key(e, name));
  explain(n, () => describe(name));
  where.set(name, { x: 0, y: 0 });
  return n;
}

// pick chooses a member, or adds it to those that are chosen.
function pick(name, more) {
  const before = state.chosen?.kind === 'member' ? state.chosen.names : [];
  if (!more && !state.several) return choose({ kind: 'member', names: [name] });
  const names = before.includes(name) ? before.filter((n) => n !== name) : [...before, name];
  choose(names.length ? { kind: 'member', names } : null);
}

function key(e, name) {
  if (e.key !== 'Enter' && e.key !== ' ') return;
  pick(name, e.shiftKey || e.ctrlKey || e.metaKey);
  e.preventDefault();
  e.stopPropagation();
}

// leading returns the leadership that the picture shows of a member.
function leading(name) {
  return leaders(shownGroup()).find((l) => l.member === name);
}

// verb is what a member does that takes another one for the leader.
const verb = { eventual: 'trusts', consistent: 'is managed by' };

function paint(n, name) {
  const m = state.members.get(name);
  const lead = leading(name);
  const group = shownGroup();
  const view = opinions(group).find((v) => v.member === name && v.answered);
  const chosen = state.chosen?.kind === 'member' && state.chosen.names.includes(name);
  const local = leaders(group).find((l) => l.local && l.support?.includes(name));
  const place = m.state === 'removed' ? 'removed' : m.learning ? `learning${m.learns ? ` ${m.knows ?? 0} of ${m.learns}` : ''}` : m.leaving ? 'leaving' : '';
  const whose = state.about.self && group?.mode === 'quorum' && lead && summary(group, opinions(group)).differ ? `, as ${state.about.self} sees it` : '';
  const role = lead ? (lead.local ? 'leads its part' : lead.stopping ? 'stops leading' : `${group.mode === 'consistent' ? 'manages' : 'leads'}${whose}${m.drained ? ', drained' : ''}`)
    : m.drained ? (m.state !== 'up' ? `drained, ${m.state}` : 'drained') : m.state !== 'up' ? m.state : view?.leader === name ? 'says that it leads' : view?.leader ? `${verb[group.mode] ?? 'follows'} ${view.leader}` : local ? `follows ${local.member} locally` : view ? (group.mode === 'consistent' ? 'no member of it' : 'sees no leader') : '';
  const how = [place, role].filter((s, i, all) => s && all.indexOf(s) === i && !(i && m.learning)).join(', ');
  attr(n, 'class', `node ${m.state} ${colour(state, name)}${m.learning ? ' learning' : ''}${m.leaving ? ' leaving' : ''}${lead ? (lead.local ? ' leads local-leads' : ' leads') : ''}${chosen ? ' chosen' : ''}`);
  n.dataset.leads = lead ? (lead.local ? 'local' : 'yes') : '';
  n.dataset.state = m.state;
  n.dataset.number = m.number ?? '';
  n.dataset.place = m.state === 'removed' ? 'removed' : m.learning ? 'learning' : m.leaving ? 'leaving' : '';
  attr(n, 'aria-pressed', chosen);
  // Its name is what is drawn, which may be cut short.
  attr(n, 'aria-description', `member ${name}: ${m.state}${how && how !== m.state ? `, ${how}` : ''}${m.problem ? `, ${m.problem}` : ''}`);
  text(n.querySelector('.local text'), lead?.local ? 'LOCAL' : '');
  text(n.querySelector('.name'), short(name, room));
  text(n.querySelector('.how'), short(how, room + 3));
}

function describe(name) {
  const m = state.members.get(name);
  if (!m) return [name];
  const lead = leading(name);
  const out = [`${name} is ${m.state}`];
  if (m.role) out.push(m.role === 'witness' ? 'a witness: it votes and never leads' : m.learning ? 'it has no vote before it knows what the others know' : 'an observer: it has no vote');
  if (m.leaving) out.push('it leaves the council');
  if (m.number !== undefined) out.push(`it has the council with number ${m.number}`);
  if (m.problem) out.push(m.problem);
  if (lead) {
    out.push(`${lead.local ? 'local leader' : 'leads'} of ${shownGroup().name}${lead.since === undefined ? '' : ` since ${length(now() - lead.since)} ago`}`);
    if (lead.until) out.push(`lease runs ${length(Math.max(0, lead.until - now()))} more unless renewed`);
    if (lead.support) out.push(`supported by ${lead.support.join(', ')}`);
  }
  if (m.pauses) out.push(`own pauses: median ${length(m.pauses.median)}, longest ${length(m.pauses.longest)}`);
  return out;
}

function line(key) {
  const [a, b] = key.split('>');
  const l = draw('g', { class: 'line', data: { link: key } },
    draw('line', { class: 'half one' }), draw('line', { class: 'half two' }),
    draw('text', { class: 'bound' }), draw('line', { class: 'grip' }));
  const grip = l.querySelector('.grip');
  grip.addEventListener('click', () => choose({ kind: 'link', names: [a, b] }));
  explain(grip, () => evidence(a, b));
  return l;
}

function evidence(a, b) {
  const say = (x, y) => {
    const l = state.links.get(`${x}>${y}`);
    if (!l) return '';
    const bound = l.bound ? `, last packet proven within ${length(l.bound)}` : '';
    return `${y} hears ${x}: ${l.state}${bound}${l.roundTrip ? `, round trip ${length(l.roundTrip)}` : ''}${l.made ? ` (you: ${l.made})` : ''}`;
  };
  return [`link ${a} – ${b}`, say(a, b), say(b, a)];
}

function connectLine(l, key) {
  const [a, b] = key.split('>');
  // The half at a member's end shows how that member hears the other.
  const one = state.links.get(`${b}>${a}`)?.state ?? 'unknown';
  const two = state.links.get(`${a}>${b}`)?.state ?? 'unknown';
  attr(l.children[0], 'class', `half ${one}`);
  attr(l.children[1], 'class', `half ${two}`);
  const chosen = state.chosen?.kind === 'link' && state.chosen.names.join('>') === key;
  attr(l, 'class', `line${chosen ? ' chosen' : ''}`);
  const worst = Math.max(state.links.get(`${b}>${a}`)?.bound ?? 0, state.links.get(`${a}>${b}`)?.bound ?? 0);
  const label = [one, two].includes('cut') ? 'cut' : worst && ([one, two].includes('slow') || chosen) ? `≤ ${length(worst)}` : '';
  text(l.children[2], label);
  l.dataset.state = [one, two].includes('cut') ? 'cut' : [one, two].includes('slow') ? 'slow' : one === two ? one : 'unknown';
}

// place decides where members go: around a circle, those of one area side by side, with room between areas.
function place() {
  const parts = areas(shownGroup());
  const order = [];
  for (const p of parts) order.push([...state.members.keys()].filter((n) => p.members.includes(n) && !order.flat().includes(n)));
  const rest = [...state.members.keys()].filter((n) => !order.flat().includes(n));
  // In one piece, or with nobody leading, everybody stands where they always do.
  const clusters = parts.length > 1 || (parts.length === 1 && rest.length > 1 && rest.length < state.members.size - 1) ? [...order, rest] : [[...state.members.keys()]];
  const wanted = JSON.stringify(clusters.filter((c) => c.length));
  if (wanted !== plan) {
    plan = wanted;
    planned = performance.now();
  }
}

function layout() {
  const clusters = JSON.parse(plan);
  const gap = clusters.length > 1 ? 0.55 : 0;
  const total = clusters.flat().length + gap * clusters.length;
  let slot = gap / 2;
  target = new Map();
  for (const cluster of clusters) {
    for (const name of cluster) {
      const angle = ((slot + (gap ? 0.5 : 0)) / total) * 2 * Math.PI - Math.PI / 2;
      target.set(name, { x: wide * Math.cos(angle), y: RADIUS * Math.sin(angle) });
      slot++;
    }
    slot += gap;
  }
  fitLabels();
}

// LETTER is how wide a letter of a label is at most.
const LETTER = 7.5;

// fitLabels finds how many letters fit below members that stand side by side, and within the picture.
function fitLabels() {
  const all = [...target.values()];
  const half = -byId('picture').viewBox.baseVal.x;
  let space = 21 * LETTER;
  all.forEach((p, i) => {
    space = Math.min(space, 2 * (half - Math.abs(p.x)));
    for (const q of all.slice(i + 1)) if (Math.abs(p.y - q.y) < 45) space = Math.min(space, Math.abs(p.x - q.x));
  });
  const letters = Math.max(INSIDE, Math.floor(space / LETTER) - 3);
  if (letters === room) return;
  room = letters;
  for (const [name, n] of nodes) if (state.members.has(name)) paint(n, name);
}

const CALM = 400;
const still = matchMedia('(prefers-reduced-motion: reduce)');

export function frame(at) {
  if (plan && plan !== laid && (laid === '' || at - planned > CALM)) {
    layout();
    for (const [name, t] of target) if (laid === '' || still.matches) Object.assign(where.get(name), t);
    laid = plan;
    settled = 0;
  }
  if (settled < 60) {
    settled++;
    for (const [name, t] of target) {
      const p = where.get(name);
      if (!p) continue;
      p.x += (t.x - p.x) * (settled === 60 ? 1 : 0.12);
      p.y += (t.y - p.y) * (settled === 60 ? 1 : 0.12);
    }
    moved();
  }
  rings();
}

// moved draws everything where members are now.
function moved() {
  for (const [name, n] of nodes) {
    const p = where.get(name);
    attr(n, 'transform', `translate(${p.x.toFixed(1)} ${p.y.toFixed(1)})`);
  }
  for (const [key, l] of lines) {
    const [p, q] = key.split('>').map((n) => where.get(n));
    const middle = { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 };
    stretch(l.children[0], p, middle);
    stretch(l.children[1], q, middle);
    attr(l.children[2], 'x', middle.x.toFixed(1));
    attr(l.children[2], 'y', (middle.y - 6).toFixed(1));
    stretch(l.children[3], p, q);
  }
  const parts = areas(shownGroup());
  supports(parts);
  colourAreas(parts);
}

function stretch(node, p, q) {
  attr(node, 'x1', p.x.toFixed(1));
  attr(node, 'y1', p.y.toFixed(1));
  attr(node, 'x2', q.x.toFixed(1));
  attr(node, 'y2', q.y.toFixed(1));
}

// supports draws an arrow from each supporter to its leader, bent a little so that the link stays visible.
function supports(parts) {
  const all = parts.flatMap((p) => p.members.filter((m) => m !== p.leader.member && state.members.has(m)).map((m) => `${m}>${p.leader.member}`));
  keep(layers.arrows, arrows, [...new Set(all)], () => draw('path', { class: 'arrow', 'marker-end': 'url(#tip-arrow)' }));
  for (const [key, a] of arrows) {
    const [from, to] = key.split('>');
    const p = where.get(from);
    const q = where.get(to);
    if (!p || !q) continue;
    const d = Math.hypot(q.x - p.x, q.y - p.y) || 1;
    const [ux, uy] = [(q.x - p.x) / d, (q.y - p.y) / d];
    const bend = 16;
    const c = { x: (p.x + q.x) / 2 - uy * bend, y: (p.y + q.y) / 2 + ux * bend };
    const margin = RING + 6;
    attr(a, 'd', `M${(p.x + ux * NODE).toFixed(1)} ${(p.y + uy * NODE).toFixed(1)}Q${c.x.toFixed(1)} ${c.y.toFixed(1)} ${(q.x - ux * margin - uy * 3).toFixed(1)} ${(q.y - uy * margin + ux * 3).toFixed(1)}`);
    attr(a, 'class', `arrow ${colour(state, to)}`);
  }
}

// colourAreas fills the area of each logical partition, in the colour of its leader.
function colourAreas(parts) {
  keep(layers.fields, fields, parts.map((p) => p.leader.member), () => draw('g', { class: 'field' }, draw('path'), draw('text')));
  for (const p of parts) {
    const f = fields.get(p.leader.member);
    const points = p.members.map((m) => where.get(m)).filter(Boolean);
    if (!points.length) continue;
    attr(f.children[0], 'd', hull(points));
    attr(f, 'class', `field ${colour(state, p.leader.member)}${p.leader.local ? ' local-field' : ''}`);
    f.dataset.area = p.members.join(' ');
    f.dataset.local = p.leader.local ? 'yes' : '';
    text(f.children[1], short(p.leader.local ? `local leader of ${p.members.join(' ')}` : parts.length > 1 ? `leader of ${shownGroup().name}` : '', 30));
    // Above the area, and within the picture.
    const x = points.reduce((s, q) => s + q.x / points.length, 0);
    attr(f.children[1], 'x', Math.min(220, Math.max(-220, x)).toFixed(1));
    attr(f.children[1], 'y', Math.max(-226, Math.min(...points.map((q) => q.y)) - 60).toFixed(1));
  }
}

// rings shows what is left of each lease.
function rings() {
  const at = now();
  for (const [name, n] of nodes) {
    const lead = leading(name);
    const ring = n.children[2];
    if (!lead?.until || !lead.lease) {
      attr(ring, 'stroke-dashoffset', lead ? 0 : RING_LENGTH.toFixed(1));
      continue;
    }
    const left = Math.min(1, Math.max(0, (lead.until - at) / lead.lease));
    attr(ring, 'stroke-dashoffset', (RING_LENGTH * (1 - left)).toFixed(1));
  }
}

onChange((changed) => {
  if (changed.has('connection') && state.connection === 'live') settled = 0;
});

// Small helpers for elements, numbers and times.

const SVG = 'http://www.w3.org/2000/svg';

// el makes an element. Properties that begin with "on" are listeners; "data" is an object; null children are left out.
export function el(name, properties = {}, ...children) {
  return dress(document.createElement(name), properties, children);
}

// draw makes an element of a picture.
export function draw(name, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, name), attributes, children);
}

function dress(node, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'data') Object.assign(node.dataset, value);
    else if (key === 'value') node.value = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

// attr changes an attribute only if it differs, so that nothing is drawn anew for nothing.
export function attr(node, name, value) {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

export function text(node, value) {
  if (node.textContent !== value) node.textContent = value;
}

// keep makes a list of children fit a list of keys: make is called for new keys, and what has no key any more goes.
// Elements stay what they are, so that focus and hover stay with them.
export function keep(parent, cache, keys, make) {
  const wanted = new Set(keys);
  for (const [key, node] of cache) {
    if (!wanted.has(key)) {
      node.remove();
      cache.delete(key);
    }
  }
  let at = parent.firstElementChild;
  for (const key of keys) {
    let node = cache.get(key);
    if (!node) cache.set(key, (node = make(key)));
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
}

const MS = 1e6;

// length shows nanoseconds for people: three figures are enough.
export function length(ns) {
  const abs = Math.abs(ns);
  if (abs < 1000) return `${Math.round(ns)} ns`;
  if (abs < MS) return `${figures(ns / 1000)} µs`;
  if (abs < 1000 * MS) return `${figures(ns / MS)} ms`;
  if (abs < 120000 * MS) return `${figures(ns / 1000 / MS)} s`;
  const s = Math.round(ns / 1000 / MS);
  return s < 7200 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

function figures(x) {
  const abs = Math.abs(x);
  return x.toFixed(abs >= 100 ? 0 : abs >= 10 ? 1 : 2).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
}

// round shortens lengths of time within a text, such as 89.884257ms.
export function round(said) {
  return said.replace(/(\d+\.\d+)(ns|µs|ms|s)\b/g, (_, x, unit) => `${figures(Number(x))}${unit}`);
}

// began is when the source began, in milliseconds since 1970; zero: it has no time of day, as a recorded run.
let began = 0;

export function setBegan(ms) {
  began = ms;
}

const two = (n) => String(n).padStart(2, '0');

// clock shows the second of an instant: by the time of day, or since the source began.
export function clock(ns) {
  if (!began) return `${(ns / 1000 / MS).toFixed(3)} s`;
  const d = new Date(began + ns / MS);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

// stamp shows an instant with its thousandths, and its day if that is not today.
export function stamp(ns) {
  if (!began) return clock(ns);
  const d = new Date(began + ns / MS);
  const day = d.toDateString() === new Date().toDateString() ? '' : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
  return `${day}${clock(ns)}.${String(d.getMilliseconds()).padStart(3, '0')}`;
}

// phase returns by how much later than an instant since the source began a clock on the wall strikes, in nanoseconds.
export function phase() {
  return began ? (began - new Date(began).getTimezoneOffset() * 60000) * MS : 0;
}

// tick shows an instant of a scale with the given step.
export function tick(ns, step) {
  if (!began) return length(ns);
  return step < 1000 * MS ? stamp(ns).slice(-12, -1) : clock(ns);
}

// short cuts a text that is too long for its place.
export const short = (said, most) => (said.length > most ? `${said.slice(0, most - 1)}…` : said);

// colours are given in the order in which members are seen first. A member that leaves takes none from the others, and has left bars in its own.
const colours = new Map();

// colour returns the class that gives a member its colour: leaders, their areas and their bars share it.
export function colour(state, member) {
  for (const name of state.members.keys()) if (!colours.has(name)) colours.set(name, `c${colours.size % 9}`);
  return colours.get(member) ?? 'c-none';
}

// tip shows evidence beside the pointer or the focus.
export function tip(node, lines) {
  const box = byId('tip');
  if (!node) {
    box.hidden = true;
    return;
  }
  box.replaceChildren(...lines.filter(Boolean).map((l, i) => el(i ? 'p' : 'strong', {}, l)));
  box.hidden = false;
  const at = node.getBoundingClientRect();
  const own = box.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 8);
  const above = at.top - own.height - 8;
  box.style.left = `${left}px`;
  box.style.top = `${above < 8 ? at.bottom + 8 : above}px`;
}

// explain makes an element show a tip while it is pointed at or has the focus. lines is asked each time.
export function explain(node, lines) {
  const show = () => tip(node, lines());
  const hide = () => tip(null);
  node.addEventListener('pointerenter', show);
  node.addEventListener('focus', show);
  node.addEventListener('pointerleave', hide);
  node.addEventListener('blur', hide);
  return node;
}

// rove makes many elements one stop of the tabulator; arrows lead from one to the next. list returns those that there
// are now, and step how far a key goes, if it goes anywhere.
export function rove(parent, list, step) {
  const stop = (node) => list().forEach((n) => attr(n, 'tabindex', n === node ? 0 : -1));
  parent.addEventListener('focusin', (e) => {
    if (list().includes(e.target)) stop(e.target);
  });
  parent.addEventListener('keydown', (e) => {
    const all = list();
    const i = all.indexOf(e.target);
    const by = step(e.key);
    if (i < 0 || !by) return;
    e.preventDefault();
    e.stopPropagation();
    all[(i + by + all.length) % all.length].focus();
  });
  return () => {
    const all = list();
    if (all.length && !all.some((n) => n.getAttribute('tabindex') === '0')) stop(all.at(-1));
  };
}

// along is the step of a row.
export const along = (key) => ({ ArrowRight: 1, ArrowLeft: -1 })[key];

const QUIET = 5000;
let spoken = -QUIET;
let unsaid = 0;

// announce says something to those who listen: at most once in five seconds, and then the latest.
export function announce(said) {
  clearTimeout(unsaid);
  const wait = spoken + QUIET - performance.now();
  if (wait > 0) {
    unsaid = setTimeout(() => announce(said), wait);
    return;
  }
  spoken = performance.now();
  text(byId('announcement'), said);
}

let toastTimer = 0;

// toast says something for a moment.
export function toast(message, bad = false) {
  const box = byId('toast');
  box.textContent = message;
  box.classList.toggle('bad', bad);
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.hidden = true; }, bad ? 8000 : 3000);
}

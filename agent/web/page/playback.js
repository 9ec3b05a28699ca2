// The controls of a recorded run: play it forwards and backwards, at any speed, or step by step.

import { byId, clock, el, length, stamp, text, toast } from './dom.js';
import { command, load, now, state } from './state.js';

const speeds = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 100];
const parts = {};
let speed = 1;
let dragging = false;

export function start() {
  document.addEventListener('keydown', key);
}

function build() {
  const push = (verb, label, title, value) => el('button', { type: 'button', title, 'aria-label': title, data: { verb: `${verb}${value ?? ''}` }, onclick: () => send(verb, value?.()) }, label);
  parts.slider = el('input', { type: 'range', min: 0, step: 1, 'aria-label': 'Step of the run' });
  parts.slider.addEventListener('input', () => { dragging = true; send('seek', Number(parts.slider.value)); });
  parts.slider.addEventListener('change', () => { dragging = false; });
  parts.speed = el('select', { 'aria-label': 'Speed', onchange: () => { speed = Number(parts.speed.value); if (state.playback.speed) send('play', Math.sign(state.playback.speed) * speed); } },
    speeds.map((s) => el('option', { value: s }, `${s} ×`)));
  parts.speed.value = '1';
  parts.where = el('span', { class: 'number' });
  parts.line = el('code', { 'aria-live': 'off' });
  parts.marks = el('select', { 'aria-label': 'Go to what happened', onchange: () => { if (parts.marks.value) send('seek', Number(parts.marks.value)); } });
  parts.file = el('input', { type: 'file', 'aria-label': 'Open another trace', onchange: open });
  const step = (n) => () => Math.min(state.playback.steps, Math.max(0, state.playback.step + n));
  byId('playback').append(
    el('div', { class: 'buttons' },
      push('seek', '|◀', 'To the beginning', () => 0), push('play', '◀', 'Play backwards', () => -speed), push('seek', '−1', 'One step back', step(-1)),
      push('pause', '‖', 'Pause'), push('seek', '+1', 'One step on', step(1)), push('play', '▶', 'Play', () => speed), push('seek', '▶|', 'To the end', () => state.playback.steps),
      el('label', {}, 'speed ', parts.speed), parts.marks, parts.where, el('label', { class: 'file' }, 'open a trace ', parts.file)),
    parts.slider, parts.line);
  ['first', 'back', 'stepback', 'pause', 'step', 'play', 'last'].forEach((id, i) => { byId('playback').querySelectorAll('button')[i].dataset.verb = id; });
}

export function update(changed) {
  if (!changed.has('about') && !changed.has('playback')) return;
  const playback = state.playback;
  byId('playback').hidden = !playback;
  if (!playback) return;
  if (!parts.slider) build();
  parts.slider.max = playback.steps;
  if (!dragging) parts.slider.value = playback.step;
  text(parts.where, `step ${playback.step} of ${playback.steps}, ${stamp(playback.at)} of ${stamp(playback.end)}`);
  text(parts.line, playback.line ?? '');
  byId('playback').dataset.step = playback.step;
  byId('playback').dataset.playing = playback.speed ? 'yes' : '';
  if (changed.has('about') || !parts.marks.firstChild) marked();
}

function marked() {
  const marks = state.about.marks ?? [];
  parts.marks.hidden = !marks.length;
  parts.marks.replaceChildren(el('option', { value: '' }, 'go to …'), ...marks.map((m) => el('option', { value: m.step }, `${length(m.at)}: ${m.text}`)));
}

async function send(verb, value) {
  try {
    await command({ verb, value });
  } catch (error) {
    toast(error.message, true);
  }
}

async function open() {
  const [file] = parts.file.files;
  if (!file) return;
  try {
    await load(file);
    toast(`${file.name} is open`);
  } catch (error) {
    toast(error.message, true);
  }
}

function key(e) {
  const playback = state.playback;
  if (!playback || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, button, [role=button], [role=row]')) return;
  const value = { ArrowLeft: playback.step - 1, ArrowRight: playback.step + 1, Home: 0, End: playback.steps }[e.key];
  if (e.key === ' ') send(playback.speed ? 'pause' : 'play', speed);
  else if (value !== undefined) send('seek', Math.min(playback.steps, Math.max(0, value)));
  else return;
  e.preventDefault();
}

export function frame() {
  if (state.playback?.speed && parts.where) text(byId('clock'), clock(now()));
}

// The page: what the source says goes into the state, and each part draws its share of it.

import { byId, clock, setBegan, text } from './dom.js';
import { connect, hasTime, now, onChange, state } from './state.js';
import * as council from './council.js';
import * as ribbon from './ribbon.js';
import * as groups from './groups.js';
import * as timeline from './timeline.js';
import * as log from './log.js';
import * as members from './members.js';
import * as actions from './actions.js';
import * as playback from './playback.js';
import * as login from './login.js';
import * as views from './views.js';
import * as modes from './modes.js';
import * as details from './details.js';
import * as route from './route.js';

const parts = [actions, council, ribbon, groups, timeline, log, members, playback, login, views, modes, details, route];

function header(changed) {
  if (changed.has('about')) {
    setBegan(state.about.began ?? 0);
    text(byId('title'), state.about.title);
    document.title = state.about.title ? `Regent: ${state.about.title}` : 'Regent';
    document.body.dataset.kind = state.about.kind;
    const alarm = byId('alarm');
    alarm.hidden = !state.about.alarm;
    text(alarm, state.about.alarm ?? '');
  }
  if (changed.has('connection')) {
    document.body.dataset.connection = state.connection;
    text(byId('connection'), { live: 'live', lost: 'connection lost, trying again', connecting: 'connecting', refused: 'not logged in' }[state.connection]);
  }
}

// Light, dark, or as the system has it. The choice stays in this browser.
function theme() {
  const button = byId('theme');
  const order = ['auto', 'light', 'dark'];
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    text(button, `theme: ${name}`);
    try {
      localStorage.setItem('regent-theme', name);
    } catch {
      // A browser that keeps nothing forgets the choice; nothing else depends on it.
    }
  };
  let stored = 'auto';
  try {
    stored = localStorage.getItem('regent-theme') ?? 'auto';
  } catch {
    // As above.
  }
  set(order.includes(stored) ? stored : 'auto');
  button.addEventListener('click', () => set(order[(order.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
}

function frame(at) {
  text(byId('clock'), hasTime() ? clock(now()) : '');
  for (const part of parts) part.frame?.(at);
  requestAnimationFrame(frame);
}

theme();
onChange(header);
for (const part of parts) {
  part.start();
  onChange(part.update);
}
connect();
requestAnimationFrame(frame);

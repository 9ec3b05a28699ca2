// Who looks at the page, and logging in and out.

import { byId, text, toast } from './dom.js';
import { connect, disconnect, session, state, touch } from './state.js';

// wanted says that a person asked for the form although the page can be seen without it.
let wanted = false;

export function start() {
  byId('log-in').addEventListener('click', () => {
    wanted = true;
    show();
    byId('token').focus();
  });
  byId('login-cancel').addEventListener('click', () => {
    wanted = false;
    show();
    byId('log-in').focus();
  });
  byId('log-out').addEventListener('click', leave);
  byId('login').addEventListener('submit', enter);
}

export function update(changed) {
  if (changed.has('session')) show();
}

function show() {
  const s = state.session;
  if (!s) return;
  const form = byId('login');
  const was = form.hidden;
  form.hidden = s.mayLook && !(wanted && s.canLogIn);
  document.body.dataset.look = s.mayLook ? 'yes' : 'no';
  byId('login-fields').hidden = !s.canLogIn;
  byId('login-cancel').hidden = !s.mayLook;
  text(byId('login-reason'), s.reason ?? '');
  text(byId('who'), s.loggedIn ? s.who : '');
  byId('log-out').hidden = !s.loggedIn;
  byId('log-in').hidden = !s.canLogIn || s.loggedIn || !form.hidden;
  if (was && !form.hidden && !s.mayLook && s.canLogIn) byId('token').focus();
}

async function enter(event) {
  event.preventDefault();
  const field = byId('token');
  const answer = await ask('api/login', { token: field.value.trim() });
  if (answer.error) {
    text(byId('login-reason'), `${answer.error}.`);
    field.select();
    return;
  }
  field.value = '';
  wanted = false;
  session(answer);
  connect();
  byId('council').focus();
}

async function leave() {
  const answer = await ask('api/logout', {});
  if (answer.error) return toast(answer.error, true);
  session(null);
  disconnect();
  connect();
}

async function ask(path, body) {
  try {
    const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    const said = answer.status === 204 ? {} : await answer.json();
    return answer.ok ? said : { error: said.error ?? `the server answered ${answer.status}` };
  } catch {
    return { error: 'the server does not answer' };
  }
}

touch('session');

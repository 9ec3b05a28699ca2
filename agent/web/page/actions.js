// What can be done to what is chosen: buttons, and a key for each.

import { byId, el, toast } from './dom.js';
import { choose, command, state, whyNotGroup } from './state.js';

let signature = '';

export function start() {
  document.addEventListener('keydown', key);
  byId('confirm-yes').addEventListener('click', () => byId('confirm').close('yes'));
  byId('confirm-no').addEventListener('click', () => byId('confirm').close('no'));
}

export function update(changed) {
  if (['chosen', 'about', 'members', 'links', 'groups', 'session'].some((w) => changed.has(w))) render();
}

// possible returns the actions that make sense for what is chosen.
function possible() {
  const c = state.chosen;
  if (!c) return state.about.actions.filter((a) => a.on === 'all');
  const states = c.kind === 'member' ? c.names.map((n) => state.members.get(n)).flatMap((m) => [m?.state, m?.drained ? 'drained' : 'undrained'])
    : c.kind === 'link' ? [state.links.get(c.names.join('>')), state.links.get([...c.names].reverse().join('>'))].map((l) => (l?.made ? 'made' : l?.state)) : [''];
  return state.about.actions.filter((a) => a.on === c.kind && (!a.if || states.some((s) => a.if.includes(s))));
}

// whyNot says why the buttons for what is chosen do nothing; empty if they work.
function whyNot() {
  if (state.session && !state.session.mayOrder) return state.session.reason || 'This page shows, and takes no orders.';
  const c = state.chosen;
  if (c?.kind === 'group') return refusal(state.groups.get(c.key));
  return c?.kind === 'member' && state.about.self ? refusalOf(c.names) : '';
}

// refusalOf says why members cannot be drained from the page of an agent; empty if they can.
function refusalOf(names) {
  if (names.length > 1) return 'Members are drained one after the other: choose one.';
  const m = state.members.get(names[0]);
  if (m?.role) return `${m.name} is ${m.role === 'witness' ? 'a witness' : 'an observer'}: it never leads, so there is nothing to drain.`;
  if (m?.state !== 'up') return `${names[0]} does not answer, and only its own agent can do that.`;
  const forbidden = state.session?.allReason || (m.name !== state.about.self && state.session?.remoteReason);
  return forbidden ? `${forbidden}.` : '';
}

// refusal says why nothing can be done to a group; empty if something can. A leader can give a group up if there is a lease to give up.
function refusal(group) {
  const leader = group?.leaders?.find((l) => !l.local)?.member;
  if (!group || group.mode !== 'quorum') return 'Only the leader of a quorum group can give it up or hand it over.';
  if (!leader) return 'No member leads it.';
  const forbidden = whyNotGroup(group.name, leader);
  return forbidden ? `${forbidden}.` : '';
}

// title says what is chosen.
function title() {
  const c = state.chosen;
  if (c.kind === 'link') return `Link ${c.names.join(' – ')}`;
  if (c.kind === 'group') return `Group ${state.groups.get(c.key)?.name ?? ''}`;
  return c.names.length > 1 ? `Members ${c.names.join(', ')}` : `Member ${c.names[0]}`;
}

function render() {
  const c = state.chosen;
  const list = possible();
  const group = c?.kind === 'group' ? state.groups.get(c.key) : null;
  const not = list.length ? whyNot() : '';
  const want = JSON.stringify([c, list, not, [...state.members.keys()], group?.leaders?.map((l) => l.member), state.about.actions.length]);
  if (want === signature) return;
  signature = want;
  const box = byId('chosen');
  if (!c) {
    const hint = state.about.kind === 'demo' ? 'Choose a member or a link, and break it. Shift chooses several members.'
      : state.playback ? 'Choose a member, a link or a group.' : 'Choose a group in the table, or a member or a link in the picture, to see more of it.';
    box.replaceChildren(el('p', { class: 'hint' }, hint), el('div', { class: 'actions' }, list.map((a) => button(a, undefined, not))), why(not));
    return;
  }
  const can = el('div', { class: 'actions', role: 'group', 'aria-label': `What to do to ${title()}` }, list.flatMap((a) => buttons(a, group, not)));
  const more = c.kind === 'member' && el('label', { class: 'hint' }, el('input', { type: 'checkbox', id: 'several', checked: state.several, onchange: (e) => { state.several = e.target.checked; } }), ' choose more');
  box.replaceChildren(el('div', { class: 'head' }, el('strong', {}, title()), more), list.length ? can : el('p', { class: 'hint' }, noOrders(c)), why(not));
}

// noOrders says why there are no buttons for what is chosen.
function noOrders(c) {
  if (!state.about.actions.length) return 'This page shows, and takes no orders.';
  const members = state.about.actions.some((a) => a.on === 'member');
  return c.kind === 'member' && !members ? 'On an engine the page has no orders for members.' : `There are no orders for this here: choose a group${members ? ' or a member' : ''}.`;
}

const why = (text) => (text ? el('p', { class: 'why-not', id: 'why-not' }, text) : '');

function buttons(a, group, not) {
  if (a.verb === 'transfer') {
    const leader = group?.leaders?.find((l) => !l.local)?.member;
    return [...state.members.keys()].filter((n) => n !== leader).map((n) => button({ ...a, label: `${a.label} ${n}`, key: '' }, n, not));
  }
  return [button(a, undefined, not)];
}

function button(a, to, not) {
  return el('button', { type: 'button', class: a.grave ? 'grave' : '', title: a.help ?? '', disabled: Boolean(not), 'aria-describedby': not ? 'why-not' : null, data: { verb: a.verb, to: to ?? '' }, onclick: () => perform(a, to) },
    a.label, a.key ? el('kbd', {}, a.key) : null);
}

async function perform(a, to) {
  const c = state.chosen;
  const body = { verb: a.verb };
  if (c?.kind === 'group') {
    const g = state.groups.get(c.key);
    Object.assign(body, { group: g.name, mode: g.mode, to, token: g.leaders?.find((l) => !l.local)?.token });
  } else if (c) body.members = c.names;
  if (a.confirm && !(await confirmed(a, body))) return;
  try {
    const said = await command(body);
    if (said) toast(said);
  } catch (error) {
    toast(error.message, true);
  }
}

// confirmed asks a person whether they want what they asked for.
function confirmed(a, body) {
  const box = byId('confirm');
  if (box.open) return false;
  byId('confirm-text').textContent = a.confirm.replace('{what}', () => body.group ?? body.members.join(', ')).replace('{to}', () => body.to);
  byId('confirm-yes').textContent = `${a.label} ${body.to ?? ''}`.trim();
  box.returnValue = '';
  box.showModal();
  byId('confirm-no').focus();
  return new Promise((answer) => {
    box.addEventListener('close', () => answer(box.returnValue === 'yes'), { once: true });
  });
}

// key does by the keyboard what the buttons do.
function key(e) {
  if (byId('confirm').open || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, select, textarea')) return;
  if (e.key === 'Escape') {
    choose(null);
    return;
  }
  if (e.key === '/') {
    byId('search').focus();
    e.preventDefault();
    return;
  }
  // A member that has the focus need not be chosen first.
  if (!state.chosen && document.activeElement?.dataset?.member) choose({ kind: 'member', names: [document.activeElement.dataset.member] });
  const a = possible().find((p) => p.key === e.key && p.verb !== 'transfer');
  if (a) {
    e.preventDefault();
    const not = whyNot();
    if (not) toast(not, true);
    else perform(a);
  }
}


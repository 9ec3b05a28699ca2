// The page of the demonstration: it asks for the state twice in a second, and for the picture once.

const byId = (id) => document.getElementById(id);
const tiles = new Map();
const rows = new Map();
const side = 4;

function make(tag, set = {}, ...children) {
  const node = document.createElement(tag);
  Object.assign(node, set);
  node.append(...children);
  return node;
}

async function act(verb, member) {
  const answer = await fetch('../api/do', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ verb, members: [member] }) });
  const said = await answer.json().catch(() => ({}));
  byId('failed').textContent = answer.ok ? '' : said.error ?? `${verb} ${member}: the server answered ${answer.status}`;
  refresh();
}

function tile(t) {
  if (!tiles.has(t.key)) {
    const canvas = make('canvas', { width: 16, height: 16 });
    const frame = make('b');
    const shares = make('i', { className: 'shares' });
    const node = make('div', { className: 'tile' }, canvas, make('span', {}, frame, shares));
    tiles.set(t.key, { node, canvas, frame, shares });
    byId('tiles').append(node);
  }
  return tiles.get(t.key);
}

function row(m, i) {
  if (!rows.has(m.name)) {
    const state = make('td');
    const owns = make('td', { className: 'number' });
    const keeps = make('td', { className: 'number' });
    const verbs = make('td');
    for (const verb of ['crash', 'start', 'pause', 'resume', 'cut', 'heal']) {
      verbs.append(make('button', { type: 'button', textContent: verb, onclick: () => act(verb, m.name), ariaLabel: `${verb} ${m.name}` }));
    }
    const node = make('tr', { className: `c${i % 9}` }, make('td', { className: 'name', textContent: m.name }), state, owns, keeps, verbs);
    rows.set(m.name, { state, owns, keeps });
    byId('crew').tBodies[0].append(node);
  }
  return rows.get(m.name);
}

const sentences = {
  begin: (e) => `begins ${e.key}`,
  resume: (e) => `goes on with ${e.key} from frame ${e.step}`,
  wait: (e) => `waits for shares of ${e.key}, frame ${e.step}`,
  view: (e) => e.text,
  recovered: () => 'reports the view recovered',
  founded: () => 'knows that all tiles are safe in this view',
  failed: (e) => `${e.key ?? ''} ${e.text}`,
};

function show(s) {
  s.tiles.forEach((t) => {
    const n = tile(t);
    const owner = s.members[t.owner]?.name;
    n.node.className = `tile ${owner ? `c${t.owner % 9}` : 'c-none orphan'}`;
    n.frame.textContent = owner ? `${owner} · ${t.step}` : 'no owner';
    n.shares.textContent = owner ? `safe to ${t.complete} on ${t.shares} disks` : '';
  });
  s.members.forEach((m, i) => {
    const n = row(m, i);
    n.state.textContent = !m.answers ? 'no answer' : m.in ? 'in the group' : 'out';
    n.state.className = !m.answers ? 'gone' : m.in ? 'in' : 'out';
    n.owns.textContent = m.answers ? m.tiles : '';
    n.keeps.textContent = m.answers ? m.keeps : '';
  });
  byId('summary').textContent = `Any ${s.data} of ${s.members.length} shares give a tile back. ${s.tolerates} members may fail at once. A border has the colour of its owner.`;
  byId('events').replaceChildren(...s.log.filter((e) => e.what !== 'founded').map((e) => make('li', {},
    make('time', { textContent: new Date(e.at).toLocaleTimeString() }), `${e.member}: ${(sentences[e.what] ?? ((x) => x.what))(e)}`)));
}

async function refresh() {
  try {
    show(await (await fetch('state')).json());
    document.body.dataset.connection = 'live';
    byId('connection').textContent = 'live';
  } catch {
    document.body.dataset.connection = 'lost';
    byId('connection').textContent = 'connection lost';
  }
}

function draw() {
  const image = new Image();
  image.onload = () => {
    [...tiles.values()].forEach((t, i) => {
      const edge = image.width / side;
      t.canvas.width = t.canvas.height = edge;
      t.canvas.getContext('2d').drawImage(image, (i % side) * edge, Math.floor(i / side) * edge, edge, edge, 0, 0, edge, edge);
    });
  };
  image.src = `picture.png?${Date.now()}`;
}

refresh().then(draw);
setInterval(refresh, 500);
setInterval(draw, 1000);

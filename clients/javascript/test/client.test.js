// The client against an agent in the hands of a test.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { AgentGone, Refused, connect } from "../src/index.js";
import { Events } from "../src/http.js";

const HOUR = 3_600_000_000_000;
const PATIENCE = 30_000;

/** One connection of an agent. */
async function fakeAgent(t, hello = {}) {
  const directory = mkdtempSync(join(tmpdir(), "regent-"));
  const path = join(directory, "s");
  const server = net.createServer();
  await new Promise((resolve) => server.listen(path, resolve));
  const connected = new Promise((resolve) => server.once("connection", resolve));
  const connecting = connect(path);
  const socket = await connected;
  const requests = [];
  let wake = () => {};
  let rest = "";
  socket.on("data", (data) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop();
    requests.push(...lines.map((line) => JSON.parse(line)));
    wake();
  });
  const agent = {
    say: (event, fields) => socket.write(JSON.stringify({ event, ...fields }) + "\n"),
    write: (text) => socket.write(text),
    /** The next request of a kind. */
    async hear(verb) {
      for (;;) {
        const request = requests.shift();
        if (request?.do === verb) return request;
        if (request) continue;
        await new Promise((resolve, reject) => {
          const timer = setTimeout(() => reject(new Error(`the client never wrote ${verb}`)), PATIENCE);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
  };
  t.after(() => {
    socket.destroy();
    server.close();
    rmSync(directory, { recursive: true });
  });
  await agent.hear("hello");
  agent.say("hello", { version: 1, member: "a", lease_ns: 5_000_000_000, guard_ns: 20_000_000, ...hello });
  return { agent, client: await connecting };
}

test("a leadership begins with the answer to a question, and not with the line that grants it", async (t) => {
  const { agent, client } = await fakeAgent(t);
  const waiting = client.campaign("g", { heartbeat: 0 });
  const { id } = await agent.hear("campaign");
  agent.say("leads", { id, token: 7, until_ns: HOUR, remaining_ns: HOUR });
  const question = await agent.hear("alive");
  let won = false;
  waiting.then(() => (won = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(won, false);
  agent.say("until", { id: question.id, ids: [id], remaining_ns: HOUR });
  const lease = await waiting;
  assert.equal(lease.token, 7);
});

test("a lease that came too late is given back, and the program campaigns again", async (t) => {
  const { agent, client } = await fakeAgent(t);
  const waiting = client.campaign("g", { heartbeat: 0 });
  const first = await agent.hear("campaign");
  agent.say("leads", { id: first.id, token: 7, remaining_ns: HOUR });
  agent.say("until", { id: (await agent.hear("alive")).id, ids: [first.id] });
  const resign = await agent.hear("resign");
  assert.equal(resign.of, first.id);
  agent.say("over", { id: first.id, cause: { why: "resigned", member: "a" } });
  agent.say("done", { id: resign.id });
  const second = await agent.hear("campaign");
  agent.say("leads", { id: second.id, token: 8 });
  agent.say("until", { id: (await agent.hear("alive")).id, ids: [second.id], remaining_ns: HOUR });
  assert.equal((await waiting).token, 8);
});

test("silence while it waits makes it campaign again; refusals and the end of the agent are told apart", async (t) => {
  const { agent, client } = await fakeAgent(t);
  let waiting = client.campaign("g");
  agent.say("over", { id: (await agent.hear("campaign")).id, cause: { why: "unhealthy", member: "a" } });
  agent.say("error", { id: (await agent.hear("campaign")).id, error: "uid 1 may not lead g" });
  await assert.rejects(waiting, Refused);
  waiting = client.campaign("g");
  agent.say("over", { id: (await agent.hear("campaign")).id, cause: { why: "closed", member: "a" } });
  await assert.rejects(waiting, AgentGone);
});

test("a campaign that is cancelled is withdrawn", async (t) => {
  const { agent, client } = await fakeAgent(t);
  const stop = new AbortController();
  const led = (async () => {
    for await (const lease of client.lead("g", { signal: stop.signal })) assert.fail(`leads ${lease.group}`);
  })();
  const { id } = await agent.hear("campaign");
  stop.abort();
  assert.equal((await agent.hear("resign")).of, id);
  await led;
});

test("nonsense of the agent ends what it granted", async (t) => {
  const { agent, client } = await fakeAgent(t);
  const waiting = client.campaign("g", { heartbeat: 0 });
  const { id } = await agent.hear("campaign");
  agent.say("leads", { id, token: 7 });
  agent.say("until", { id: (await agent.hear("alive")).id, ids: [id], remaining_ns: HOUR });
  const lease = await waiting;
  const stopped = new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
  agent.write("nonsense\n");
  await stopped;
  assert.equal(lease.cause.why, "agent gone");
  await assert.rejects(client.view("g"), AgentGone);
});

test("a transfer that is refused leaves the leadership, unless it was begun", async (t) => {
  const { agent, client } = await fakeAgent(t);
  const waiting = client.campaign("g", { heartbeat: 0 });
  const { id } = await agent.hear("campaign");
  agent.say("leads", { id, token: 7 });
  agent.say("until", { id: (await agent.hear("alive")).id, ids: [id], remaining_ns: HOUR });
  const lease = await waiting;
  for (const begun of [false, true]) {
    const outcome = lease.transfer("b");
    outcome.catch(() => {});
    const request = await agent.hear("transfer");
    assert.equal(lease.valid, false);
    agent.say("error", { id: request.id, error: "no", begun });
    await assert.rejects(outcome, Refused);
    assert.equal(lease.signal.aborted, begun);
  }
});

test("server-sent events are read whole", () => {
  const events = new Events();
  assert.deepEqual(events.feed(Buffer.from('event: waiting\nda')), []);
  assert.deepEqual(events.feed(Buffer.from('ta: {"session":"s"}\n\n: still here\n\nevent: over\ndata: {}\n\n')), [
    { event: "waiting", session: "s" },
    { event: "over" },
  ]);
});

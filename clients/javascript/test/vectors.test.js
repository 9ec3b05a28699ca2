// The test vectors that clients of all languages share.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Deadline, allowed } from "../src/deadline.js";
import * as client from "../src/index.js";
import { Lines, NoLeader, NotLeader, Refused, VERSION, causeOf, checkHello, encode, failureOf, ms, viewOf } from "../src/protocol.js";

const vectors = JSON.parse(readFileSync(new URL("../../testdata/session.json", import.meta.url)));
const read = (line) => new Lines().feed(Buffer.from(line + "\n"))[0];

test("version", () => assert.equal(VERSION, vectors.version));

test("requests", () => {
  for (const v of vectors.requests) assert.deepEqual(JSON.parse(encode(v.do, v.fields)), JSON.parse(v.line));
});

test("hellos", () => {
  for (const v of vectors.hellos) {
    if (v.accepted) checkHello(read(v.line));
    else assert.throws(() => checkHello(read(v.line)), client.RegentError, v.line);
  }
});

test("events", () => {
  const failures = { refused: Refused, "not leader": NotLeader, "no leader": NoLeader };
  for (const v of vectors.events) {
    const event = read(v.line);
    if (v.token) assert.equal(event.token, v.token);
    if (v.cause) assert.deepEqual(causeOf(event.cause), { why: v.cause.why, member: v.cause.member, bound: ms(v.cause.bound_ns) });
    if (v.view) {
      const view = viewOf(event.view);
      for (const name of ["group", "mode", "leader", "token", "value", "support"]) assert.deepEqual(view[name], v.view[name], name);
      for (const name of ["number", "members", "failed", "recover"]) assert.deepEqual(view.agreement?.[name], v.view[name], name);
    }
    assert.equal(failureOf(event)?.constructor, failures[v.failure], v.line);
  }
});

test("framing", () => {
  for (const v of vectors.framing) {
    const lines = new Lines();
    let seen = 0;
    try {
      for (const chunk of v.chunks) seen += lines.feed(Buffer.from(chunk)).length;
    } catch (error) {
      assert.ok(error instanceof client.AgentGone, v.about);
      seen = "error";
    }
    assert.equal(seen, v.events, v.about);
  }
});

test("lines are bounded", () => {
  const lines = new Lines();
  assert.throws(() => {
    for (let i = 0; i < 33; i++) lines.feed(Buffer.alloc(1 << 15, "x"));
  }, client.AgentGone);
});

const close = (got, want, what) => assert.ok(Math.abs(got - ms(want)) < 1e-3, `${what}: ${got}, want ${ms(want)}`);

test("allowance", () => {
  for (const v of vectors.allowance) close(allowed(ms(v.valid_for_ns), ms(v.guard_ns)), v.counts_ns, "allowance");
});

test("counted deadlines", () => {
  for (const v of vectors.counted_deadlines) {
    const d = new Deadline();
    for (const step of v.steps) {
      if (step.asked_ns) d.answer(step.asked_ns.map(ms), ms(step.answer_ns));
      else if (step.freeze) d.freeze();
      else if (step.end) d.end();
      else {
        const now = step.now_ns.map(ms);
        close(d.remaining(now), step.remaining_ns, v.about);
        close(d.untilStop(now), step.until_stop_ns, v.about);
      }
    }
  }
});

test("the declaration of types has what is exported, and nothing else", () => {
  const text = readFileSync(new URL("../src/index.d.ts", import.meta.url), "utf8");
  const declared = [...text.matchAll(/^export (?:declare )?(?:class|function) (\w+)/gm)].map((m) => m[1]);
  assert.deepEqual(declared.sort(), Object.keys(client).sort());
  const has = (name) => [...text.match(new RegExp(`export class ${name}[^{]*\\{([\\s\\S]*?)\\n\\}`))[1].matchAll(/^  (?:readonly |static )?(\w+)[(:?]/gm)].map((m) => m[1]);
  for (const name of ["Lease", "Client", "HTTPClient", "Proof"]) {
    for (const member of has(name)) {
      if (member === "constructor") continue;
      const source = readFileSync(new URL(`../src/${{ Lease: "lease", HTTPClient: "http" }[name] ?? "client"}.js`, import.meta.url), "utf8") + readFileSync(new URL("../src/client.js", import.meta.url), "utf8");
      assert.match(source, new RegExp(`(^  (get |async \\*?|static async )?${member}(\\(| =|;)|this\\.${member} = )`, "m"), `${name}.${member}`);
    }
  }
});

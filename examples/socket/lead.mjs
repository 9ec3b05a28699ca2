#!/usr/bin/env node
// Lead a group through the agent of this host, with the client in clients/javascript.
//
// usage: lead.mjs SOCKET GROUP [quorum|local|eventual|consistent]
//
// It campaigns, works while it leads, and resigns at SIGTERM or SIGINT. Each line on standard output is one step of that. The exit status is 0 after a clean end
// and 1 if the program had to stop because its deadline passed or the agent was lost.
//
// What a real program changes: work() does a little work and returns, and recover() recovers what failed members lost.

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../clients/javascript/src/index.js"; // installed: "@regentproject/client"

const say = (...words) => console.log(...words);

/** Orders to others bear the token, so that they can refuse those of a leader of the past. */
async function work(token, signal) {
  await sleep(50, undefined, { signal }).catch(() => {});
}

function recover(agreement) {
  say("recovers", ...agreement.failed, ...agreement.unfinished);
}

/** Takes note of what the members of a consistent group agree on. */
async function follow(lease) {
  for await (const view of lease.agreements()) {
    say("agreed", ...view.agreement.members);
    if (view.agreement.recover) {
      recover(view.agreement);
      await lease.recovered(view).catch((refused) => say("refused:", refused.message)); // such as the report of a recovery that came too late
    }
  }
}

const [path, group, mode = "quorum"] = process.argv.slice(2);
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stop.abort());
try {
  const agent = await connect(path);
  say("waits");
  let lost = false;
  for await (const lease of agent.lead(group, { mode, name: "lead.mjs", signal: stop.signal })) {
    say("leads", group, "token", lease.token);
    if (mode === "consistent") follow(lease);
    while (!lease.signal.aborted) await work(lease.token, lease.signal);
    say("stops:", lease.cause.why);
    lost = ["lease expired", "agent gone"].includes(lease.cause.why);
    break;
  }
  await agent.close();
  if (!lost) say("ended");
  process.exitCode = lost ? 1 : 0;
} catch (error) {
  say("stops:", error.message);
  process.exitCode = 1;
}

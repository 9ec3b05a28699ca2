// The client as agent/conformance drives it: commands come on standard input, one on a line, and answers go to standard output.
// clients/python/conformance/harness.py lists the commands.
//
// usage: harness.js socket|http ADDRESS

import { writeSync } from "node:fs";
import readline from "node:readline";
import { connect, connectHTTP } from "../src/index.js";

function say(...words) {
  writeSync(1, words.join(" ").replaceAll("\n", " ") + "\n");
}

const [transport, address] = process.argv.slice(2);
const agent = await (transport === "http" ? connectHTTP(address) : connect(address));
let lease = null;
let resigning = false;
let release = () => {};
let ended = Promise.resolve();

async function lead(group, mode, value) {
  try {
    for await (const won of agent.lead(group, { mode, value: value === "-" ? "" : value, name: "harness" })) {
      lease = won;
      resigning = false;
      say("leads", lease.token, lease.member);
      const released = new Promise((resolve) => (release = resolve));
      won.signal.addEventListener("abort", () => resigning || say("lost", won.cause.why, won.cause.member));
      if (mode === "consistent") follow(won).catch((error) => say("error", error.message));
      await released;
      break;
    }
  } catch (error) {
    say("error", error.message);
  }
}

async function follow(won) {
  for await (const view of won.agreements()) {
    say("agreed", view.agreement.number, ...view.agreement.members);
    if (view.agreement.recover) {
      say("recovers", ...view.agreement.failed, ...view.agreement.unfinished);
      await won.recovered(view);
    }
  }
}

const commands = {
  lead(group, mode, value) {
    ended = lead(group, mode, value);
  },
  valid: () => say("valid", lease.valid),
  remaining: () => say("remaining", lease.remaining / 1000),
  confirm: async () => say("confirmed", (await lease.confirm()) / 1000),
  async announce(value) {
    await lease.announce(value);
    say("announced");
  },
  edict: async () => say("edict", await lease.edict()),
  async "can-transfer"(to) {
    await lease.canTransfer(to);
    say("can-transfer");
  },
  async transfer(to) {
    resigning = true;
    await lease.transfer(to);
    say("transferred");
  },
  async view(group) {
    const view = await agent.view(group);
    say("view", view.leader || "-", view.token, view.value || "-");
  },
  async verify(group) {
    const proof = await agent.verify(group);
    say("proof", proof.leader, proof.token, proof.value || "-", proof.valid);
  },
  async resign() {
    resigning = true;
    release();
    await ended;
    say("resigned");
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [command, ...words] = line.split(" ");
  try {
    await commands[command](...words);
  } catch (error) {
    say("error", error.message);
  }
}
await agent.close();
process.exit(0);

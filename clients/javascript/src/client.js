// A program's connection to the agent of its host, on the unix socket.

import net from "node:net";
import { elapsed, now } from "./deadline.js";
import { Lease, defaultHeartbeat } from "./lease.js";
import { AgentGone, Lines, NotLeader, RegentError, checkHello, encode, failureOf, ms, ns, tokenOf, viewOf } from "./protocol.js";

const DEFAULT_SOCKET = "/run/regent/regent.sock";
const ANSWER_TIMEOUT = 15_000;
const BYE_TIMEOUT = 2_000;

/** A proof of who leads a group. */
export class Proof {
  #asked;
  #valid;

  constructor(asked, data, valid) {
    this.group = data.group ?? "";
    this.leader = data.leader ?? "";
    this.token = tokenOf(data);
    this.value = data.value ?? "";
    this.#asked = asked;
    this.#valid = valid;
  }

  /** Whether the proof holds now. */
  get valid() {
    return this.remaining > 0;
  }

  /** For how many milliseconds it holds, counted from the question. */
  get remaining() {
    return Math.max(0, this.#valid - elapsed(this.#asked, now()));
  }
}

/** What clients over every transport have in common. */
export class Campaigns {
  /** Waits until this program leads. */
  async campaign(group, options = {}) {
    const { signal } = options;
    for (;;) {
      signal?.throwIfAborted();
      const lease = await this.enter(group, options);
      const cancel = () => {
        lease.withdraw(signal.reason);
        this.resign(lease).catch(() => {});
      };
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
      let won;
      try {
        won = await lease.settled;
      } finally {
        signal?.removeEventListener("abort", cancel);
      }
      if (!won) continue;
      if (signal) {
        const stop = () => lease.askToStop();
        signal.addEventListener("abort", stop, { once: true });
        lease.signal.addEventListener("abort", () => signal.removeEventListener("abort", stop), { once: true });
        if (signal.aborted) stop();
      }
      return lease;
    }
  }

  /** Yields one leadership after the other. Each ends, and is given up, when the body of the loop does. It ends when its signal aborts. */
  async *lead(group, options = {}) {
    while (!options.signal?.aborted) {
      let lease;
      try {
        lease = await this.campaign(group, options);
      } catch (error) {
        if (options.signal?.aborted) return;
        throw error;
      }
      try {
        yield lease;
      } finally {
        await lease.resign();
      }
    }
  }
}

/** A connection to the agent. */
export class Client extends Campaigns {
  #socket;
  #lines = new Lines();
  #next = 0;
  #questions = new Map();
  #leases = new Map();
  #ids = new Map();
  #watches = new Map();
  #gone = null;
  #closed;

  /** The name of the agent's member. */
  member = "";
  /** What the agent said of itself. */
  hello = null;

  /** Connects to the agent of this host. Without a path: $REGENT_SOCKET, or /run/regent/regent.sock. */
  static async connect(path = process.env.REGENT_SOCKET || DEFAULT_SOCKET, { timeout = 10_000 } = {}) {
    const client = new Client();
    await client.#connect(path, timeout);
    return client;
  }

  #connect(path, timeout) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(path);
      this.#socket = socket;
      const fail = (error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error instanceof RegentError ? error : new AgentGone(`agent at ${path}: ${error.message}`));
      };
      const timer = setTimeout(() => fail(new Error(`no answer within ${timeout} ms`)), timeout);
      this.#closed = new Promise((closed) => socket.once("close", closed));
      socket.once("connect", () => socket.write(encode("hello")));
      socket.on("error", (error) => (this.hello ? this.#lose(error) : fail(error)));
      socket.on("close", () => (this.hello ? this.#lose(new Error("the agent hung up")) : fail(new Error("the agent hung up"))));
      socket.on("data", (data) => {
        try {
          for (const event of this.#lines.feed(data)) {
            if (this.hello) {
              this.#dispatch(event);
              continue;
            }
            checkHello(event);
            clearTimeout(timer);
            this.hello = event;
            this.member = event.member ?? "";
            resolve();
          }
        } catch (error) {
          if (this.hello) this.#lose(error);
          else fail(error);
        }
      });
    });
  }

  /** Says that all that was begun here has stopped, and closes the connection: what was led is given up. */
  async close() {
    if (this.#gone) return;
    for (const lease of this.#leases.values()) lease.withdraw(new AgentGone("the connection was closed"));
    this.#socket.write(encode("bye"));
    const timer = setTimeout(() => this.#socket.destroy(), BYE_TIMEOUT);
    await this.#closed;
    clearTimeout(timer);
  }

  /** What the agent believes about a group. */
  async view(group) {
    return viewOf((await this.#ask("view", { group })).view);
  }

  /** Asks who leads a group, with proof. */
  async verify(group) {
    const asked = now();
    const event = await this.#ask("verify", { group });
    return new Proof(asked, event, ms(event.remaining_ns));
  }

  /** Yields the view of a group, and every change of it. */
  async *watch(group, { signal } = {}) {
    const events = [];
    let wake = () => {};
    this.#mustBeOpen();
    const id = ++this.#next;
    this.#watches.set(id, (event) => {
      events.push(event);
      wake();
    });
    const stop = () => wake();
    signal?.addEventListener("abort", stop);
    try {
      this.#send("watch", { id, group });
      while (!signal?.aborted) {
        if (events.length === 0) await new Promise((resolve) => (wake = resolve));
        const event = events.shift();
        if (event === undefined) continue;
        if (event.event === "gone") throw this.#gone;
        const error = failureOf(event);
        if (error) throw error;
        yield viewOf(event.view);
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      this.#watches.delete(id);
      if (!this.#gone) this.#send("unwatch", { id: ++this.#next, of: id });
    }
  }

  // What leases use.

  enter(group, { mode = "quorum", value, lease = 0, heartbeat, grace, name }) {
    this.#mustBeOpen();
    const length = lease || ms(this.hello.lease_ns);
    const silence = heartbeat ?? defaultHeartbeat(length);
    const entered = new Lease(this, { group, mode, member: this.member, heartbeat: silence });
    const id = ++this.#next;
    this.#leases.set(id, entered);
    this.#ids.set(entered, id);
    this.#send("campaign", {
      id, group, mode: mode === "quorum" ? "" : mode, value, lease_ns: ns(lease), heartbeat_ns: ns(silence), grace_ns: ns(grace), name,
    });
    return entered;
  }

  async question(lease) {
    return ms((await this.#of("alive", lease)).remaining_ns);
  }

  async resign(lease) {
    if (this.#ids.has(lease)) await this.#of("resign", lease);
  }

  async announce(lease, value) {
    await this.#of("announce", lease, { value });
  }

  async edict(lease) {
    return (await this.#of("edict", lease)).stamp ?? "";
  }

  async transfer(lease, to, ask) {
    await this.#of("transfer", lease, { to, ask });
  }

  async recovered(lease, token, number) {
    await this.#of("recovered", lease, { token, number });
  }

  // Lines.

  #mustBeOpen() {
    if (this.#gone) throw this.#gone;
  }

  #send(verb, fields) {
    this.#socket.write(encode(verb, fields));
  }

  #of(verb, lease, fields) {
    const of = this.#ids.get(lease);
    if (of === undefined) return Promise.reject(new NotLeader("the leadership is over"));
    return this.#ask(verb, { of, ...fields });
  }

  async #ask(verb, fields) {
    this.#mustBeOpen();
    const id = ++this.#next;
    let timer;
    try {
      const event = await new Promise((resolve, reject) => {
        this.#questions.set(id, { resolve, reject });
        timer = setTimeout(() => reject(new RegentError(`the agent does not answer ${verb} within ${ANSWER_TIMEOUT / 1000} s`)), ANSWER_TIMEOUT);
        this.#send(verb, { id, ...fields });
      });
      const error = failureOf(event);
      if (error) throw error;
      return event;
    } finally {
      clearTimeout(timer);
      this.#questions.delete(id);
    }
  }

  #dispatch(event) {
    const id = event.id ?? 0;
    if (!id && event.event === "error") throw new AgentGone(event.error ?? "");
    for (const of of new Set([...(event.ids ?? []), id])) this.#leases.get(of)?.take(event);
    const lease = this.#leases.get(id);
    if (lease && (event.event === "over" || event.event === "error")) {
      this.#leases.delete(id);
      this.#ids.delete(lease);
    }
    this.#watches.get(id)?.(event);
    this.#questions.get(id)?.resolve(event);
  }

  #lose(error) {
    if (this.#gone) return;
    this.#gone = error instanceof AgentGone ? error : new AgentGone(`the connection to the agent is lost: ${error.message}`);
    this.#socket.destroy();
    for (const lease of this.#leases.values()) lease.lostAgent(this.#gone);
    for (const question of this.#questions.values()) question.reject(this.#gone);
    this.#leases.clear();
    this.#ids.clear();
    for (const watch of this.#watches.values()) watch({ event: "gone" });
  }
}

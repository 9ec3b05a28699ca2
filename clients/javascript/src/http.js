// A program's side of the agent's HTTP interface. The program may run on another host.
//
// A campaign is a stream of server-sent events. What its events say of the deadline does not count: they may have been on their way for any length of
// time. The deadline is the answer to POST .../alive, counted from when that was sent.

import http from "node:http";
import https from "node:https";
import { Campaigns, Proof } from "./client.js";
import { allowed, now } from "./deadline.js";
import { Lease, defaultHeartbeat } from "./lease.js";
import { AgentGone, NoLeader, NotLeader, Refused, RegentError, ms, ns, viewOf } from "./protocol.js";

const ANSWER_TIMEOUT = 15_000;

/** Reads server-sent events. */
export class Events {
  #rest = "";
  #decoder = new TextDecoder();
  #name = "";
  #data = "";

  /** Returns the events that are complete now. */
  feed(chunk) {
    const events = [];
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop();
    for (const raw of lines) {
      const line = raw.replace(/\r$/, "");
      if (line.startsWith("event:")) this.#name = line.slice(6).trim();
      else if (line.startsWith("data:")) this.#data += line.slice(5).trim();
      else if (line === "" && this.#data) {
        events.push({ ...JSON.parse(this.#data), event: this.#name });
        this.#name = this.#data = "";
      }
    }
    return events;
  }
}

/** A client of the agent's HTTP interface. */
export class HTTPClient extends Campaigns {
  #to;
  #token;
  #url;
  #guard = 0;
  #length = 0;
  #streams = new Map();

  /** Takes http://HOST:PORT, https://HOST:PORT, or unix:PATH. token is a bearer token; tls are options of node:tls. */
  static async connect(url, { token = "", tls = {} } = {}) {
    const client = new HTTPClient(url, token, tls);
    const { timing } = await client.#ask("GET", "/v1/status");
    client.#guard = ms(timing?.guard_ns);
    client.#length = ms(timing?.lease_ns);
    return client;
  }

  constructor(url, token, tls) {
    super();
    this.#url = url;
    this.#token = token;
    const parts = new URL(url);
    if (parts.protocol === "unix:") this.#to = { module: http, socketPath: parts.pathname };
    else if (parts.protocol === "http:" || parts.protocol === "https:") {
      this.#to = { ...tls, module: parts.protocol === "https:" ? https : http, host: parts.hostname.replace(/^\[|\]$/g, ""), port: parts.port };
    } else throw new TypeError(`url ${url}: must begin with http://, https:// or unix:`);
  }

  /** Resigns what this program leads, and ends its campaigns. */
  async close() {
    for (const lease of [...this.#streams.keys()]) {
      lease.withdraw(new AgentGone("the client was closed"));
      await this.resign(lease).catch(() => {});
    }
  }

  /** What the agent believes about a group. */
  async view(group) {
    return viewOf(await this.#ask("GET", `/v1/groups/${encodeURIComponent(group)}`));
  }

  /** Asks who leads a group, with proof. */
  async verify(group) {
    const asked = now();
    try {
      const data = await this.#ask("GET", `/v1/groups/${encodeURIComponent(group)}/verify`);
      return new Proof(asked, data, allowed(ms(data.valid_for_ns), 0));
    } catch (error) {
      throw error.status === 503 ? new NoLeader(error.message) : error;
    }
  }

  // What leases use.

  enter(group, { mode = "quorum", value, lease = 0, heartbeat, grace, name }) {
    const length = lease || this.#length;
    const silence = heartbeat ?? defaultHeartbeat(length);
    const entered = new Lease(this, { group, mode, member: "", heartbeat: silence });
    const fields = { mode: mode === "quorum" ? "" : mode, value, lease_ns: ns(lease), heartbeat_ns: ns(silence), grace_ns: ns(grace), name };
    const body = Object.fromEntries(Object.entries(fields).filter(([, v]) => v));
    const stream = { session: "", request: null, named: null };
    stream.named = new Promise((resolve) => (stream.name = resolve));
    this.#streams.set(entered, stream);
    this.#read(entered, stream, group, body);
    return entered;
  }

  #read(lease, stream, group, body) {
    const lose = (error) => {
      this.#streams.delete(lease);
      stream.name("");
      lease.lostAgent(error instanceof RegentError ? error : new AgentGone(`the connection to the agent is lost: ${error.message}`));
    };
    stream.request = this.#request("POST", `/v1/groups/${encodeURIComponent(group)}/campaign`, body, (answer) => {
      if (answer.statusCode !== 200) {
        refusalOf(answer).then(lose, lose);
        return;
      }
      const events = new Events();
      answer.on("data", (chunk) => {
        try {
          for (const event of events.feed(chunk)) this.#take(lease, stream, event);
        } catch (error) {
          stream.request.destroy();
          lose(error);
        }
      });
      answer.on("error", lose);
      answer.on("close", () => this.#streams.has(lease) && lose(new Error("the agent hung up")));
    });
    stream.request.on("error", lose);
  }

  #take(lease, stream, event) {
    if (event.session && !stream.session) {
      stream.session = event.session;
      stream.name(event.session);
    }
    lease.member = event.member ?? lease.member;
    const over = event.event === "over";
    if (over) this.#streams.delete(lease);
    lease.take({ ...event, event: over && event.error ? "error" : event.event, member: event.back });
    if (over) stream.request.destroy();
  }

  async question(lease) {
    const stream = this.#streams.get(lease);
    if (!stream?.session) throw new NotLeader("the leadership is over");
    const data = await this.#ask("POST", `/v1/sessions/${stream.session}/alive`);
    return allowed(ms(data.valid_for_ns), this.#guard);
  }

  async resign(lease) {
    const stream = this.#streams.get(lease);
    if (!stream) return;
    const session = await stream.named;
    this.#streams.delete(lease);
    try {
      if (session) await this.#ask("POST", `/v1/sessions/${session}/resign`);
    } catch (error) {
      if (error.status !== 404) throw error; // it is over already
    } finally {
      stream.request.destroy();
    }
  }

  async announce(lease, value) {
    const stream = this.#streams.get(lease);
    if (!stream) throw new NotLeader("the leadership is over");
    await this.#ask("POST", `/v1/sessions/${stream.session}/announce`, { value });
  }

  async edict(lease) {
    return (await this.#ask("POST", `/v1/groups/${encodeURIComponent(lease.group)}/edict`, { token: lease.token })).stamp ?? "";
  }

  async transfer() {
    const error = new Refused("a program hands its group over on the unix socket only (over HTTP an operator orders it)");
    error.begun = false;
    throw error;
  }

  async recovered() {
    throw new Refused("programs take part in consistent groups on the unix socket only");
  }

  // Requests.

  #request(method, path, body, take) {
    const { module, ...to } = this.#to;
    const headers = {};
    if (this.#token) headers.authorization = `Bearer ${this.#token}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    const request = module.request({ ...to, agent: false, method, path, headers }, take);
    request.end(body === undefined ? undefined : JSON.stringify(body));
    return request;
  }

  #ask(method, path, body) {
    return new Promise((resolve, reject) => {
      const fail = (error) => reject(error instanceof RegentError ? error : new AgentGone(`agent at ${this.#url}: ${error.message}`));
      const request = this.#request(method, path, body, (answer) => {
        if (answer.statusCode !== 200) refusalOf(answer).then(fail, fail);
        else bodyOf(answer).then((text) => resolve(JSON.parse(text))).catch(fail);
      });
      request.setTimeout(ANSWER_TIMEOUT, () => request.destroy(new Error(`no answer within ${ANSWER_TIMEOUT / 1000} s`)));
      request.on("error", fail);
    });
  }
}

async function bodyOf(answer) {
  const chunks = [];
  for await (const chunk of answer) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function refusalOf(answer) {
  let text = "";
  try {
    text = JSON.parse(await bodyOf(answer)).error;
  } catch {
    // it is no agent's
  }
  const error = new Refused(text || `the agent answers ${answer.statusCode} ${answer.statusMessage}`);
  error.status = answer.statusCode;
  return error;
}

// The lines between a program and its agent, and what is in them. docs/session.md of Regent specifies them.

/** The version of the lines that this client speaks. */
export const VERSION = 1;

/** The longest line that an agent may write, in bytes. */
export const MAX_LINE = 1 << 20;

const NOT_LEADER = "not the leader: the lease is over";

/** What goes wrong between a program and its agent. */
export class RegentError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** The connection to the agent is lost, or the agent is stopping. */
export class AgentGone extends RegentError {}

/** The agent refuses a request. Its text says why. */
export class Refused extends RegentError {}

/** The leadership is over, or was never won. */
export class NotLeader extends RegentError {}

/** The agent could not prove that anyone leads the group now. Asking again may help. */
export class NoLeader extends RegentError {}

/** The program must stop leading. It is the reason of a lease's signal. */
export class LeadershipLost extends RegentError {
  constructor(cause) {
    super(`${cause.why} ${cause.member}`.trim());
    this.cause = cause;
  }
}

/** Milliseconds of nanoseconds. */
export function ms(ns) {
  return (ns ?? 0) / 1e6;
}

/** Nanoseconds of milliseconds, as the agent reads them. */
export function ns(millis) {
  return Math.round((millis ?? 0) * 1e6);
}

export function causeOf(data) {
  return { why: data?.why ?? "unexplained", member: data?.member ?? "", bound: ms(data?.bound_ns) };
}

export function viewOf(data) {
  const a = data?.agreement;
  return {
    group: data?.group ?? "",
    mode: data?.mode ?? "",
    leader: data?.leader ?? "",
    token: tokenOf(data),
    lease: ms(data?.lease_ns),
    value: data?.value ?? "",
    mine: data?.mine ?? false,
    stopping: data?.stopping ?? false,
    support: data?.support ?? [],
    round: data?.round ?? 0,
    agreement: a && {
      number: a.number ?? 0,
      members: a.members ?? [],
      failed: a.failed ?? [],
      joined: a.joined ?? [],
      unfinished: a.unfinished ?? [],
      recover: a.recover ?? false,
      stalled: a.stalled ?? "",
    },
    cause: causeOf(data?.cause),
    at: data?.at ?? "",
    missed: data?.missed ?? 0,
  };
}

/** The token in an object. Numbers of JavaScript have 53 bits: a token that does not fit would not be the leader's. */
export function tokenOf(data) {
  const token = data?.token ?? 0;
  if (!Number.isSafeInteger(token)) throw new RegentError(`token ${token} does not fit a number`);
  return token;
}

/** The error that an event bears, if it bears one. */
export function failureOf(event) {
  if (event.event !== "error") return null;
  const text = event.error ?? "";
  const error = text === NOT_LEADER ? new NotLeader(text) : event.no_leader ? new NoLeader(text) : new Refused(text);
  error.begun = event.begun ?? false;
  return error;
}

/** Writes a request. Fields that are undefined, zero, empty or false are left out, as the agent takes them for absent. */
export function encode(verb, fields = {}) {
  const line = { do: verb };
  for (const [name, value] of Object.entries(fields)) if (value) line[name] = value;
  return JSON.stringify(line) + "\n";
}

/** Cuts what comes from the agent into lines, and reads them. */
export class Lines {
  #rest = Buffer.alloc(0);

  /** Returns the events that are complete now. */
  feed(data) {
    const events = [];
    let all = this.#rest.length ? Buffer.concat([this.#rest, data]) : data;
    for (let end; (end = all.indexOf(10)) >= 0; all = all.subarray(end + 1)) events.push(this.#read(all.subarray(0, end)));
    if (all.length > MAX_LINE) throw new AgentGone(`the agent wrote a line of more than ${MAX_LINE} bytes`);
    this.#rest = all;
    return events;
  }

  #read(line) {
    let event = null;
    if (line.length > MAX_LINE) throw new AgentGone(`the agent wrote a line of more than ${MAX_LINE} bytes`);
    try {
      event = JSON.parse(line.toString());
    } catch {
      // it is refused below
    }
    if (event === null || typeof event !== "object" || Array.isArray(event)) {
      throw new AgentGone(`is no agent: it wrote ${JSON.stringify(line.subarray(0, 60).toString())}`);
    }
    return event;
  }
}

/** Throws if this client cannot speak with the agent. */
export function checkHello(event) {
  if (event.event === "error") throw new Refused(event.error ?? "");
  if (event.event !== "hello") throw new AgentGone(`is no agent: it began with ${JSON.stringify(event.event)}`);
  if (event.version !== VERSION) {
    throw new RegentError(`the agent speaks version ${event.version}, this program ${VERSION}: upgrade the older of the two`);
  }
}

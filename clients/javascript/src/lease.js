// One leadership of this program, over whatever transport.

import { Deadline, elapsed, now } from "./deadline.js";
import { AgentGone, LeadershipLost, NotLeader, causeOf, failureOf, tokenOf, viewOf } from "./protocol.js";

/** How often the deadline is asked for. An answer counts for one second. */
const ASK_EVERY = 400;
const ASK_AT_LEAST = 10;

const DEFAULT_HEARTBEAT = 6000;

const VIEWS_KEPT = 256;

/** How long a program may be silent if it does not say: two leases, at least 6 s. */
export function defaultHeartbeat(lease) {
  return Math.max(DEFAULT_HEARTBEAT, 2 * lease);
}

/**
 * A leadership. Act only while valid is true, and send the token along with every order, so that others can refuse the orders of an earlier leader.
 *
 * A transport has question(lease): how long the leadership lasts in milliseconds, counted from the call; and resign, announce, edict, transfer, recovered.
 */
export class Lease {
  group;
  mode;
  member;
  token = 0;
  turn = 0;
  first = null;

  #transport;
  #deadline = new Deadline();
  #stop = new AbortController();
  #cause = causeOf(null);
  #heartbeat;
  #timer = null;
  #asked = null;
  #asking = false;
  #leads = false; // as the agent reports
  #elected = false; // and the deadline is known
  #settled = false;
  #again = false;
  #over = false;
  #yielding = false;
  #healed = [];
  #views = [];
  #count = 0;
  #waiters = new Set();

  /** Resolves to whether the leadership was won; false: campaign again. It rejects if it never will be. */
  settled;
  #resolve;
  #reject;

  constructor(transport, { group, mode, member, heartbeat }) {
    this.#transport = transport;
    this.group = group;
    this.mode = mode;
    this.member = member;
    this.#heartbeat = heartbeat;
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.settled.catch(() => {}); // a campaign that was cancelled has nobody left to wait for it
  }

  // What a program uses.

  /** Whether the leadership is known to last now. It is false while the last answer of the agent is older than a second. */
  get valid() {
    return this.remaining > 0;
  }

  /** For how many milliseconds the leadership is known to last. */
  get remaining() {
    return this.#elected && !this.#yielding ? this.#deadline.remaining(now()) : 0;
  }

  /** Aborts when the program must stop. Its reason is a LeadershipLost. A blocked event loop aborts it late, and valid is never late. */
  get signal() {
    return this.#stop.signal;
  }

  /** Why the program must stop. */
  get cause() {
    return this.#cause;
  }

  /** Returns the token while the leadership is valid, and throws LeadershipLost otherwise. */
  check() {
    if (!this.valid) throw new LeadershipLost(this.#cause);
    return this.token;
  }

  /** Has a function called with the name of a member that is back. */
  onHealed(call) {
    this.#healed.push(call);
  }

  /** Reports that the program has stopped, and waits until the group is given up. */
  async resign() {
    this.#end({ why: "resigned", member: this.member, bound: 0 });
    try {
      await this.#transport.resign(this);
    } catch (error) {
      if (!(error instanceof AgentGone)) throw error; // without the agent nothing is renewed any more
    }
  }

  /** Asks the agent for how many milliseconds the leadership lasts, counted from the call. */
  async confirm() {
    if (!this.#elected) throw new NotLeader("not the leader yet");
    const asked = now();
    const remaining = await this.#transport.question(this);
    this.#deadline.answer(asked, remaining);
    return Math.max(0, remaining - elapsed(asked, now()));
  }

  /** Changes the value that this leadership bears: at most 256 bytes. */
  async announce(value) {
    this.#mustLead();
    await this.#transport.announce(this, value);
  }

  /** Returns the stamp of an order that is made now. Without a stamp the program must not give the order. */
  async edict() {
    this.#mustLead();
    const stamp = await this.#transport.edict(this);
    this.check();
    return stamp;
  }

  /** Reports that the program has stopped, and hands the group over to a member. If the agent refuses, the program leads on. */
  async transfer(to) {
    this.#mustLead();
    this.#yielding = true;
    const cause = { why: "transferred", member: to, bound: 0 };
    try {
      await this.#transport.transfer(this, to, false);
    } catch (error) {
      if (error.begun ?? true) this.#end(cause);
      else this.#yielding = false;
      throw error;
    }
    this.#end(cause);
  }

  /** Throws the error with which a transfer would be refused now. */
  async canTransfer(to) {
    await this.#transport.transfer(this, to, true);
  }

  /** Yields the present agreement of a consistent group and every later one, until the program must stop. */
  async *agreements() {
    let seen = Math.max(0, this.#count - 1);
    for (;;) {
      if (this.#count > seen) {
        const first = Math.max(seen, this.#count - this.#views.length);
        const view = this.#views[this.#views.length - (this.#count - first)];
        seen = first + 1;
        yield view;
      } else if (this.#stop.signal.aborted) {
        return;
      } else {
        await new Promise((wake) => this.#waiters.add(wake));
      }
    }
  }

  /** Reports that the program has recovered what an agreement asks for. */
  async recovered(view) {
    if (!view.agreement) throw new TypeError("the view has no agreement");
    await this.#transport.recovered(this, view.token, view.agreement.number);
  }

  // What the transport uses.

  #mustLead() {
    if (!this.valid) throw new NotLeader(this.#cause.why);
  }

  /** Acts on an event of the agent about this candidacy. */
  take(event) {
    switch (event.event) {
      case "waiting":
        this.tick();
        break;
      case "leads":
        // What the line says of the deadline does not count: it may have waited for long. The agent is asked.
        this.#leads = true;
        this.token = tokenOf(event);
        this.turn = event.turn ?? 0;
        this.first = event.view ? viewOf(event.view) : null;
        this.#ask();
        break;
      case "stop":
        this.#mustStop(causeOf(event.cause));
        break;
      case "agreed":
        this.#views.push(viewOf(event.view));
        if (this.#views.length > VIEWS_KEPT) this.#views.shift();
        this.#count++;
        this.#wake();
        break;
      case "healed":
        for (const call of this.#healed) call(event.member ?? "");
        break;
      case "over":
      case "error":
        this.#isOver(causeOf(event.cause), failureOf(event));
        break;
    }
  }

  /** Does what is due: asks for the deadline, and has the program stop when it is near. */
  tick() {
    clearTimeout(this.#timer);
    if (this.#over) return;
    const at = now();
    let next = Infinity;
    if (this.#elected && !this.#stop.signal.aborted) {
      next = this.#deadline.untilStop(at);
      if (next === 0) {
        this.#deadline.freeze();
        this.#mustStop({ why: "lease expired", member: this.member, bound: 0 });
        next = Infinity;
      }
    }
    const every = this.#every();
    if (every < Infinity && !this.#asking) {
      const due = this.#asked === null ? 0 : every - elapsed(this.#asked, at);
      if (due <= 0) return this.#ask();
      next = Math.min(next, due);
    }
    if (next < Infinity) this.#timer = setTimeout(() => this.tick(), Math.max(1, next));
  }

  /** How often the deadline is asked for, or a sign of life given. */
  #every() {
    let every = this.#heartbeat ? this.#heartbeat / 3 : Infinity;
    // Deadlines in local and consistent groups are shorter than the leases of programs.
    if (this.#leads) every = Math.min(every, ASK_EVERY, Math.max(ASK_AT_LEAST, this.#deadline.granted / 4));
    return every;
  }

  /** Asks for the deadline. The answer counts from before the question is sent. */
  #ask() {
    const asked = now();
    this.#asked = asked;
    this.#asking = true;
    const unproven = this.#unproven();
    this.#transport.question(this).then(
      (remaining) => {
        this.#deadline.answer(asked, remaining);
        if (unproven) this.#elect();
      },
      () => {}, // what ended the connection or the candidacy is taken elsewhere
    ).finally(() => {
      if (this.#asked === asked) this.#asking = false;
      this.tick();
    });
    this.tick();
  }

  #unproven() {
    return this.#leads && !this.#settled && !this.#again;
  }

  /** The deadline of a leadership is known. A lease that came too late is given back. */
  #elect() {
    if (!this.#unproven()) return;
    if (this.#deadline.untilStop(now()) > 0) {
      this.#elected = true;
      this.#settle(() => this.#resolve(true));
      return;
    }
    this.#again = true;
    this.#deadline.end();
    this.#transport.resign(this).catch(() => {}).finally(() => this.#isOver(causeOf(null), null));
  }

  #mustStop(cause) {
    if (this.#stop.signal.aborted) return;
    this.#cause = cause;
    this.#stop.abort(new LeadershipLost(cause));
    this.#wake();
  }

  #wake() {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  /** The connection is lost: no agent moves the deadline any more. */
  lostAgent(error) {
    this.#deadline.freeze();
    this.#over = true;
    clearTimeout(this.#timer);
    this.#mustStop({ why: "agent gone", member: this.member, bound: 0 });
    this.#settle(() => this.#reject(error));
  }

  #isOver(cause, failure) {
    if (this.#over) return;
    const again = this.#again || (cause.why === "unhealthy" && !this.#elected);
    this.#deadline.end();
    this.#over = true;
    clearTimeout(this.#timer);
    this.#mustStop(cause);
    this.#settle(() => {
      if (failure) this.#reject(failure);
      else if (cause.why === "closed") this.#reject(new AgentGone("the agent is stopping"));
      else if (again) this.#resolve(false);
      else this.#reject(new NotLeader(`the agent ended the candidacy: ${cause.why}`));
    });
  }

  /** The program has stopped. */
  #end(cause) {
    this.#deadline.end();
    this.#mustStop(cause);
  }

  /** The program campaigns no more, or has stopped before it began. */
  withdraw(error) {
    this.#end({ why: "resigned", member: this.member, bound: 0 });
    this.#settle(() => this.#reject(error));
  }

  /** The program was asked to stop by what called it. */
  askToStop() {
    this.#mustStop({ why: "resigned", member: this.member, bound: 0 });
  }

  #settle(how) {
    if (this.#settled) return;
    this.#settled = true;
    how();
  }
}

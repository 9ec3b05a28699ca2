// When a leadership ends, as far as this process can know. The machine has no clock of its own: every instant is an argument.
//
// Node cannot read the clock that the agent announces instants of. So the agent is asked, and its answer is a length of time, counted from when the
// question was sent, and never from when a line was read: the line may have waited for long. An answer counts for at most MAX_AGE.
//
// An instant is a list of readings in milliseconds. How much time has passed between two instants is the most that any of the clocks says: monotonic
// time may stand still while the host is suspended, and wall time may be set back.

/** For how long an answer counts, in milliseconds, from when the question was sent. */
export const MAX_AGE = 1000;

/** By how much the lease clocks of two processes of a host may run apart, in milliseconds. */
export const SKEW = 1.2;

/** By what part a time service may slow down the clock on which this process counts: chrony's default is 1/12. */
const SLEWING = 12;

/** Reads the clocks. */
export function now() {
  return [performance.now(), Date.now()];
}

/** The most that may have passed between two instants. */
export function elapsed(since, at) {
  return Math.max(0, ...since.map((s, i) => at[i] - s));
}

/** For how long a program leads that counts on a clock of its own, less the guard time, as the agent computes it for its socket. */
export function allowed(validFor, guard) {
  return Math.max(0, validFor - guard - validFor / SLEWING - SKEW);
}

export class Deadline {
  #answer = null;
  #frozen = false;
  #ended = false;

  /** Takes the answer to a question that was sent at an instant, or after it. The answer to the last question counts. */
  answer(asked, remaining) {
    if (this.#frozen || (this.#answer !== null && asked[0] < this.#answer.asked[0])) return;
    this.#answer = { asked, remaining };
  }

  /** No later deadline counts: the program was asked to stop because none came. */
  freeze() {
    this.#frozen = true;
  }

  /** The leadership is over. */
  end() {
    this.#frozen = this.#ended = true;
  }

  /** What the last answer granted. */
  get granted() {
    return this.#answer?.remaining ?? 0;
  }

  /** For how long the leadership is known to last; 0 if it is not known to last now. */
  remaining(at) {
    if (this.#ended || this.#answer === null) return 0;
    return Math.max(0, Math.min(this.#answer.remaining, MAX_AGE) - elapsed(this.#answer.asked, at));
  }

  /** How far the instant is off at which the program must be asked to stop; 0 if it is past. Answers are less the guard time. */
  untilStop(at) {
    if (this.#ended || this.#answer === null) return 0;
    return Math.max(0, this.#answer.remaining - elapsed(this.#answer.asked, at));
  }
}

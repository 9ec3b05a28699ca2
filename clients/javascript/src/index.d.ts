// Leader election for programs in Node.js, through the Regent agent of the host. Lengths of time are in milliseconds.

/// <reference types="node" />

export type Mode = "quorum" | "local" | "eventual" | "consistent";

/** Why a leader changed, or a leadership ended. */
export interface Cause {
  readonly why: string;
  readonly member: string;
  readonly bound: number;
}

/** What the members of a consistent group agree on. */
export interface Agreement {
  readonly number: number;
  readonly members: readonly string[];
  readonly failed: readonly string[];
  readonly joined: readonly string[];
  readonly unfinished: readonly string[];
  /** Asks this program to recover what was lost, and to report that with Lease.recovered. */
  readonly recover: boolean;
  readonly stalled: string;
}

/** What the agent believes about a group. It is knowledge, not proof: see Client.verify. */
export interface View {
  readonly group: string;
  readonly mode: Mode | "";
  /** The member that leads; empty: none does, as far as the agent knows. */
  readonly leader: string;
  readonly token: number;
  readonly lease: number;
  readonly value: string;
  readonly mine: boolean;
  readonly stopping: boolean;
  readonly support: readonly string[];
  readonly round: number;
  readonly agreement?: Agreement;
  readonly cause: Cause;
  readonly at: string;
  /** How many views between the one before and this one the agent left out. */
  readonly missed: number;
}

export interface CampaignOptions {
  /** quorum, unless another one is named. Programs take part in consistent groups on the unix socket only. */
  mode?: Mode;
  /** What the leadership announces: at most 256 bytes. */
  value?: string;
  /** The length of the leases; 0: as the agent is configured. */
  lease?: number;
  /** How long this process may be silent before the agent takes the group from it; two leases, at least 6000; 0: any time. */
  heartbeat?: number;
  /** How long the program may take to stop; 0: as the agent is configured. */
  grace?: number;
  /** What the program calls itself, for people. */
  name?: string;
  /** Ends the campaign, or asks the program to stop leading. */
  signal?: AbortSignal;
}

/** What goes wrong between a program and its agent. */
export class RegentError extends Error {}
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
  readonly cause: Cause;
}

/** A leadership. Act only while valid is true, and send the token along with every order. */
export class Lease {
  private constructor();
  readonly group: string;
  readonly mode: Mode;
  /** The agent's member, which leads on behalf of this program. */
  readonly member: string;
  /** Grows with every leadership of a quorum group; 0 in groups that hosts lead. */
  readonly token: number;
  /** Numbers the turns of programs of this host in a group that hosts lead; 0 in other groups. */
  readonly turn: number;
  /** The agreement of a consistent group that took this host in. */
  readonly first: View | null;
  /** Whether the leadership is known to last now. It is false while the last answer of the agent is older than a second. */
  readonly valid: boolean;
  /** For how long the leadership is known to last. */
  readonly remaining: number;
  /** Aborts when the program must stop. A blocked event loop aborts it late, and valid is never late. */
  readonly signal: AbortSignal;
  /** Why the program must stop. */
  readonly cause: Cause;
  /** Returns the token while the leadership is valid, and throws LeadershipLost otherwise. */
  check(): number;
  /** Has a function called with the name of a member that is back. */
  onHealed(call: (member: string) => void): void;
  /** Reports that the program has stopped, and waits until the group is given up. */
  resign(): Promise<void>;
  /** Asks the agent for how long the leadership lasts, counted from the call. */
  confirm(): Promise<number>;
  /** Changes the value that this leadership bears: at most 256 bytes. */
  announce(value: string): Promise<void>;
  /** Returns the stamp of an order that is made now. Without a stamp the program must not give the order. */
  edict(): Promise<string>;
  /** Reports that the program has stopped, and hands the group over to a member. On the unix socket only. */
  transfer(to: string): Promise<void>;
  /** Throws the error with which a transfer would be refused now. */
  canTransfer(to: string): Promise<void>;
  /** Yields the present agreement of a consistent group and every later one, until the program must stop. */
  agreements(): AsyncGenerator<View, void, undefined>;
  /** Reports that the program has recovered what an agreement asks for. */
  recovered(view: View): Promise<void>;
}

/** A proof of who leads a group. */
export class Proof {
  private constructor();
  readonly group: string;
  readonly leader: string;
  readonly token: number;
  readonly value: string;
  /** Whether the proof holds now. */
  readonly valid: boolean;
  /** For how long it holds, counted from the question. */
  readonly remaining: number;
}

/** A connection to the agent of this host. */
export class Client {
  private constructor();
  static connect(path?: string, options?: { timeout?: number }): Promise<Client>;
  /** The name of the agent's member. */
  readonly member: string;
  /** Waits until this program leads. */
  campaign(group: string, options?: CampaignOptions): Promise<Lease>;
  /** Yields one leadership after the other. Each ends, and is given up, when the body of the loop does. */
  lead(group: string, options?: CampaignOptions): AsyncGenerator<Lease, void, undefined>;
  /** What the agent believes about a group. */
  view(group: string): Promise<View>;
  /** Asks who leads a group, with proof. */
  verify(group: string): Promise<Proof>;
  /** Yields the view of a group, and every change of it. */
  watch(group: string, options?: { signal?: AbortSignal }): AsyncGenerator<View, void, undefined>;
  /** Gives up all that was begun here. */
  close(): Promise<void>;
}

export interface HTTPOptions {
  /** A bearer token. */
  token?: string;
  /** For https: certificates and the like. */
  tls?: import("node:tls").SecureContextOptions;
}

/** A client of an agent's HTTP interface, also of another host. */
export class HTTPClient {
  private constructor();
  static connect(url: string, options?: HTTPOptions): Promise<HTTPClient>;
  /** Waits until this program leads. */
  campaign(group: string, options?: CampaignOptions): Promise<Lease>;
  /** Yields one leadership after the other. Each ends, and is given up, when the body of the loop does. */
  lead(group: string, options?: CampaignOptions): AsyncGenerator<Lease, void, undefined>;
  /** What the agent believes about a group. */
  view(group: string): Promise<View>;
  /** Asks who leads a group, with proof. */
  verify(group: string): Promise<Proof>;
  /** Gives up all that was begun here. */
  close(): Promise<void>;
}

/** Connects to the agent of this host. Without a path: $REGENT_SOCKET, or /run/regent/regent.sock. */
export function connect(path?: string, options?: { timeout?: number }): Promise<Client>;

/** Connects to an agent over HTTP: http://HOST:PORT, https://HOST:PORT, or unix:PATH. */
export function connectHTTP(url: string, options?: HTTPOptions): Promise<HTTPClient>;

// Leader election for programs in Node.js, through the Regent agent of the host. index.d.ts has the types.

import { Client } from "./client.js";
import { HTTPClient } from "./http.js";

export { Client, Proof } from "./client.js";
export { HTTPClient } from "./http.js";
export { Lease } from "./lease.js";
export { AgentGone, LeadershipLost, NoLeader, NotLeader, Refused, RegentError } from "./protocol.js";

/** Connects to the agent of this host. Without a path: $REGENT_SOCKET, or /run/regent/regent.sock. */
export function connect(path, options) {
  return Client.connect(path, options);
}

/** Connects to an agent over HTTP, also of another host. */
export function connectHTTP(url, options) {
  return HTTPClient.connect(url, options);
}

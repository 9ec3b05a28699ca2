// Package datagram judges packets, each of them once: whether it is of this council, from which start of which member, whether it
// was seen before, for which incarnation it is meant, and how late it can be. There is one list of reasons.
//
// Two members have unsynchronised clocks, of which they know only that each runs within ρ of real time. If a datagram
// carries its own send stamp and the two stamps of an earlier datagram in the other direction, its receiver can still
// prove an upper bound on its delay. That is the fail-aware datagram service of Fetzer and Cristian, on which HALL and
// the expiring links of the stable elector stand. The package is pure: it gets the clock as an argument and headers, and knows
// nothing of sockets, bytes or keys. Package wire seals and opens packets and asks it what to make of them; the simulator's
// ports ask it the same.
//
//	docs/wire.md     nothing from strangers       judge.go, reason.go
//	PROTOCOLS §1.3  incarnations, starts         judge.go
//	PROTOCOLS §1.3  one name, two processes      rival.go
//	PROTOCOLS §1.4  bound, best echo             bound.go
//	PROTOCOLS §1.4  probes (E-H9)                probe.go
//	RFC 6479        window against replays       window.go
//	PROTOCOLS §1.5  expiring links               Verdict.By
//
// What it promises, for clocks within ρ and delays of at least MinDelay:
//
//	FA1  a bound is never below the true delay, counted from the stamp Sent to the receiver's now
//	FA2  if all datagrams of two members to one another took at most d for MaxAge, and Delta ≥ 2d - MinDelay + 2ρ·MaxAge,
//	     then every datagram between them is fast
//	FA3  no datagram is delivered twice
//	FA4  no datagram is delivered to another incarnation than it was meant for, nor from a lower one than was heard before
//
// FA1 holds whatever the network does, replays included. The reason is that a pair of stamps is true for ever: (A,B) says that
// something left at A and arrived at B. A late pair makes a bound large, never wrong; so all stamps of the
// peer's present incarnation are used, even those of a datagram that is not delivered. An echo, on the other hand,
// is about the receiver's own clock, and counts only if it is meant for the receiver's own incarnation.
//
// Where we differ from PROTOCOLS:
//
//   - A datagram of an outdated process is dropped as Stale or Twin. The driver passes that on to the machine, which answers with the
//     proof; the answer counts though it is meant for another incarnation (wire).
//   - A datagram that names no incarnation of its receiver carries no message either, unless the receiver does not know
//     its own. So the first message between two strangers is lost, and the probe that answers it is what introduces them.
//   - A probe is not sent where another datagram was, in the last 10 ms: any datagram carries the echo that a probe would.
//   - PROTOCOLS keeps one echo, the best, until it is older than MaxAge. A lucky one then turns down all that come after it, and
//     when it is forgotten there is none, though none was missing: that breaks FA2. We keep the best of two
//     consecutive halves of MaxAge.
//   - A datagram whose messages waited for the disk has an old stamp and makes a bad echo. If that was longer than Δ/16 it does
//     not stand in for a probe.
//   - A bound below MinDelay is impossible for clocks within ρ. It is counted, and the delay called unknown.
//
// Drift is computed with the four methods of protocol.Rho alone, with one exception: which of two echoes is the better one is
// decided in 128 bits, since the scalar that PROTOCOLS ranks them by does not fit into 64.
package datagram

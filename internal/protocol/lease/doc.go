// Package lease is the core that every lease of Regent stands on: a [Grantor], which promises, and a [Holder], which
// is promised. One of each per member and council serves all groups.
//
// The promise is between members: until an instant of its own clock a voter keeps its word to one holder. The
// assignment is per group: within that promise the voter has given the group to the holder. A plain renewal therefore
// extends every group of its sender at once, and costs the same for one group as for ten thousand.
//
//	PROTOCOLS §3.9  grantor           grantor.go, assign.go
//	PROTOCOLS §3.9  holder            holder.go, tenure.go, class.go
//	PROTOCOLS §3.9  requests          claims.go, message.go
//	PROTOCOLS §3.6  terms             terms.go
//	Nerio §3, §4    drift, skew       config.go
//	Nerio §6, E-N3  release           tenure.go, assign.go
//	Nerio §10.1     choice of δ       roundtrip.go
//
// A user of the core gives it a [Policy], calls Begin and Lapse at the start of every Step and Flush at its end, hands
// Request, OK and Nack to the half that they are for, and acts on TakeOutcomes and TakeChanges. Package nerio does that.
//
// # Facts
//
// What the two halves state for the trace and the checkers. Times are of the clock of the member that states them.
//
//	promise   voter: Peer, Gen, Seq, Until. At every request that it takes. Until never falls within one Gen.
//	break     voter: Peer, Gen. The promise Gen to Peer had lapsed when Peer asked again: all that was assigned in it
//	          is over. The promise of the next Gen follows in the same Step.
//	assign    voter: Group, Peer, Tenure, Term, Gen, At. Also when a claim is repeated, with a new At.
//	unassign  voter: Group, Peer, Term, Why. "released" (its holder said so; Seq is the term that the release bore),
//	          "lapsed" (the promise ran out). After a break there is none: the break speaks for all groups.
//	attempt   holder: Group, Tenure, Term, Start. The tenure begins, as a candidate; again if it proposes a higher Term.
//	fail      holder: Group, Tenure, Term (the highest proposed), Why: "busy", "silence", "ended".
//	lease     holder: Group, Tenure, Term (the token), Until, Start, Members, Seq (horizon), Detail (stamp.Quorum). The
//	          first of a Tenure is its first completion and the instant from which the member leads. Later ones of
//	          the same Tenure say that its end now lies behind another horizon, or, with Seq 0 and Why "frozen", that
//	          it will not move any more.
//	horizon   holder: Seq, Until. The end of every lease that lies behind the horizon Seq moves to Until.
//	stepdown  holder: Group, Tenure, Term (the token), Why. It precedes, in its Step and so in time, every release.
//
// A lease's end is the latest Until among its lease fact and the facts of its horizon since, which may be of the same
// Step, until a stepdown ends it sooner.
//
// # Where this differs from the texts
//
// The paper's grant is per process and carries one instant; here it is the two-level form of PROTOCOLS §3.9. A release
// has an identity (E-N3), a failed attempt releases (E-N9), a late request is recognised by its age and by its number
// (E-N11), and a restarted voter waits (E-N5).
//
// PROTOCOLS §3.9 compares a release with the voter's term of the group. That term also rises when another member's
// release comes in, and then the holder's own release would be too low for ever, while its renewals keep the
// assignment alive. So a release is compared with the term at which the group was assigned.
package lease

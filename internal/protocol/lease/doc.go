// Package lease is the core of all quorum leases: a [Grantor] makes promises, and a [Holder] collects them. One of each per
// member and council serves all groups.
//
// A promise is between members: it binds a voter to one holder until an instant of the voter's clock. An assignment is per
// group: within that promise the voter has assigned the group to the holder. A plain renewal therefore extends every group
// of its sender at once, and costs the same for one group as for ten thousand. Leases of several lengths rest on as many
// promises. One request renews all that are due.
//
//	PROTOCOLS §3.9  grantor           grantor.go, assign.go
//	PROTOCOLS §3.9  holder            holder.go, tenure.go, class.go, length.go
//	PROTOCOLS §3.9  requests          claims.go, message.go
//	docs/nerio.md   proof of death    died.go
//	PROTOCOLS §3.6  terms             terms.go
//	Nerio §3, §4    drift, skew       config.go
//	Nerio §6, E-N3  release           tenure.go, assign.go
//	Nerio §10.1     choice of δ       roundtrip.go
//	PROTOCOLS §1.3  restart wait      reach.go
//	Nerio §10.2     slow networks     backoff.go, scout.go
//
// A user of the core gives it a [Policy], calls Begin and Lapse at the start of every Step and Flush at its end, hands
// Request, OK and Nack to the half that they are for, and acts on TakeOutcomes and TakeChanges. Package nerio does that.
//
// # Lengths
//
// A holder asks each voter for one promise per length of lease that its tenures have. A length is named by its nominal
// duration, and by 0 if that is [Config.Lease]. It is asked for as δ = length + [Config.PerGroup] for each tenure of that
// length, up to [Config.Longest]. A holder has at most [MaxLengths] at once, one of which is kept for length 0.
//
//	voter    ward     per member and incarnation: the highest request taken, the last number given to a promise
//	         promise  per ward and length: its end, its number (gen), the groups that are assigned in it
//	holder   length   per length: how many tenures rest on it; of each voter the number of its promise, and its end
//	         class    per length and set of backers: one horizon
//
// Invariants:
//
//   - A group is assigned in one promise. That promise has the length of its tenure, from the first claim to the end.
//   - The end and the number of a promise change only by requests that ask for its length, and by its own lapse. A lapse
//     or a break ends what was assigned in that promise, and nothing else.
//   - No two promises of one voter to one incarnation have a number in common, in whatever lengths. So a promise that the
//     voter has forgotten, because it lapsed or was empty, cannot be taken for the one that follows it.
//   - A lease ends with promises of its own length only.
//   - A new tenure of the same holder has a higher term, and may have another length. Its claim moves the group to the
//     promise of that length. A late claim or release of the tenure before is too low to move it back or to free it.
//
// One request may carry several lengths, because it is equivalent to one request for each of them. The voter judges all
// at one instant of the voter's clock, counted from one start on the holder's, each by its own δ. The request's number is
// the holder's, and not a length's: a late request is stale for all lengths, even where no newer one asked for
// them, and the holder repeats its content. The voter judges the age of a request per length: a request that is too old for
// a short promise still renews a long one. The voter then omits the short one from its answer and ignores the claims in it,
// and the holder claims again. If the answer is lost, the holder knows less than the voter has promised, in
// each length.
//
// A long lease is renewed as many times per δ as a short one: not in every round, and with another length where both are due.
//
// # Facts
//
// What the two halves state for the trace and the checkers. Times are of the clock of the member that states them.
//
//	promise   voter: Peer, Length, Gen, Seq, Until. At every request that it takes, for each length that this asks for.
//	          Until never falls within one Gen.
//	break     voter: Peer, Length, Gen. The promise Gen to Peer had lapsed when Peer asked again: all that was assigned
//	          in it is over. A promise of the same Length and a higher Gen follows in the same Step.
//	assign    voter: Group, Peer, Tenure, Term, Length, Gen, At. Also when a claim is repeated, with a new At, and when a
//	          later tenure of Peer moves the group to another promise: then there is no unassign.
//	unassign  voter: Group, Peer, Term, Why. "released" (by its holder; Seq is the term in the release), "lapsed" (the
//	          promise expired), "died" (the holder is proven dead). After a break there is none: the break stands for all groups.
//	attempt   holder: Group, Tenure, Term, Length, Start. The tenure begins, as a candidate; again if it proposes a higher Term.
//	fail      holder: Group, Tenure, Term (the highest proposed), Why: "busy", "silence", "ended".
//	lease     holder: Group, Tenure, Term (the token), Length, Until, Start, Members, Seq (horizon), Gen (the
//	          configuration of the first completion), Detail (stamp.Quorum). The
//	          first of a Tenure is its first completion and the instant from which the member leads. Later ones of
//	          the same Tenure state that another horizon bounds its end from now on, or, with Seq 0 and Why "frozen",
//	          that it will not move any more.
//	horizon   holder: Seq, Until. The end of every lease that the horizon Seq bounds moves to Until.
//	stepdown  holder: Group, Tenure, Term (the token), Why. It precedes, in its Step and so in time, every release.
//
// A lease's end is the latest Until among its lease fact and the facts of its horizon since, which may be of the same
// Step, until a stepdown ends it sooner.
//
// # Proof of death
//
// The report that one incarnation of a member is dead is worth as much as its release of all groups that the report names, at a term above all that
// it has used: a release comes after the holder has stepped down and its program has stopped, and the dead have done both. So
// it takes the place of a release in every argument, with one addition. A release raises the voter's term, so that a delayed claim of what was
// released is too low. A report names no term; so the ward refuses every later request of the dead, whatever it asks for.
//
// A report says nothing of the dead member as a voter. What it promised to others stands in their ledgers, and in its own restart wait.
//
// # Where this differs from the texts
//
// The paper's grant is per process and carries one instant; here it is the two-level form of PROTOCOLS §3.9. A release
// has an identity (E-N3), a failed attempt releases (E-N9), a late request is recognised by its age and by its number
// (E-N11), and a restarted voter waits (E-N5).
//
// PROTOCOLS §3.9 compares a release with the voter's term of the group. That term also rises when another member's
// release arrives, and then the holder's own release would be too low for ever, while its renewals keep the
// assignment alive. So a release is compared with the term at which the group was assigned.
//
// PROTOCOLS §3.6 raises the ceiling of terms by 2^20, and a restart skips as many. Here the step is small and follows the load (terms.go). Then no ceiling
// covers the terms that an old copy of the record has forgotten: the rule for stale records of package nerio alone does.
package lease

// Package counter is the machine that the time-free elector, the ◇f-source elector and the hybrid of both share: counters
// of suspicions that are gossiped and merged, and the member with the least one leads (Mostefaoui, Mourgaya, Raynal,
// Travers: A Time-free Assumption to Implement Eventual Leadership). What makes a counter grow is not its business: that
// is a [Source], of which a machine has one or two. With two the lesser counter of a member is the one that counts.
//
//	TF §5.1, Fig. 2 task T3   the least (counter, rank) leads        elect.go
//	TF §6.3 tasks T3/T5       the lesser of two counters             elect.go
//	PROTOCOLS §5.3            how long nobody could be counted on    blocked.go
//	PROTOCOLS §5.4 (E-T1)     leapfrog                               table.go
//
// The paper's processes crash once and for all. Ours come back, so we add:
//   - Counters are kept in memory only. A member that starts has no opinion before it has heard from n-f members, itself
//     among them, and so knows what they know. Counters that only the dead member knew are lost: nobody had acted on them.
//     If all members restart at once they begin from nothing, as a new council does. Counters grow in one incarnation of a
//     member, and may begin lower in its next.
//   - A new incarnation is the proof of a crash, so whoever notices one counts it as a suspicion at once. A member that
//     keeps restarting faster than anybody suspects it would lead for ever otherwise; so its counter grows without bound, and
//     a restarted leader gives way.
//   - Views name incarnations. They are learned from the member itself, not from gossip.
//   - Messages of earlier incarnations are dropped.
//
// Unfit, the word of an authority that its member cannot gather a quorum, makes the member leap over the next candidate by
// its own counter.
package counter

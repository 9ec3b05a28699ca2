// Package counter is the machine that the time-free elector, the ◇f-source elector and the hybrid of both share: counters of
// suspicions that members gossip and merge. The member with the lowest counter leads (Mostefaoui, Mourgaya, Raynal, Travers:
// A Time-free Assumption to Implement Eventual Leadership). A [Source] decides when a counter grows; a machine has one or
// two. With two, the lower counter of a member counts.
//
//	TF §5.1, Fig. 2 task T3   the least (counter, rank) leads        elect.go
//	TF §6.3 tasks T3/T5       the lesser of two counters             elect.go
//	PROTOCOLS §5.3            how long too few members answered      blocked.go
//	PROTOCOLS §5.4 (E-T1)     leapfrog                               table.go
//
// The paper's processes crash once and for all. Ours restart, so we add:
//   - Counters are in memory only. A member that starts has no opinion before it has received from n-f members, itself
//     included, and so knows what they know. Counters that only the dead member knew are lost: no member had acted on them.
//     If all members restart at once they begin at zero, as a new council does. Counters grow in one incarnation of a member,
//     and may begin lower in its next.
//   - A new incarnation proves a crash, so a member that notices one counts it as a suspicion at once. Otherwise a member
//     that keeps restarting faster than any member suspects it would lead for ever. So its counter grows without bound, and a
//     restarted leader gives way.
//   - Views name incarnations. Members learn them from the member itself, not from gossip.
//   - Messages of earlier incarnations are dropped.
//
// Unfit makes the member leap over the next candidate by its own counter: the authority reports with it that its member
// cannot gather a quorum.
package counter

// Package nerio elects at most one leader of a group at any instant (van Renesse, Schneider and Gehrke, Nerio), with
// leases that a quorum of voters grants, for any number of groups on one council.
//
//	Nerio §3, §4, §6   request, grant, release     package lease
//	Nerio §9           attempts under an elector   group.go
//	Nerio §10.2        interference                group.go (back-off), package lease (refusals)
//	Nerio §10.4        finding the leader          ask.go
//	Nerio §10.5        verification                ask.go
//	PROTOCOLS §1.3     start, restart, bootstrap   start.go
//	PROTOCOLS §1.3     records that are old copies stale.go
//	PROTOCOLS §3.4-11  hand-over                   handover.go
//	PROTOCOLS §3.6     terms and their ceiling     disk.go, package lease
//	PROTOCOLS §8       attempts, Unfit             group.go
//	Nerio §10.4        values of leaders           value.go
//	PROTOCOLS §8       roles, health, preference   config.go, group.go, prefer.go
//
// # What a view means
//
// A member that leads says so in a view with its tenure, its token (Term), its horizon and the quorum timestamp of the
// tenure: it leads while its clock is below both the view's Until and the horizon. A member that does not lead says who
// does as far as its own vote tells it: a claim that bears a token says that the claimant leads, and the view stands
// until that assignment is released or lapses. Claims go to every member, whether or not its vote counts, so all learn
// it. That is knowledge, not proof; proof is Verify. A member that has just restarted cannot vote, and so does not know,
// for the longest promise; Find asks the others.
//
// A view is published again with the same tenure when only its horizon, its set end or Stop changed.
//
// # What a driver owes
//
// Besides what package protocol asks of every driver: a seed that differs from start to start; messages of earlier
// incarnations, which the machine answers with Stale, or an Outdated
// for each that a layer below drops; FirstInc from a wall clock; the record of the last Persist at the next start, or nil.
// A member speaks under Incarnation, which is zero until it knows who it is, and again if it finds that its record is an
// old copy. After Close it is stepped until Closed. Whoever runs an elector passes its word on as Trusts and asks
// TakeUnfit after every Step; package stack does.
//
// # Where this differs from the texts
//
// The lock of one process by another is two-level (PROTOCOLS §3.9). Verification has its signs put right (E-N1) and binds
// the leader (E-N4). An attempt needs that the member is *not* granting to another (E-N2), is ended by refusals as soon
// as they decide it, and releases what it got (E-N9).
//
// Known.Highest is the highest term that the answering member has seen, not its floor: a member that has lost its
// record must start above what the others accepted since they started, too.
//
// A bootstrap would never end if every member needed all others to be without a record at once, for the first to start
// has one. So a member that has itself begun the council, and that never heard a word of the asker under any
// incarnation, counts as well: whatever the asker may have granted in an earlier life it granted to somebody, who heard
// it.
//
// A member with a record says Recover too, under its new incarnation, while it waits. Nobody needs the answer, but a
// peer that has heard a later incarnation, or the same one from another start, sends Stale: so a restored backup is found
// out before it grants. PROTOCOLS believes the word of one packet; stale.go has what we do instead.
//
// A member that leaves while it still waits after its start writes no clean-stop note, though it has granted nothing itself:
// what the incarnation before it granted may stand, and the next start would believe the note (PROTOCOLS §1.3 does not say
// so). In package lease an answer names the incarnation whose question it was.
package nerio

// Package nerio elects at most one leader of a group at any instant (van Renesse, Schneider and Gehrke, Nerio), with leases
// that a quorum of voters grants, for any number of groups on one council.
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
//	docs/nerio.md      proof of death              died.go
//	PROTOCOLS §8       roles, health, preference   config.go, group.go, prefer.go
//
// # What a view means
//
// A member that leads publishes a view with its tenure, its token (Term), its horizon and the quorum timestamp of the tenure.
// It leads while its clock is below both the view's Until and the horizon. A member that does not lead publishes the leader
// that its own vote knows: a claim with a token states that the claimant leads, and the view stands until that assignment is
// released or lapses. Claims go to every member, whether or not its vote counts, so all learn it. Such a view is no proof;
// Verify returns proof. A member that has just restarted cannot vote, and so does not know the leader, for the longest
// promise; Find asks the others.
//
// A view is published again with the same tenure when only its horizon, its set end or Stop changed.
//
// # What a driver owes
//
// Package protocol lists what every driver owes. This machine also needs:
//   - a seed that differs from start to start;
//   - messages of earlier incarnations, which the machine answers with Stale, or an Outdated for each that a layer below
//     drops;
//   - a Died for each report of a guardian that a layer below has authenticated, and Proved shown to the member's own guardian, if there is one, before
//     the messages of a Step leave;
//   - FirstInc from a wall clock;
//   - the record of the last Persist at the next start, or nil.
//
// A member sends under Incarnation, which is zero until it knows its own, and again if it finds that its record is an old
// copy. After Close the driver steps it until Closed. A driver that runs an elector passes its views on as Trusts, and calls
// TakeUnfit after every Step; package stack does.
//
// # Where this differs from the texts
//
// The lock of one process by another is two-level (PROTOCOLS §3.9). Verification has its signs corrected (E-N1) and binds the
// leader (E-N4). An attempt requires that the member is *not* granting to another (E-N2), ends as soon as refusals decide it,
// and releases what it got (E-N9).
//
// Known.Highest is the highest term that the answering member has seen, not its floor: a member that has lost its record must
// also start above what the others accepted since they started.
//
// A bootstrap would never end if every member needed all others to be without a record at once, because the first to start
// has one. So a member that has itself begun the council, and that never received anything from the asker under any
// incarnation, counts as well: if the asker had granted anything in an earlier life, the holder would have received the
// grant.
//
// A member with a record sends Recover too, under its new incarnation, while it waits. No member needs the answer. But a peer
// that has received a later incarnation, or the same one from another start, sends Stale, so a restored backup is detected
// before it grants. In PROTOCOLS one packet is enough to void a record; stale.go has what we do instead.
//
// A member that leaves while it still waits after its start writes no clean-stop note, though it has granted nothing itself:
// grants of the incarnation before it may stand, and the next start would rely on the note (PROTOCOLS §1.3 omits this). In
// package lease an answer names the incarnation whose question it was.
package nerio

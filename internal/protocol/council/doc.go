// Package council is the agreement of members on who they are: numbered configurations, each chosen by a majority of the voters of the
// one before. docs/members.md has the rules, and what each of them prevents.
//
//	C1 to C3    steps, seats, births        config.go, step.go, encode.go
//	R1          acceptors                   acceptor.go
//	R2 to R4    proposers, one change       proposer.go
//	R5 to R8    adoption and settling       adopt.go
//	R9, R10     lost and old records        lost.go
//	R11, R12    the way to the goal         plan.go
//	R13         newcomers that never come   proposer.go
//	F1 to F5    a council that is given up  given.go, heir.go, adopt.go
//	            what is on disk             record.go
//	            messages                    message.go
//
// The machine is one half of a member. The other half, its [Host], grants and holds leases: package nerio, which package members puts
// beside it. The host owns the record of which [Record] is a part.
//
// # A council that is given up
//
// A council that has lost a majority of its voters for good can never agree on anything again. Its survivors may go on as another one:
//
//   - F1, who may. An operator names the members that are lost. Each survivor objects if the others are a majority of the voters, or if it has heard
//     a lost one within a long time ([Options.Mourn]). One without a trusted record is no survivor.
//   - F2, agreement. All survivors agree, and not only a majority of them: first all promise, then all write the new council to their disks. From then on a
//     survivor grants nothing, and votes for nothing, also after a restart. A promise is worth something only in the life in which it was made, and not for long.
//   - F3, the new council begins when all have written. One that has and does not know of the others asks them again, and they propose what was written
//     before. If another says that it has not written and does not, the new council has not begun and never will: the first one takes its agreement back, and waits.
//   - F4, leases. Survivors grant nothing in the new council until the longest promise of any member of the old one is over, counted from when all had agreed. The
//     new council has another id, so packets of the old one do not open. Its terms begin [FloorAhead] above all that survivors have seen.
//   - F5, those that come back. A member of the old council that asks for its configuration is told the new one, and leaves, as one that was removed (R7). A
//     survivor that has lost what it wrote asks what it has forgotten (R9).
//   - F6, consistent groups: see package rain.
//
// Members that are named as lost and are alive, with a majority of the old council, lead on beside the new one until they ask. Nothing but fences can help then.
//
// # Where the rules differ from the design that they come from
//
// A birth is drawn by the member that proposes a newcomer, and not by the newcomer: then a council can be told of a host that is not up
// yet, and a member without a record needs no other rule than R9.
//
// Answers that wait for the disk when a configuration is adopted are not dropped. A promise of a lease counts in the noted end (R8) from
// when it was made, whether its answer has left or not, and its holder may use it. An acceptance that leaves after the adoption is of
// a configuration that has been chosen.
//
// A member that answers R9 need not have waited itself. What it has accepted is on disk, and its terms are bounded by its record.
//
// A newcomer is given up after a silence that the goal names, and not by an operator alone (R13). Every member measures the silence on its own
// clock and by what it has heard itself: a wrong judgement costs the change, and nothing else.
//
// A bound on drift may be lowered like any other term, if clocks have kept to it all the time: a promise that was made under the higher
// one is over as soon as the lower one says.
//
// A survivor's promise (F2) is not on disk. It names a number that the survivor draws for it, which what it agrees to has to bear, so a restart ends it.
//
// An observer without a record does not vote for what others have accepted: no majority needs it. It waits until that is chosen.
//
// A restarted acceptor does not vote before its wait after the start is over: until then a peer may tell it that its record is an old
// copy. This costs no failover, because it is the wait that its leases need.
package council

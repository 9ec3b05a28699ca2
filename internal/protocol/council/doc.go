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
//	            what is on disk             record.go
//	            messages                    message.go
//
// The machine is one half of a member. The other half, its [Host], grants and holds leases: package nerio, which package members puts
// beside it. The host owns the record of which [Record] is a part.
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
// An observer without a record does not vote for what others have accepted: no majority needs it. It waits until that is chosen.
//
// A restarted acceptor does not vote before its wait after the start is over: until then a peer may tell it that its record is an old
// copy. This costs no failover, because it is the wait that its leases need.
package council

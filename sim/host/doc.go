// Package host simulates hosts with processes below a trivial council, and drives the machine of internal/tenure on them: in
// agents, runners, keepers, programs that dial, and members that lead in their own process.
//
//	kernel.go     processes, numbers that are used again, sessions, cgroups, users, searches
//	party.go      drivers of the machine: agent, client, member
//	tree.go       drivers of the machine: runner and keeper, with hooks and programs
//	page.go       deadlines that are read, and not sent
//	candidacy.go  candidacies, restarts, who learns of a death
//	fault.go      what goes wrong
//	world.go      virtual time, and a council that gives a lease to another host only after its release or its end
//	check.go      checkers
//	run.go        plans from seeds, runs, coverage, shrinking
//
// # Checkers
//
//	H-RELEASE  no process of a tenure, hooks included, runs after its release
//	H-SHOWN    no tenure is released under a program that may have read a later deadline
//	H-KILL     nothing is killed for a tenure that does not belong to it
//	H-HOOKS    lost hooks ran before the next elected hooks anywhere, or its deadline has passed; they run after the program
//	H-LATE     nothing runs beside the next leader if a party that can kill it is scheduled
//	H-SUSPEND  no lease that was held before a suspend is used after it
//	H-START    no program starts after its deadline
//	H-READ     no party ends a lease whose renewal it has received
//	H-BOUND    a lease whose program was asked to stop is not renewed for ever
//	H-CAUSE    parties that could exchange their causes record the same one
//	H-LEFT     nothing is left: processes, cgroups, notes and their drafts
//	H-LIVE     once all is calm, a host leads
package host

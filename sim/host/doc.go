// Package host simulates hosts with processes below a trivial council, and drives the machine of internal/tenure on them: in
// agents, runners, keepers, programs that dial, and members that lead in their own process.
//
//	kernel.go     processes, numbers that are used again, sessions, process groups, cgroups, users, adoption
//	search.go     killers: what they know, and walks, which take time while processes begin and end
//	party.go      drivers of the machine: agent, client, member
//	tree.go       drivers of the machine: runner and keeper, with hooks and programs
//	page.go       deadlines that are read, and not sent
//	candidacy.go  candidacies, restarts, who learns of a death
//	fault.go      what goes wrong
//	world.go      virtual time, and a council that gives a lease to another host only after its release or its end
//	seat.go       groups that hosts lead: programs have their turns while their host does
//	check.go      checkers
//	seatcheck.go  checkers of those groups
//	coverage.go   which pairs of state and event, and of fault and state, runs have reached, and which they cannot
//	run.go        plans from seeds, runs, shrinking
//
// # What a host may be
//
// It has cgroups or none, hides processes of other users or not, schedules runners and keepers in real time or not, and may have so many
// other processes that a walk takes 300 ms. Its agent runs as root, as the user of the runner, or as another one that may not look.
// Programs fork, daemonise, have process groups of their own, clear their environment, change the user, hop from process to process, ignore
// SIGTERM, or exit early; their children and elected hooks have children too. Faults stop and kill any selection of program, runner, keeper
// and agent. They starve ordinary threads, suspend the host, cut it off, close connections, and make numbers another process's. The notes of
// a killed agent are kept, lost or half written. Clocks below the agent are behind its own by up to the margin.
//
// # Checkers
//
//	H-RELEASE  no process of a tenure, hooks included, runs after its release
//	H-SHOWN    no tenure is released under a program that may have read a later deadline
//	H-KILL     nothing is killed for a tenure that does not belong to it
//	H-HOOKS    lost hooks ran before the next elected hooks anywhere, or its deadline has passed; they run after the program
//	H-LATE     nothing runs beside the next leader if a party that can kill it is scheduled
//	H-SUSPEND  no lease that was held before a suspend is used after it
//	H-SILENCE  no candidacy ends because a program gave no sign of life while its host was suspended
//	H-START    no program starts after its deadline
//	H-READ     no party ends a lease whose renewal it has received
//	H-BOUND    a lease whose program was asked to stop is not renewed for ever
//	H-CAUSE    parties that could exchange their causes record the same one
//	H-LEFT     nothing is left: processes, cgroups, notes and their drafts
//	H-LIVE     once all is calm, a host leads
//	H-TURN     a walk lets ordinary threads run after its turn
//
// # Seats
//
// In local and eventual groups hosts lead, and the agent lets programs have their turns, in a seat of package tenure. Programs and agents are killed,
// stopped, starved and suspended, hosts lose their leadership and get it back, and leases of hosts run out. Programs of an agent that died stop by the deadline
// that it announced: the seat of the next agent does not know them.
//
//	S-ONE     the programs of two turns of an agent never act at once
//	S-LEADS   a turn begins only while the host leads
//	S-FIT     no turn begins that would end at once
//	S-NUMBER  the numbers of turns grow
//	S-STOP    a program stops, within its grace and its lease, once its host has lost, also if the host leads again
//	S-HOST    a local leadership is given up, before its lease ends, only when no program acts
//	S-LIVE    once all is calm, a program that waits has its turn
//
// # Old rules
//
// Each of these was once the rule of the product. Random runs find each of them on a mutant (mutants/tenure), within the 500 seeds of make
// test; make hosts plays 100,000. The seeds are those of the model as it was when they were listed.
//
//	old rule                                               mutant                       checker    first seed
//	a search that finds nobody proves the tree gone        p1-a-walk-proves-it          H-RELEASE  82
//	what may not be seen is gone                           p2-hidden-is-gone            H-RELEASE  243
//	the agent kills for anybody who has seen the mark      p3-kills-for-anybody         H-KILL     24
//	the runner is known by its number                      p3-runner-by-number          H-KILL     402
//	the session is known by its number                     session-by-number            H-KILL     241
//	lost hooks run after the release                       p4-hooks-after-the-release   H-RELEASE  4
//	nobody runs the lost hooks of a dead runner            p5-nobody-runs-the-hooks     H-HOOKS    18
//	timers alone end a program after a suspend             p6-suspend-ignored           H-SUSPEND  15
//	the deadline comes before renewals that wait           p7-deadline-before-renewals  H-READ     0
//	the walk comes before the signals                      p7-walk-first                H-LATE     115
//	the walk holds the processor                           p7-walk-without-a-break      H-TURN     5
//	each party keeps the cause that it saw first           p8-first-cause-stays         H-CAUSE    2
//	what ignores the request to stop is renewed            p9-renewed-for-ever          H-BOUND    70
//	a runner that was held up starts its program late      p10-late-start               H-START    86
package host

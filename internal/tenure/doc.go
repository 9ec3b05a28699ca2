// Package tenure is one life of one leadership at one party, from the election to the last process, as a pure machine.
//
//	event.go    states, events, effects, configuration
//	machine.go  the machine: Step, deadlines, what states ask for
//	action.go   what single events do
//	table.go    all pairs of state and event; docs/tenure.md shows it
//	cause.go    which of two causes counts
//	tree.go     who belongs to a tree of processes, and what a search for them proves
//	hunt.go     the order in which a killer works, and when it lets others run
//	seat.go     whose turn it is under the leadership of a host
//	recovery/   what a manager of a consistent group is asked to recover, and which reports count
//
// # Parties
//
// A lease reaches a program through a chain of parties: member, agent, runner. Each has an upper side, which grants, and a
// lower side, which acts. Each runs one Machine for each tenure, and differs from the others in its [Config] only:
//
//	party             upper side          lower side (Config.Lower)       hooks
//	member (runtime)  election protocol   Function: an agent's candidate
//	                                      or a function of the program
//	agent             member's lease      Program: one on a connection    -
//	                                      Party: runner, keeper, tree     run below
//	session (Dial)    agent's connection  Function                        -
//	runner            agent's connection  Tree                            runs them
//	keeper (Backup)   agent's deadline    Tree                            runs them if the runner died
//
// What one party emits is an event of the next. Down: Announce is Elected (with a token) or Extended; Ask is Stop; End is
// Lost; GoOn is Refused. Up: Release is ProgramStopped; HandOver is Yield; an End without a Release before it is Freeze, and so
// is every later End, so that the cause reaches the other side. Lapse ends the renewals: an agent gives its member Freeze and
// ConnectionLost, of which the second has the member's machine emit Lapse as well. The election protocol puts a fixed end to the lease then.
// A runner or session writes nothing.
//
// Beside: a keeper gets Elected and Extended from the agent, and UpperGone at the end if the runner is dead; nothing else, because
// it must not take the end of one tenure for an order to kill the next. A runner's LostDone goes to its keeper as well, its Forget as
// ProgramStopped, both before anything else happens: not its End, after which something may be left that the runner still looks for.
// A keeper's Ask goes to the runner as Freeze, its Release to the agent as ProgramStopped.
//
// # States
//
//	state     lower side             lease                        deadline            may end in
//	Waiting   nothing acts           none                         none                Leading, Asked (Found), Over
//	Leading   may act                held                         moves forward       any later state
//	Asked      may act, was asked     held, or cut off             moves until frozen  Stopping, Stopped, Over
//	Stopping  may act                held, running out, or lost   frozen              Stopped, Over
//	Stopped   acts no more, or is    held for hooks or transfer,  frozen, unless the  Leading (refused Yield), Over
//	          past its deadline      or lost                      program may go on
//	Over      as above               none                         -                   -
//
// # Rules
//
//   - Unknown means "may still act". A lease is released only under a lower side that is proven gone, has reported that it
//     stopped, or is a Program whose announced deadline has passed. Anything else is left to run out ([Lapse]).
//   - The announced deadline never moves back. Freezing keeps it from moving forward.
//   - A deadline that is shown (Config.Shown) may have been read before this party knows of the renewal. So a freeze asks for [Fix]: the
//     driver stores a fixed end, loads the highest end that was shown until then, and gives it as [Fixed]. The frozen deadline counts
//     as passed only after that.
//   - The order of an end is: stop the program, run its lost hooks (bounded), demote, release. A party whose hooks run below
//     waits for the report, at most until the announced deadline.
//   - That a tree is gone is final only when nobody can start it any more: its runner is dead, or past its deadline.
//   - An end has one cause: the heaviest of all that parties decided ([Winner]). A party that learns of it later corrects its
//     record and logs one line.
//   - After a suspend no lease that was held before is used again.
//   - Every stop is bounded: by the grace, then by the announced deadline.
//
// # Drivers
//
// A driver owns the clock, timers, processes and connections, and decides nothing. It
//
//   - gives Suspended first if the host was suspended since its last Step, after reports of ends that came before
//     (ProgramStopped, LostDone);
//   - gives what has come from above before anything else that waits, and a Tick last if Wake has passed: a party that was not
//     scheduled reads all renewals that lie before it, and then looks at its deadline;
//   - reads the pipe of a dead process to its end before it reports the death;
//   - carries effects out in order, and feeds what they lead to back as events: the answer to Fix at once, before the next effect, and
//     everything else later;
//   - gives Extended before every other event if what is shown has moved;
//   - begins a new search at every Kill, in the order of a [Hunt], drops the result of an earlier one, and reports [Search.Verdict];
//   - lets a runner campaign again only when its last tenure is over and forgotten, at the runner and at the agent: the children of
//     the runner are taken for the tree that is looked for;
//   - asks for Wake after it has given all that waited, and sets an alarm; an instant that has passed is a Tick at once. The alarm may
//     ring early or late: deadlines are compared with now.
//
// A Step allocates nothing beyond what the caller's slice of effects needs.
//
// # Why one machine
//
// The life cycle was built three times before, as seven booleans, as a struct with three timers, and as two goroutines. A
// machine per party kind would repeat that: the rules above hold at each of them, and what differs is what can be known about
// the lower side, which is data.
package tenure

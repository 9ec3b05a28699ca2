// Package core is the agent without its listeners: a member of the council, and the candidates that campaign through it. Every program
// that leads through it holds a lease of the library's, or has a turn under the leadership of its host.
//
//	agent.go       from a configuration to the end of everything; the books of candidates
//	candidate.go   one program that wants to lead one group, however it speaks; life.go: carries out what its machine asks for
//	endreason.go   how its leadership ended, for the history
//	runners.go     the candidates of one runner, one after the other
//	deadlines.go   until when programs lead, on a page that they read; renewals.go: in messages; rejoin.go: members that are back
//	modes.go       groups that hosts lead: local and eventual ones; seats.go: the turns of programs in them
//	leadership.go  what a program leads by, of either kind
//	changelog.go   what is known about all groups, for readers that must not block the member
//	councillog.go  changes of the council, for the history
//	status.go      how things are; statuscache.go: without asking the member each time; events.go: whenever that changes
//	orders.go      what operators want of a leader here
//
// # What is never done
//
// Nothing is released under a program that may still act. A candidate knows the last end that was announced to its program, and
// gives the group up only when the program has said that it stopped, is proven dead, or that end has passed. It does not
// matter why: a connection that closed, a program that reads no more, a heartbeat that stayed away, a grace that is used
// up all do the same, which is that no later end is announced to the program.
//
// Clients never reach the member's loop other than by questions that it answers in between. What a client reads comes
// from the change log, which the member's log of changes feeds; what a client is slow to take waits in a queue of its own,
// and when that is full the client is cut off.
package core

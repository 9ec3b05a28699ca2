// Package party drives the machine of internal/tenure on a real clock: in agents, runners, keepers and programs that dial.
//
//	party.go   events in, effects out, deadlines
//	watch.go   one alarm for many parties with the same deadline
//	signs.go   signs of life that are one store, and one alarm for the silence of many parties
//	resume*.go deadlines that passed while the host was suspended
//	unread*.go messages that were received and not given yet
//	names.go   members in causes
//	hold.go    the way from an agent to the machine of its lease
//
// A Party decides nothing. It gives the machine a Suspended before everything else that follows a suspend, waits for renewals that
// were received and not given yet before it looks at a deadline, and sets an alarm for the instant that the machine names. Timers
// of package time stand still while the host is suspended, and run at the rate of a clock that a time service may slow down. So
// the alarm rings early by the bound of that, and once more when the host resumes. Deadlines are compared on the lease clock.
package party

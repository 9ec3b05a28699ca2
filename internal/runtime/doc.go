// Package runtime drives machines in the real world: it is the only loop there is. It knows the contract of package
// protocol and no particular protocol.
//
//	loop.go         one goroutine that owns all machines of a member: events in, effects out, in the contract's order
//	wait*.go        how it waits: ppoll on a thread of its own, or channels and timers
//	port.go         packets: packed, sealed, bounded; several ways to one peer
//	rekey.go        packets under another incarnation, start, key or address
//	diagnostics.go  what is odd about packets, logged once
//	table.go        what programs see: views and leases
//	question.go     questions of programs to a machine
//	group.go        the views of one group, read without locks
//	lease.go        one program's tenure, as the program sees it
//	life.go         what happens in a tenure: drives a machine of package tenure for each
//	instance.go     machines in the loop, their channels and timers
//	ondemand.go     machines that are open only while a program uses them
//	history.go      the last changes of all groups
//	disk.go         records on their way to the disk, beside the loop
//	log.go          log lines on their way out, beside the loop
//	stats.go        what the loop measures of itself
//	store           a directory for the record
//
// # Waiting
//
// Late timers are the enemy: a renewal that leaves late is a lease that is shorter. A timer of package time wakes a
// goroutine, for which a thread must be found; ppoll(2) on a locked thread wakes the thread itself, and does so for
// packets and other goroutines alike. BenchmarkWait has the numbers, on an idle host and on a busy one, with and without
// real-time scheduling. Elsewhere than on Linux, and in tests in fake time, the loop waits on a channel and a timer.
// What remains is out of reach: pauses of the whole machine, and other goroutines of the same process that keep all of
// Go's processors busy, since even a thread of its own needs one of them to run Go code.
//
// # What the loop must not do
//
// It must not wait for anything but its waiter. Records go to the disk on another goroutine, and what rests on them is
// held back; log lines go out on another; programs are asked to stop by closing channels; hooks of the user run elsewhere.
// Readers never hold it up either: what it publishes are immutable values behind atomic pointers.
//
// # Stop, demote, release
//
// A Lease belongs to one program, and has a machine of package tenure. The machine decides when the program is asked to stop,
// when the protocol learns that it has (Release), and when a lease is renewed no more (Lapse), because its program did not stop within
// its grace or the host was suspended. The protocol's views are the machine's events. Renewals move a horizon, and a machine
// gets the latest one before any other event; one timer for each horizon wakes all machines behind it at the guard time. Readers
// compare the end with the clock by themselves. A program that was asked to stop stays asked: if a renewal
// comes after all, it merely keeps others out until the program has stopped.
package runtime

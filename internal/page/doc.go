// Package page lays out the memory in which an agent shows its programs until when they lead, and reads it. A renewal is
// one store, however many programs it concerns, and a program that looks asks nobody.
//
//	layout.go  words, cells, slots, targets
//	writer.go  the agent's side
//	reader.go  the program's side
//
// Package shared, below, makes such memory and hands it to other processes. This package only loads and stores words,
// so that tests can stop a reader between any two of them.
//
// # Layout
//
// The memory consists of aligned words of 64 bits, which both sides load and store atomically, in one order that all
// threads agree on (the order of Go's sync/atomic).
//
//	word                  holds
//	0                     the format, 0x526567656E740001
//	1, 2                  the number of cells C, at most 4,096, and of slots S, at most 1,048,576
//	3                     the identity of the page, which the agent also sends
//	4 to 7                zero
//	8 + c                 cell c: the end of a horizon
//	8 + C + 2s            slot s: the number of the tenure that has it, 0 if none has
//	8 + C + 2s + 1        slot s: its target
//
// Words are in the byte order of the processor. Ends are nanoseconds of the host's clock.
//
// A horizon is the end of all leases that the same voters back. Each tenure has a slot of its own. If bit 63 of its target is set, the other bits are a
// fixed end. Otherwise bits 0 to 11 name the cell of a horizon, and bits 12 to 62 are an edition. The writer uses every edition
// and every number of a tenure once.
//
// # Clock
//
// Instants are those of the clock of the host, which all processes of one time namespace share (clock.HostLow, clock.HostHigh):
// CLOCK_MONOTONIC_RAW + (CLOCK_BOOTTIME - CLOCK_MONOTONIC). It advances as the lease clock of each process does, which has an origin of
// its own. The agent turns the ends of leases into instants of the host's clock, and readers turn them into instants of their own,
// both rounded down. Lease clocks do not notice short suspends, so readers take session.Skew off.
//
// # Reading
//
// A reader loads the target, the cell that it names, the clock, the target again, and the number of the tenure. It decides only
// if both targets are equal and the number is its own. Otherwise it loads everything again, or finds that its tenure is over.
//
//   - Equal targets show that the target did not change in between, because editions are not used twice. Hence
//     the cell belonged to the tenure's horizon when it was loaded: a cell is used again only when no slot names it.
//   - The number is loaded last. A slot gets another number before it gets another target, and numbers do not come back: if the number
//     is still that of the tenure, so were all targets before.
//   - At the reading of the clock the tenure showed at least the end that the reader got: a horizon never moves back.
//
// # The announced deadline
//
// Nothing is released under a program that may still act before the highest end that it may have read. [Tenure.Freeze] stores a fixed end,
// and then loads the end of the horizon. A reader that accepted an end of the horizon loaded the target for the second time before that
// store, and the horizon never moves back. Hence Freeze loads at least what any reader accepted. No lock keeps the horizon from moving
// meanwhile: the goroutine that renews leases must not wait.
package page

// Package clock is the clock that leases run on.
//
//	PROTOCOLS §1.2 which clock           lease.go, source_*.go
//	PROTOCOLS §1.2 increasing samples    clock.go
//	PROTOCOLS §1.2 suspends and jumps    watch.go
//	PROTOCOLS §1.2 rate against peers    rates.go
//	the same clock for all processes of a host, for what they tell one another    host_*.go
//
// Promises between members compare lengths of time, so a lease clock must advance at the rate of real time, within ρ, and
// that whatever happens to the machine. Two clocks that every program has at hand do not: monotonic time stops while the
// machine is suspended, and follows the time service, which may pull it by 8 % and more. So the lease clock is
//
//	Linux    CLOCK_MONOTONIC_RAW + S, where S = CLOCK_BOOTTIME - CLOCK_MONOTONIC is the time suspended so far
//	macOS    CLOCK_MONOTONIC_RAW, which counts sleep there
//	Windows  interrupt time, which counts sleep
//
// all of them undisciplined. Reading S takes three readings; it is bracketed by two of monotonic time, and a new value is
// adopted only when it is more than a millisecond above the old one, so that the noise of reading is no drift. A machine
// that spends less than that in suspend is not noticed by Now; Late charges it all the same.
//
// # The cheap reading
//
// Raw and boot time take a system call each, while time.Now reads wall and monotonic time from memory that the kernel
// shares. Both come from one counter at one rate: their difference changes only when the machine was suspended or
// the wall clock was set. Late therefore remembers a full reading (W, M, L), with L no earlier than the clock at the
// instant of W and M, and answers from a cheap one (w, m)
//
//	L + 21/16 · max(w-W, m-M)
//
// as long as the two differences agree to a millisecond and no more than a millisecond passed; otherwise it reads in
// full. The claim is that the answer is not before the lease clock at the start of the call:
//
//   - Without a suspend since W, raw time advanced by at most m-M over the slowest rate of monotonic time, whatever
//     was done to the wall clock. The kernel's knobs that slow it (ticks by 10 %, frequency by 0.05 %, the phase loop by at most
//     12.5 %, adjtime by 0.05 %) come to 22.6 % if somebody turns them all at once; 21/16 covers 23.8 %. A time service uses 0.05 %,
//     or up to 8.3 % (chrony's default maxslewrate).
//   - With a suspend of length X, and a wall clock that was not set back, w-W holds all of X: nothing is missed, be X an
//     hour or a microsecond. This is so even if the reader loses the processor between the readings of w and m: w is
//     read first, and the answer is then right for that instant, which lies within the call.
//   - With a suspend of X and a wall clock that was set back by y since W, the answer misses at most min(X, y). That
//     happens only if X and y are equal to a millisecond and both fall between two full readings, which are no more
//     than a millisecond of running time apart. It ends with the next full reading. Now is never affected.
//
// So Late is late by at most 5/16 ms plus the length of the call, and early never, but for the last case. A caller that sees a
// lease end by it stops a little sooner than it might.
//
// The other way to a cheap reading, calling the kernel's shared code for raw and boot time ourselves, was not taken. It
// needs assembly for each architecture, and a switch to a system stack that is the Go runtime's private business. The
// way above costs a branch more than time.Now: see docs/clock.md for numbers.
//
// # What no clock can see
//
// A virtual machine that its host pauses, or restores from a snapshot, or a process that is frozen and moved (CRIU), finds
// all its clocks where they were. A Watcher sees the wall clock jump when the host sets it right; Rates sees that all peers leapt
// ahead; both come too late for an act in between. There only the token protects. Snapshots reads the generation counter of a
// vmclock device, where there is one.
package clock

// Package thread gives urgent work a thread of its own, with real-time scheduling where the process may have that.
//
// A member's loop, the killer of an agent and that of a runner must run on a busy host. What they start must not: children get
// ordinary scheduling, because the kernel resets it at a fork (SCHED_RESET_ON_FORK).
package thread

import (
	"os"
	"runtime"
)

// spareProcessors is how many of Go's processors a process with urgent threads has beside those of the host.
const spareProcessors = 2

// Spare gives the process some of Go's processors to spare, unless its environment says how many it has. A thread needs one to run,
// real-time or not. If all of them are with threads that the kernel has put aside, it waits for those: with two to spare that
// hardly happens.
func Spare() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + spareProcessors)
	}
}

// Scheduling says how the operating system schedules a thread.
type Scheduling string

const (
	// Realtime threads run as soon as they can, before all ordinary ones.
	Realtime Scheduling = "real-time"
	// Ordinary threads take their turn.
	Ordinary Scheduling = "ordinary"
)

// Run runs f on a thread of its own, real-time if that is asked for and permitted, and returns after f. The thread ends with f, so that
// no other goroutine inherits it.
func Run(realtime bool, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = Claim(realtime) // never unlocked: the thread ends with this goroutine
		f()
	}()
	<-done
}

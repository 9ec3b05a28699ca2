// Package parent starts child processes from a thread that stays for as long as this process does.
//
// On Linux a child that is to die with its parent (syscall.SysProcAttr.Pdeathsig) dies with the thread that started it. Threads
// of Go end while the process goes on: with a goroutine that had one to itself. Started by [exec.Cmd.Start], such a child is
// killed at random in a process that has them, such as one with members or with a relay.
package parent

import (
	"os/exec"
	"runtime"
	"sync"
)

// Start starts a command, as its own method does.
func Start(c *exec.Cmd) error {
	done := make(chan error)
	thread() <- func() { done <- c.Start() }
	return <-done
}

// thread takes what is to be done on the thread that stays.
var thread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

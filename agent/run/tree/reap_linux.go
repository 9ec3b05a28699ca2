package tree

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/runtime/parent"
)

// A Reaper starts the children of a runner and takes note of the deaths of those that it adopted. There is one in a
// process.
type Reaper struct {
	// mu is held while a child is started or an adopted one is reaped, so that no child is taken for an adopted one.
	mu       sync.Mutex
	children map[int]bool
}

// ProcessReaper returns the one of this process, which from now on adopts all that its children leave behind: what the
// process starts by other means may be taken for adopted.
func ProcessReaper() (*Reaper, error) { return processReaper() }

var processReaper = sync.OnceValues(newReaper)

// adopting says that this process adopts whoever loses its parent below it.
var adopting atomic.Bool

func newReaper() (*Reaper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	adopting.Store(true)
	n := &Reaper{children: make(map[int]bool)}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	go n.reap(deaths)
	return n, nil
}

// Start starts a command of which this process will take note itself, by Wait.
func (r *Reaper) Start(c *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := parent.Start(c)
	if err == nil {
		r.children[c.Process.Pid] = true
	}
	return err
}

// Wait waits for a command that Start started.
func (r *Reaper) Wait(c *exec.Cmd) error {
	err := c.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.children, c.Process.Pid)
	return err
}

// reap takes note of the deaths of adopted children. One signal may stand for many deaths.
func (r *Reaper) reap(deaths <-chan os.Signal) {
	for range deaths {
		r.reapAdopted()
	}
}

// reapAdopted takes note of all adopted children that are dead.
func (r *Reaper) reapAdopted() {
	// To look takes milliseconds, in which nobody has to wait. Who was dead then and is not one of ours now is adopted, or
	// is another one with the same number that is not dead, which Wait4 leaves alone.
	all, err := readAll()
	if err != nil {
		return // the next death is another chance
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range all {
		if s.dead && s.parent == os.Getpid() && !r.children[s.pid] {
			_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
		}
	}
}

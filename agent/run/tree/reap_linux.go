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

// A Nursery starts the children of a runner and takes note of the deaths of those that it adopted. There is one in a
// process.
type Nursery struct {
	// mu is held while a child is started or an adopted one is reaped, so that no child is taken for an adopted one.
	mu  sync.Mutex
	own map[int]bool
}

// TheNursery returns the one of this process, which from now on adopts all that its children leave behind: what the
// process starts by other means may be taken for adopted.
func TheNursery() (*Nursery, error) { return nursery() }

var nursery = sync.OnceValues(newNursery)

// adopting says that this process adopts whoever loses its parent below it.
var adopting atomic.Bool

func newNursery() (*Nursery, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	adopting.Store(true)
	n := &Nursery{own: make(map[int]bool)}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	go n.reap(deaths)
	return n, nil
}

// Start starts a command of which this process will take note itself, by Wait.
func (n *Nursery) Start(c *exec.Cmd) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := parent.Start(c)
	if err == nil {
		n.own[c.Process.Pid] = true
	}
	return err
}

// Wait waits for a command that Start started.
func (n *Nursery) Wait(c *exec.Cmd) error {
	err := c.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.own, c.Process.Pid)
	return err
}

// reap takes note of the deaths of adopted children. One signal may stand for many deaths.
func (n *Nursery) reap(deaths <-chan os.Signal) {
	for range deaths {
		n.sweep()
	}
}

// sweep takes note of all adopted children that are dead.
func (n *Nursery) sweep() {
	// To look takes milliseconds, in which nobody has to wait. Who was dead then and is not one of ours now is adopted, or
	// is another one with the same number that is not dead, which Wait4 leaves alone.
	all, err := readAll()
	if err != nil {
		return // the next death is another chance
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range all {
		if s.dead && s.parent == os.Getpid() && !n.own[s.pid] {
			_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
		}
	}
}

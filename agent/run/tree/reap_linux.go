package tree

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/runtime/parent"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// A Reaper starts the children of a runner and takes note of the deaths of those that it adopted. There is one in a
// process.
type Reaper struct {
	// mu is held while a child is started or an adopted one is reaped, so that no child is taken for an adopted one.
	mu sync.Mutex
	// children are those that this process started and has not waited for; true: helpers, which are part of no tree.
	children map[int]bool
	// waiting counts deaths of which note is being taken: meanwhile no list of children is exact.
	waiting int

	// numbers guards unreaped, the children whose numbers are their own still. A fork that hangs does not hold it.
	numbers  sync.Mutex
	unreaped map[int]bool
}

// ProcessReaper returns the one of this process, which from now on adopts all that its children leave behind: what the
// process starts by other means may be taken for adopted.
func ProcessReaper() (*Reaper, error) { return processReaper() }

var processReaper = sync.OnceValues(newReaper)

// adopting says that this process adopts whatever loses its parent below it.
var adopting atomic.Bool

func newReaper() (*Reaper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, os.NewSyscallError("prctl", err)
	}
	adopting.Store(true)
	thread.Spare() // for the one that kills
	n := &Reaper{children: make(map[int]bool), unreaped: make(map[int]bool)}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	go n.reap(deaths)
	return n, nil
}

// Start starts a helper, of which this process will take note itself, by Wait. Its environment must be one of [Helper].
func (r *Reaper) Start(c *exec.Cmd) error { return r.start(c, true) }

func (r *Reaper) start(c *exec.Cmd, helps bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := parent.Start(c)
	if err == nil {
		r.children[c.Process.Pid] = helps
		r.numbers.Lock()
		r.unreaped[c.Process.Pid] = true
		r.numbers.Unlock()
	}
	return err
}

// Wait waits for a command that Start started.
func (r *Reaper) Wait(c *exec.Cmd) error {
	awaitDeath(c.Process.Pid)
	r.mu.Lock()
	r.waiting++
	r.mu.Unlock()
	r.numbers.Lock()
	delete(r.unreaped, c.Process.Pid)
	r.numbers.Unlock()
	err := c.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	delete(r.children, c.Process.Pid)
	return err
}

// KillGroup kills the process group of a command that Start started, and that leads one. It does nothing once Wait has seen the
// command dead: its number may be another's then.
func (r *Reaper) KillGroup(c *exec.Cmd) {
	r.numbers.Lock()
	defer r.numbers.Unlock()
	if r.unreaped[c.Process.Pid] {
		_ = unix.Kill(-c.Process.Pid, unix.SIGKILL)
	}
}

// awaitDeath waits until a child of this process is dead, and leaves it to be waited for.
func awaitDeath(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// reap takes note of the deaths of adopted children. One signal may stand for many deaths.
func (r *Reaper) reap(deaths <-chan os.Signal) {
	for range deaths {
		r.reapAdopted()
	}
}

// reapAdopted takes note of all adopted children that are dead.
func (r *Reaper) reapAdopted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	children, ok := childrenNow()
	if !ok {
		children, _ = pidsNow() // Wait4 leaves others than children alone
	}
	for _, pid := range children {
		if _, mine := r.children[pid]; !mine {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// listed returns the children of this process, dead ones included, and which of them are helpers; false: it cannot find out. While it looks
// nobody is reaped, so that no child is overlooked: one that is born meanwhile has an ancestor that is a child, dead or alive.
func (r *Reaper) listed() (children []int, helpers map[int]bool, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if childless() {
		return nil, nil, true
	}
	if r.waiting > 0 {
		return nil, nil, false
	}
	children, ok = childrenNow()
	helpers = make(map[int]bool, len(r.children))
	for pid, helps := range r.children {
		if helps {
			helpers[pid] = true
		}
	}
	return children, helpers, ok
}

// childrenNow reads the children of all threads of this process, which the kernel lists for all users; false: it does not.
func childrenNow() ([]int, bool) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		return nil, false
	}
	var out []int
	for _, path := range lists {
		b, err := os.ReadFile(path)
		if err != nil { // the thread may have ended, and another have its children
			return nil, false
		}
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out, true
}

// childless says that this process has no children at all, dead ones included. The kernel looks at all of them at once.
func childless() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return errors.Is(err, unix.ECHILD)
		}
	}
}

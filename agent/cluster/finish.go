package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// OpenCrash is Open for tests that do not care how processes stop: they are killed when the test ends.
func OpenCrash(t T, o Options) *Cluster {
	t.Helper()
	c := Open(t, o)
	t.Cleanup(func() {
		if err := c.CrashAll(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return c
}

// Finish asks a process to stop, and fails the test if it does not do so in good order.
func (c *Cluster) Finish(t T, name string) {
	t.Helper()
	p, err := c.find(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p.Stop(Patience)
	if code := p.ExitCode(); code != 0 {
		t.Errorf("%s was asked to stop, and ended with status %d", name, code)
	}
}

// CrashAll ends all processes without warning, also those that are paused, and with them the programs that write journals and
// have outlived their runner. Close has nothing to wait for then.
func (c *Cluster) CrashAll() error {
	c.mu.Lock()
	var all []*Process
	for _, p := range c.processes {
		_ = p.Signal(syscall.SIGKILL)
		all = append(all, p)
	}
	c.mu.Unlock()
	return Wait(Patience, "no process is left", func() bool {
		spans, err := c.Spans()
		if err != nil {
			return false
		}
		left := false
		for _, s := range spans {
			if s.Pid != os.Getpid() && c.Alive(s) {
				left = true
				if p, err := os.FindProcess(s.Pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		for _, p := range all {
			left = left || !p.Ended()
		}
		return !left
	})
}

// Alive reports whether the process that wrote a span still runs: it has a journal of the cluster open. Linux only.
func (c *Cluster) Alive(s Span) bool {
	dir := fmt.Sprintf("/proc/%d/fd", s.Pid)
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && strings.HasPrefix(to, c.journals()+"/") {
			return true
		}
	}
	return false
}

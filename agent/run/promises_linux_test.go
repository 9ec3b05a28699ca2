package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
)

// The hooks of an end are the lost hook and two calls of the notify script.
func TestHooksOfOneEndHaveThreeTimeouts(t *testing.T) {
	h := Hooks{Lost: []string{"true"}, Timeout: 10 * time.Second}
	if got := h.bound(); got != 3*h.Timeout+time.Second {
		t.Errorf("they have %v", got)
	}
}

// A hook whose runner or keeper is killed acts no more. The process that runs the hook is this test once more.
func TestHooksDieWithTheProcessThatStartedThem(t *testing.T) {
	const in = "REGENT_TEST_HOOK_FILE"
	if file := os.Getenv(in); file != "" {
		reaper, err := tree.ProcessReaper()
		if err != nil {
			t.Fatal(err)
		}
		h := Hooks{Lost: []string{"sh", "-c", "echo $$ >" + file + "; exec sleep 1000"}, Timeout: time.Hour, Reaper: reaper, Log: t.Logf}
		h.lost(t.Context(), os.Environ(), "g", programExited)
		return
	}
	file := filepath.Join(t.TempDir(), "pid")
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	c.Env = append(os.Environ(), in+"="+file)
	reaper, err := tree.ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	if err := reaper.Start(c); err != nil {
		t.Fatal(err)
	}
	var pid int
	cluster.Eventually(t, "the hook runs", func() bool {
		b, _ := os.ReadFile(file)
		n, _ := fmt.Sscanln(string(b), &pid)
		return n == 1
	})
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = reaper.Wait(c)
	cluster.Eventually(t, "the hook is dead", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(b), ") Z ")
	})
}

// Others read a pipe that the runner made only if they make it themselves.
func TestAFifoIsForItsOwnUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	f, err := openFifo(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	s, err := os.Stat(path)
	if err != nil || s.Mode() != os.ModeNamedPipe|0o600 {
		t.Errorf("made with mode %v, %v", s.Mode(), err)
	}
}

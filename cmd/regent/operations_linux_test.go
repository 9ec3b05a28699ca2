package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tried returns the blocks of a page that say that they are tried, one after the other.
func tried(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	in, blocks := false, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```sh tried"):
			in = true
			blocks++
		case strings.HasPrefix(line, "```"):
			in = false
		case in:
			b.WriteString(line)
		}
	}
	if blocks < 5 {
		t.Fatalf("%s: only %d blocks are tried", page, blocks)
	}
	return b.String()
}

// freeRun returns the first of three ports in a row that are free, for both protocols.
func freeRun(t *testing.T, from int) int {
	t.Helper()
	for port := from; port < from+2000; port += 3 {
		ok := true
		for i := range 3 {
			addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i))
			u, err := net.ListenPacket("udp4", addr)
			if err != nil {
				ok = false
				break
			}
			u.Close()
			l, err := net.Listen("tcp4", addr)
			if err != nil {
				ok = false
				break
			}
			l.Close()
		}
		if ok {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

// playPage does what docs/operations.md says can be tried on one host, on other ports, in another directory, and with the leases of a
// profile that a busy host keeps.
func playPage(t *testing.T, self, work string) ([]byte, error) {
	if err := os.Symlink(self, filepath.Join(work, "regent")); err != nil {
		t.Fatal(err)
	}
	udp, http := freeRun(t, 21000), freeRun(t, 23000)
	script := tried(t, "../../docs/operations.md")
	script = strings.ReplaceAll(script, "/tmp/try", filepath.Join(work, "try"))
	script = strings.ReplaceAll(script, "--loopback", "--profile wan --port "+strconv.Itoa(udp)+" --http-port "+strconv.Itoa(http)+" --loopback")
	script = strings.ReplaceAll(script, ":8011", ":"+strconv.Itoa(http))
	script = strings.ReplaceAll(script, ":8012", ":"+strconv.Itoa(http+1))
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	file := filepath.Join(work, "page.sh") // not an argument, which pgrep would find
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, "bash", "-eu", file)
	c.Env = append(os.Environ(), "PATH="+work+":"+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	return out, err
}

// What docs/operations.md says can be tried on one host works as it stands there.
func TestTheOperationsPageWorks(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := pageSays(playPage(t, self, t.TempDir())); err != nil {
		t.Fatal(err)
	}
}

// pageSays looks at what came out of trying the page.
func pageSays(out []byte, err error) error {
	for _, want := range []string{
		"a leads with token ", "a leads billing with token", // verify
		"billing was handed over: b leads it", "b leads with token ",
		"transferred b: the group was handed over to b", // explain
		`"leader":"b"`,   // curl
		"\n200\n503\n",   // the balancer
		"regent_ready 1", // metrics
	} {
		if err == nil && !strings.Contains(string(out), want) {
			err = fmt.Errorf("%q was not said", want)
		}
	}
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	return nil
}

// restart restarts an agent after a change of its file.
func (h *runCluster) restart(name string, change func(text string) string) {
	h.t.Helper()
	text, err := os.ReadFile(h.ConfigFile(name))
	h.check(err)
	h.Finish(h.t, name)
	h.check(os.WriteFile(h.ConfigFile(name), []byte(change(string(text))), 0o600))
	h.startAgent(name)
}

// A member whose disk is lost takes part again with an empty directory and a new key.
func TestAMemberWithALostDiskComesBack(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	h.agree("at first")
	h.check(h.Crash("b"), os.RemoveAll(filepath.Join(h.Dir, "b")))
	public := h.output("keys", "exchange", "--config", h.ConfigFile("b"))
	h.list(public, "a", "c")
	h.startAgent("b")
	h.agree("with an empty disk at b")
	h.judge()
}

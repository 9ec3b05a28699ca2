package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/terminal/ptytest"
)

// A person looks at a real agent through a terminal of type xterm, makes the window smaller, has a leader resign, and leaves.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	h := startHooked(t, []string{"a"}, "sleep", "1000")
	p := ptytest.Sit(t, 100, 24)
	top := command("top", "--socket", h.Socket("a"))
	top.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "SSH_TTY=/dev/pts/0")
	top.Stdin, top.Stdout, top.Stderr = p.Terminal, p.Terminal, p.Terminal
	top.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	h.check(top.Start())
	ended := make(chan error, 1)
	go func() { ended <- top.Wait() }()
	shows := func(words ...string) {
		t.Helper()
		cluster.Eventually(t, "the screen shows "+strings.Join(words, ", "), func() bool { return containsAll(p.Shown(), words) })
	}
	shows("a takes part", "LAST CHANGE", "was elected", "q quit")
	p.Forget()
	p.Resize(t, 70, 10)
	shows("GROUP", "…")
	p.Type(t, "g")
	shows("give it up? y")
	p.Type(t, "y")
	shows("done: have the leader of g give it up")
	p.Type(t, "q")
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	cluster.Eventually(t, "the screen before is shown again", func() bool { return strings.Contains(p.Shown(), "\x1b[?1049l") })
}

// Where no text can be placed the error names what can be used.
func TestTopOnADumbTerminal(t *testing.T) {
	p := ptytest.Sit(t, 80, 24)
	top := command("top")
	top.Env = append(os.Environ(), "TERM=dumb")
	top.Stdin, top.Stdout = p.Terminal, p.Terminal
	var said strings.Builder
	top.Stderr = &said
	if err := top.Run(); err == nil || top.ProcessState.ExitCode() != 2 || said.String() != "regent: the terminal cannot place text ($TERM is dumb or empty): use 'regent watch'\n" {
		t.Errorf("%v: %q", err, said.String())
	}
}

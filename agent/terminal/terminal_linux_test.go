package terminal_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/terminal"
	"github.com/regentproject/regent/agent/terminal/ptytest"
)

// patience is for a busy host.
const patience = cluster.Patience

func open(t *testing.T) (*ptytest.Person, *terminal.Terminal) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	p := ptytest.Sit(t, 80, 24)
	if err := terminal.Usable(p.Terminal, p.Terminal); err != nil {
		t.Fatal(err)
	}
	x, err := terminal.Open(p.Terminal, p.Terminal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return p, x
}

func key(t *testing.T, x *terminal.Terminal) string {
	t.Helper()
	select {
	case k, ok := <-x.Keys():
		if !ok {
			t.Fatal("the terminal has gone")
		}
		return k
	case <-time.After(patience):
		t.Fatal("no key came")
	}
	return ""
}

func TestKeysComeAndLinesGo(t *testing.T) {
	p, x := open(t)
	p.Type(t, "q /\x1b[A\x1b[6~\r\x7f\x03")
	for _, want := range []string{"q", "space", "/", "up", "pgdown", "enter", "backspace", "ctrl+c"} {
		if got := key(t, x); got != want {
			t.Errorf("got key %q, want %q", got, want)
		}
	}
	x.Draw([]string{"first line", "", "third \x1b[1mline\x1b[0m"})
	cluster.Eventually(t, "both lines on the screen", func() bool {
		return strings.Contains(p.Shown(), "first") && strings.Contains(p.Shown(), "third")
	})
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	cluster.Eventually(t, "the screen before, after this one", func() bool {
		s := p.Shown()
		return strings.Contains(s, "\x1b[?1049h") && strings.Index(s, "\x1b[?1049l") > strings.Index(s, "third")
	})
	x.Draw([]string{"nobody sees this"}) // does not wait for a terminal that is closed
}

func TestASizeIsFollowed(t *testing.T) {
	p, x := open(t)
	if w, h := x.Size(); w != 80 || h != 24 {
		t.Errorf("the size is %d by %d", w, h)
	}
	p.Resize(t, 40, 10)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	select {
	case <-x.Resized():
	case <-time.After(patience):
		t.Fatal("the change of size was not noticed")
	}
	if w, h := x.Size(); w != 40 || h != 10 {
		t.Errorf("the size is %d by %d", w, h)
	}
}

func TestAProgramThatIsBusyIsNotWaitedFor(t *testing.T) {
	p, x := open(t)
	p.Type(t, strings.Repeat("x", 1000))
	for range 100 {
		x.Draw([]string{"busy"})
	}
}

func TestNoColour(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	p, x := open(t)
	x.Draw([]string{"a \x1b[31mred\x1b[0m word"})
	cluster.Eventually(t, "the word on the screen", func() bool { return strings.Contains(p.Shown(), "red") })
	if s := p.Shown(); strings.Contains(s, "\x1b[31m") {
		t.Errorf("colours although NO_COLOR is set: %q", s)
	}
}

func TestATerminalThatHangsUpHasNoMoreKeys(t *testing.T) {
	p, x := open(t)
	p.Leave()
	select {
	case k, ok := <-x.Keys():
		if ok {
			t.Errorf("got key %q", k)
		}
	case <-time.After(patience):
		t.Error("nothing says that the terminal has gone")
	}
}

func TestAScreenNeedsATerminalThatPlacesText(t *testing.T) {
	p := ptytest.Sit(t, 80, 24)
	for _, is := range []string{"", "dumb"} {
		t.Setenv("TERM", is)
		if err := terminal.Usable(p.Terminal, p.Terminal); err != terminal.ErrDumb {
			t.Errorf("TERM=%q: %v", is, err)
		}
	}
	if err := terminal.Usable(strings.NewReader(""), p.Terminal); err != terminal.ErrNone {
		t.Error(err)
	}
}

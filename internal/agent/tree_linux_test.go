package agent

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/session"
)

// Who asks the agent to kill is believed about itself only, and about no shorter guard time than the agent's.
func TestARunnerIsBelievedOnlyAboutItself(t *testing.T) {
	a := &Agent{log: slog.New(slog.NewTextHandler(io.Discard, nil)), timing: regent.LAN}
	own := &session.Tree{Mark: "0123456789abcdef", Runner: os.Getpid()}
	if _, err := a.keep(&session.Request{Tree: own}, os.Getppid()); err == nil || !strings.Contains(err.Error(), "is not the process that asks") {
		t.Errorf("another process was believed: %v", err)
	}
	for asked, want := range map[time.Duration]time.Duration{0: regent.LAN.Guard, time.Millisecond: regent.LAN.Guard, time.Second: time.Second} {
		k, err := a.keep(&session.Request{Tree: own, Guard: asked}, os.Getpid())
		if err != nil || k.guard != want {
			t.Errorf("guard %v: %+v, %v, want %v", asked, k, err, want)
		}
	}
	// A program that is no runner has nothing to be killed.
	k, err := a.keep(&session.Request{}, os.Getpid())
	if k != nil || err != nil {
		t.Errorf("%v, %v", k, err)
	}
	k.kill()
	k.clear()
}

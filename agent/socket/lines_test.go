package socket

import (
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/core"
)

// A program that counts from when it reads a line may read late, on a clock that is slow.
func TestRemainingIsLessTheGuardTimeAndATwelfth(t *testing.T) {
	a := &Server{core: &core.Agent{Timing: regent.LAN}}
	if got, want := a.allow(1200*time.Millisecond), 1100*time.Millisecond-regent.LAN.Guard; got != want {
		t.Errorf("of 1.2 s %v are told, want %v", got, want)
	}
}

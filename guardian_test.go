package regent

import (
	"errors"
	"strings"
	"testing"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/runtime/world"
)

func TestGuardianIsOfACouncil(t *testing.T) {
	c := Config{Name: "a", Guardian: true}
	if err := c.checkOn(); !errors.Is(err, engine.ErrUnsupported) || !strings.Contains(err.Error(), "Guardian") {
		t.Errorf("with an engine: %v", err)
	}
}

func TestGuardianNeedsAProcess(t *testing.T) {
	m := &Member{config: Config{Guardian: true}, world: world.World{Clock: clock.Package()}}
	m.present.Store(&council{peers: []Peer{{Name: "a"}}})
	if err := m.startGuardian(); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("in memory: %v", err)
	}
}

// A witness leads nothing, so nobody waits for it.
func TestWitnessHasNoGuardian(t *testing.T) {
	m := &Member{config: Config{Guardian: true}, world: world.World{Clock: clock.Package()}}
	m.present.Store(&council{peers: []Peer{{Name: "a", Witness: true}}})
	if err := m.startGuardian(); err != nil || m.guardian != nil {
		t.Errorf("%v, %v", m.guardian, err)
	}
}

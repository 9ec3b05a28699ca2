package regent

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/protocol"
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

// The guardian of a copied virtual machine knows only how to report the original. It reports nothing from the moment at which the copy is noticed.
func TestGuardianIsSilentOnceASnapshotIsNoticed(t *testing.T) {
	w := make(wordsOfPage, guardian.Size(0))
	p, err := guardian.NewPage(w, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := &Member{log: slog.New(slog.DiscardHandler), guardian: &guarded{standing: guardian.NewStanding(p)}}
	look := m.restored(clock.NewSnapshots())
	if _, yes := look(protocol.Time(time.Hour)); yes || guardian.ModeOf(w) != guardian.WithinProcess {
		t.Fatalf("at first: restored %t, mode %d", yes, guardian.ModeOf(w))
	}
	if _, yes := look(0); !yes || guardian.ModeOf(w) != guardian.Unknown { // the wall clock is an hour further than the lease clock
		t.Errorf("after a snapshot: restored %t, mode %d", yes, guardian.ModeOf(w))
	}
}

type wordsOfPage []uint64

func (w wordsOfPage) Len() int              { return len(w) }
func (w wordsOfPage) Load(i int) uint64     { return w[i] }
func (w wordsOfPage) Store(i int, v uint64) { w[i] = v }

package regent

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
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
	if err := m.startGuardian(false); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("in memory: %v", err)
	}
}

// spyMirror notes which groups the guardian would keep when each call comes.
type spyMirror struct {
	runtime.Mirror
	kept func() []protocol.Group
	seen map[string][]protocol.Group
}

func (s *spyMirror) Behind(protocol.Group, uint64, protocol.HorizonID) { s.seen["behind"] = s.kept() }
func (s *spyMirror) Fixed(protocol.Group, uint64, protocol.Time)       { s.seen["fixed"] = s.kept() }
func (s *spyMirror) Extended(protocol.HorizonID, protocol.Time)        {}
func (s *spyMirror) Ended(protocol.Group, uint64)                      { s.seen["ended"] = s.kept() }

// memory is a page of a guardian.
type pageMemory []uint64

func (m pageMemory) Len() int              { return len(m) }
func (m pageMemory) Load(i int) uint64     { return m[i] }
func (m pageMemory) Store(i int, v uint64) { m[i] = v }

// A program may act as soon as it can see its lease, and until the last end that it may have seen.
func TestGroupOfAProgramElsewhereIsKeptFromBeforeItsLeaseIsShown(t *testing.T) {
	w := make(pageMemory, guardian.Size(4))
	page, err := guardian.NewPage(w, 4)
	if err != nil {
		t.Fatal(err)
	}
	lease := clock.Package()
	spy := &spyMirror{seen: make(map[string][]protocol.Group), kept: func() []protocol.Group {
		s, err := guardian.Read(w)
		if err != nil {
			t.Fatal(err)
		}
		kept, _ := s.Keeps(nil)
		return kept
	}}
	m := (&guarded{leases: guardian.NewLeases(page)}).mirror(spy, lease)
	m.Fixed("a", 1, 0)
	m.Behind("b", 1, 7)
	m.Extended(7, lease.Now().Add(time.Hour))
	m.Ended("b", 1)
	want := map[string][]protocol.Group{"fixed": {"a"}, "behind": {"a", "b"}, "ended": {"a", "b"}}
	if !reflect.DeepEqual(spy.seen, want) {
		t.Errorf("kept %v, want %v", spy.seen, want)
	}
	if kept := spy.kept(); !slices.Equal(kept, want["ended"]) {
		t.Errorf("keeps %q after the lease, which lasts an hour", kept)
	}
}

// A witness leads nothing, so nobody waits for it.
func TestWitnessHasNoGuardian(t *testing.T) {
	m := &Member{config: Config{Guardian: true}, world: world.World{Clock: clock.Package()}}
	m.present.Store(&council{peers: []Peer{{Name: "a", Witness: true}}})
	if err := m.startGuardian(false); err != nil || m.guardian != nil {
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

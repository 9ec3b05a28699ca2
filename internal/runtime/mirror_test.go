package runtime

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// mirrorOfOne shows one lease: where it lies, and the ends of horizons.
type mirrorOfOne struct {
	horizons map[protocol.HorizonID]protocol.Time
	behind   protocol.HorizonID // zero: it ends at end
	end      protocol.Time
}

func (m *mirrorOfOne) Extended(h protocol.HorizonID, until protocol.Time) { m.horizons[h] = until }
func (m *mirrorOfOne) Dropped(h protocol.HorizonID)                       { delete(m.horizons, h) }
func (m *mirrorOfOne) Behind(_ protocol.Group, _ uint64, h protocol.HorizonID) {
	m.behind = h
}
func (m *mirrorOfOne) Fixed(_ protocol.Group, _ uint64, until protocol.Time) {
	m.behind, m.end = 0, until
}
func (m *mirrorOfOne) Ended(protocol.Group, uint64) { m.behind, m.end = 0, 0 }

func (m *mirrorOfOne) until() protocol.Time {
	if m.behind != 0 {
		return m.horizons[m.behind]
	}
	return m.end
}

// A mirror shows at every moment what the lease itself shows: while it moves to another horizon, and once it is left to run out.
func TestMirrorShowsWhatTheLeaseShows(t *testing.T) {
	m := &mirrorOfOne{horizons: make(map[protocol.HorizonID]protocol.Time)}
	now := func() protocol.Time { return 50 }
	b := NewGroupTable(GroupTableOptions{Late: now, Grace: 10 * time.Nanosecond, Mirror: m})
	b.loop = new(Loop)
	g, c := b.Group("g"), &candidate{lease: make(chan *Lease, 1)}
	g.waiting = []*candidate{c}
	v := protocol.View{Group: "g", Domain: protocol.Quorum, Tenure: 1, Term: 1, Horizon: 1, Until: protocol.Never}
	b.View(50, &v)
	b.Horizon(50, protocol.Horizon{ID: 1, Until: 100})
	b.Published(50)
	l := <-c.lease
	same := func(want protocol.Time, when string) {
		t.Helper()
		if l.Until() != want || m.until() != want {
			t.Errorf("MirrorAgrees: %s: the lease ends at %d, the mirror shows %d, want %d", when, l.Until(), m.until(), want)
		}
	}
	same(100, "at first")
	b.Horizon(50, protocol.Horizon{ID: 1, Until: 110})
	same(110, "after a renewal")
	v.Horizon = 2
	b.View(50, &v)
	b.Horizon(50, protocol.Horizon{ID: 1, Until: 500})
	same(110, "after the old horizon moved on")
	b.Horizon(50, protocol.Horizon{ID: 2, Until: 200})
	b.Published(50)
	same(200, "behind the new horizon")
	b.step(50, l, tenure.Event{Kind: tenure.Stop})
	b.Horizon(50, protocol.Horizon{ID: 2, Until: 210})
	same(210, "while the program stops")
	b.step(60, l, tenure.Event{Kind: tenure.Tick})
	b.Horizon(60, protocol.Horizon{ID: 2, Until: 220})
	same(210, "once its grace is over")
}

package lease

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestCeilingStaysHalfAheadOfAllThatWasSeen(t *testing.T) {
	var x Terms
	now := protocol.Time(time.Hour)
	c := x.Begin(now)
	if c != LeastAhead {
		t.Errorf("begins at %d", c)
	}
	now = now.Add(growWithin)
	x.See(LeastAhead / 2)
	if again := x.Ceiling(now, c); again != c {
		t.Errorf("raised to %d for nothing", again)
	}
	x.See(LeastAhead/2 + 1)
	if c := x.Ceiling(now, c); c != LeastAhead/2+1+LeastAhead {
		t.Errorf("ceiling %d", c)
	}
	x.SeeFloor(MaxTerm + 5)
	if c := x.Ceiling(now, c); c != MaxTerm || x.Highest != MaxTerm || x.Peers != MaxTerm {
		t.Errorf("beyond the highest term: %d, %+v", c, x)
	}
	if c := x.Ceiling(now, MaxTerm); c != MaxTerm {
		t.Errorf("raised above the highest term: %d", c)
	}
}

// However many terms are used in a second, the ceiling is raised seldom enough for any disk. When it is calm again steps are small again.
func TestStepOfTheCeilingFollowsTheLoad(t *testing.T) {
	for _, c := range []struct {
		perSecond uint64
		most      uint64 // that may be skipped after the first minute
	}{{0, LeastAhead}, {1, LeastAhead}, {10, 1 << 9}, {1000, 1 << 16}, {20_000, MostAhead}} {
		var x Terms
		now := protocol.Time(time.Hour)
		asked, last, shortest := x.Begin(now), now, time.Duration(time.Hour)
		for i := range 600 { // tenths of a second
			now = now.Add(100 * ms)
			x.Use(x.Used + c.perSecond/10)
			if c.perSecond == 1 && i%10 == 0 {
				x.Use(x.Used + 1)
			}
			next := x.Ceiling(now, asked)
			if next == asked {
				continue
			}
			if i > 300 {
				shortest = min(shortest, now.Sub(last))
			}
			asked, last = next, now
		}
		if asked-x.Used > c.most {
			t.Errorf("%d terms a second: %d ahead, want at most %d", c.perSecond, asked-x.Used, c.most)
		}
		if shortest < growWithin/2 {
			t.Errorf("%d terms a second: raised twice in %v", c.perSecond, shortest)
		}
		now = now.Add(calmAfter)
		x.Use(asked)
		if next := x.Ceiling(now, asked); next != asked+LeastAhead {
			t.Errorf("%d terms a second: raised by %d after a calm while", c.perSecond, next-asked)
		}
	}
}

// What a member merely hears of is no reason for its next start to begin higher.
func TestUsedIsWhatWasAcceptedProposedOrFolded(t *testing.T) {
	c := newCouncil(t, plain(3))
	x := &c.members[0].terms
	c.do(0, func(h *half) { h.grantor.See(c.now, "g", 7); h.terms.SeeFloor(6) })
	if x.Used != 0 || x.Highest != 7 {
		t.Errorf("%+v after hearing of 7", *x)
	}
	c.try(0, "g")
	if c.led(0, "g"); x.Used != 8 || c.members[1].terms.Used != 8 {
		t.Errorf("proposed 8: used %d; accepted it: used %d", x.Used, c.members[1].terms.Used)
	}
	c.request(1, 0, Request{Seq: 99, Releases: []Release{{Group: "h", Of: c.ident(0), Term: 12, To: protocol.Nobody}}})
	if u := c.members[1].terms.Used; u != 12 {
		t.Errorf("heard the release of 12: used %d", u)
	}
	c.do(2, func(h *half) {
		h.grantor.See(c.now, "idle", 20)
		h.grantor.Sweep(c.now.Add(time.Hour), time.Minute, func(g protocol.Group) bool { return g != "idle" })
		if h.terms.Floor != 20 || h.terms.Used != 20 {
			t.Errorf("folded 20: %+v", h.terms)
		}
		h.grantor.Raise(30)
		if h.terms.Used != 30 {
			t.Errorf("raised to 30: %+v", h.terms)
		}
	})
}

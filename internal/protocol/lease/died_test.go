package lease

import (
	"testing"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// died gives a voter the report that a member is dead.
func (c *council) died(to protocol.Rank, who protocol.Ident, r obituary.Report) (took bool) {
	c.do(to, func(h *half) { took = h.grantor.Died(c.now, who, &r) })
	return took
}

// holder returns who has a group, as a voter knows.
func (c *council) holder(of protocol.Rank, g protocol.Group) protocol.Ident {
	return c.members[of].grantor.Status(c.now, g).Holder
}

func TestReportOfADeathEndsWhatThatIncarnationHas(t *testing.T) {
	c := newCouncil(t, plain(4))
	c.claim(0, 1, 1, Claim{Group: "old", Tenure: 1, Term: 1})
	c.restart(1, c.now)
	for i, g := range []protocol.Group{"a", "b", "c"} {
		c.claim(0, 1, uint64(i+1), Claim{Group: g, Tenure: 1, Term: 1})
	}
	c.request(0, 1, Request{Seq: 4, More: []Ask{{Length: 250 * ms, Delta: 250 * ms}}, Claims: []Claim{{Group: "long", Tenure: 1, Term: 1, Length: 250 * ms}}})
	c.claim(0, 2, 1, Claim{Group: "other", Tenure: 1, Term: 1})
	dead := c.ident(1)
	if !c.died(0, dead, obituary.Report{Kept: []protocol.Group{"b"}}) {
		t.Fatal("the report was not taken")
	}
	for g, want := range map[protocol.Group]protocol.Ident{"a": protocol.NoIdent, "b": dead, "c": protocol.NoIdent, "long": protocol.NoIdent,
		"other": c.ident(2), "old": {Rank: 1, Inc: dead.Inc - 1}} {
		if got := c.holder(0, g); got != want {
			t.Errorf("%v has %q, want %v", got, g, want)
		}
	}
	for _, f := range facts(c.members[0], protocol.EvUnassign) {
		if f.Why != "died" || f.Peer != dead {
			t.Errorf("unassigned from %v because %q", f.Peer, f.Why)
		}
	}
	// What is free can be had at once, at a higher term only.
	if r := c.claim(0, 3, 1, Claim{Group: "a", Tenure: 1, Term: 1}); r.Code != Low {
		t.Errorf("at the term of the dead: %v, want too low", r.Code)
	}
	if r := c.claim(0, 3, 2, Claim{Group: "a", Tenure: 1, Term: 2}); r.Code != Granted {
		t.Errorf("%v, want granted", r.Code)
	}
	// What is kept lapses when it would have.
	c.now = c.now.Add(c.cfg.Rho.WaitAtLeast(c.cfg.Lease))
	if r := c.claim(0, 3, 3, Claim{Group: "b", Tenure: 1, Term: 2}); r.Code != Granted {
		t.Errorf("%v, want granted after the lapse", r.Code)
	}
}

func TestRangesOfAReportAreTakenOneByOne(t *testing.T) {
	c := newCouncil(t, plain(3))
	for i, g := range []protocol.Group{"a", "m", "z"} {
		c.claim(0, 1, uint64(i+1), Claim{Group: g, Tenure: 1, Term: 1})
	}
	c.died(0, c.ident(1), obituary.Report{First: "m", Last: "m"})
	if c.holder(0, "a") != c.ident(1) || c.holder(0, "m") != protocol.NoIdent || c.holder(0, "z") != c.ident(1) {
		t.Error("the report of one group ended another")
	}
	c.died(0, c.ident(1), obituary.Report{First: "z"})
	c.died(0, c.ident(1), obituary.Report{First: "z"})
	if c.holder(0, "a") != c.ident(1) || c.holder(0, "z") != protocol.NoIdent {
		t.Error("the second range was not taken")
	}
}

func TestDeadIncarnationIsGrantedNothing(t *testing.T) {
	for _, heard := range []bool{true, false} {
		c := newCouncil(t, plain(3))
		if heard {
			c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 1})
		}
		c.died(0, c.ident(1), obituary.Report{})
		n, is := c.request(0, 1, Request{Seq: 2, Claims: []Claim{{Group: "g", Tenure: 1, Term: 9}}}).(*Nack)
		if !is || n.Why != WhyDead {
			t.Errorf("heard before: %v: a late request of the dead: %+v, want it refused", heard, n)
		}
		c.restart(1, c.now)
		if r := c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 9}); r.Code != Granted {
			t.Errorf("heard before: %v: the next incarnation: %v, want granted", heard, r.Code)
		}
		if c.died(0, protocol.Ident{Rank: 1, Inc: c.ident(1).Inc - 1}, obituary.Report{}) {
			t.Error("the report of the former incarnation counts for the present one")
		}
		if c.holder(0, "g") != c.ident(1) {
			t.Errorf("%v has the group", c.holder(0, "g"))
		}
	}
}

// A voter that has not had the report yet refuses a claim for the sake of the dead. It will have it soon.
func TestCandidateThatKnowsOfADeathDoesNotWaitForTheRestOfThePromise(t *testing.T) {
	c := newCouncil(t, plain(3))
	for r := range protocol.Rank(3) {
		c.claim(r, 0, uint64(r)+1, Claim{Group: "g", Tenure: 1, Term: 5, Token: 5})
	}
	c.died(1, c.ident(0), obituary.Report{})
	res := c.claim(2, 1, 1, Claim{Group: "g", Tenure: 1, Term: 6})
	if res.Code != Busy {
		t.Fatalf("%v, want busy", res.Code)
	}
	h := c.members[1].grantor
	if got := h.bound(c.now, &res); got > c.cfg.RoundTrip {
		t.Errorf("it stays away for %v", got)
	}
	c.now = c.now.Add(c.cfg.Lease)
	if got := h.bound(c.now, &res); got != res.Remaining {
		t.Errorf("long after the report it stays away for %v, want %v: it was lost", got, res.Remaining)
	}
	res.Holder.Inc++
	if got := h.bound(c.now, &res); got != res.Remaining {
		t.Errorf("for the sake of one that lives it stays away for %v", got)
	}
}

func TestProofsAreRememberedThoughTheLeadershipIsOver(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.led(0, "g")
	h := c.members[0].holder
	if h.Proved() != 0 {
		t.Fatalf("proved until %v before anybody asked", h.Proved())
	}
	var left, want = 30 * ms, protocol.Time(0)
	c.do(0, func(*half) {
		if d, _ := h.Verify(c.now, "g", left); d != left {
			t.Errorf("proof for %v, want %v", d, left)
		}
		want = c.now.Add(c.cfg.Rho.WaitAtLeast(left))
	})
	c.do(0, func(*half) { h.Void(c.now, protocol.Cause{}) })
	if h.Proved() != want {
		t.Errorf("proved until %v, want %v", h.Proved(), want)
	}
}

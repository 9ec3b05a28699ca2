package library_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/why"
)

// beside returns the local side of a quorum group at all members.
func (h *inMemory) beside(group string) map[string]*regent.LocalGroup {
	groups := make(map[string]*regent.LocalGroup)
	for name, m := range h.members {
		g, err := must(m.Group(group)).Local()
		h.must(err)
		groups[name] = g
	}
	return groups
}

func TestPartWithoutAQuorumLeaderIsOfferedALocalOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b", "c", "d", "e")
		l, err := must(h.members["c"].Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		groups := h.beside("g")
		leadLocally(t.Context(), groups)
		time.Sleep(2 * regent.LAN.Kappa())
		if got := h.parts(groups); len(got) != 0 {
			t.Errorf("while the group has a leader there are local ones: %v", got)
		}
		h.rule("partition a b / c d e")
		time.Sleep(regent.LAN.Lease + 2*regent.LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"a: a b"}) || !l.Valid() {
			t.Errorf("the part that is cut off has %v; the lease is valid: %v", got, l.Valid())
		}
		h.rule("heal")
		time.Sleep(2 * regent.LAN.Kappa())
		if got := h.parts(groups); len(got) != 0 || !l.Valid() {
			t.Errorf("after the cut: %v; the lease is valid: %v", got, l.Valid())
		}
	})
}

func TestLocalLeaderStopsWhenItLearnsOfTheRealOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		g, err := must(h.members["b"].Group("g")).Local()
		if err != nil {
			t.Fatal(err)
		}
		local, err := g.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again := make(chan *regent.LocalLease, 1)
		go func() {
			<-local.Done()
			_ = local.Resign(t.Context())
			if l, err := g.Campaign(t.Context()); err == nil {
				again <- l
			}
		}()
		quorum, err := must(h.members["a"].Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(regent.LAN.Kappa())
		if local.Valid() || local.Cause().Why != why.Elected || local.Cause().Member != "a" {
			t.Errorf("valid: %v, because of %v", local.Valid(), local.Cause())
		}
		if len(again) != 0 {
			t.Error("a local leader beside the real one")
		}
		if err := quorum.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		l := <-again
		if !l.Valid() {
			t.Error("no local leader when the real one has resigned")
		}
		_ = l.Resign(t.Context())
	})
}

// A local group of the same name is another one.
func TestLocalGroupAndLocalSideOfAGroupAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a")
		m := h.members["a"]
		if _, err := must(m.Group("g")).Campaign(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := must(m.LocalGroup("g")).Campaign(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, err := must(m.Group("g")).Local()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Campaign(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// A member that crashed and is back hears of no leader for as long as it does not vote. That is not the same as none.
func TestMemberThatIsBackOffersNoLocalLeaderBesideTheRealOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		quorum, err := must(h.members["a"].Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := h.members["c"]
		time.Sleep(time.Second)
		if s := c.Status(); s.Waiting != "" {
			t.Errorf("after a second it still waits: %s", s.Waiting)
		}
		h.must(h.Crash("c"))
		if c, err = h.joinAgain("c"); err != nil {
			t.Fatal(err)
		}
		if s := c.Status(); !strings.Contains(s.Waiting, "neither votes nor knows who leads") && !strings.Contains(s.Waiting, "waits until enough members have told") {
			t.Errorf("it does not say that it knows nothing: %q", s.Waiting)
		}
		g, err := must(c.Group("g")).Local()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), regent.LAN.LongestLease+5*regent.LAN.Kappa())
		defer cancel()
		if l, err := g.Campaign(ctx); err == nil {
			members, _ := l.Support(ctx)
			t.Errorf("it leads locally, for %v, beside a", members)
		}
		if v := view(must(c.Group("g"))); v.Leader != "a" || c.Status().Waiting != "" || !quorum.Valid() {
			t.Errorf("in the end it knows %+v, and waits: %q", v, c.Status().Waiting)
		}
	})
}

// A member that had left in good order votes as soon as the others have answered. What waits for that must not wait for longer.
func TestMemberThatHadLeftInGoodOrderOffersLocalLeadersSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		c := h.members["c"]
		if err := c.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, err := h.joinAgain("c")
		if err != nil {
			t.Fatal(err)
		}
		g, err := must(c.Group("g")).Local()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), regent.LAN.Kappa()+regent.LAN.Renew+regent.LAN.RoundTrip)
		defer cancel()
		if _, err := g.Campaign(ctx); err != nil {
			t.Errorf("%v; it says: %q", err, c.Status().Waiting)
		}
	})
}

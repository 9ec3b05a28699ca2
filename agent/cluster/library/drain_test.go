package library_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// leaders has every member campaign for some groups for good, and returns who leads each.
func (h *inMemory) leaders(groups ...string) func() []string {
	for _, g := range groups {
		h.leadAll(h.t.Context(), g)
	}
	return func() []string {
		var out []string
		for _, g := range groups {
			for _, m := range h.members {
				if v := view(must(m.Group(g))); v.Mine {
					out = append(out, v.Leader)
				}
			}
		}
		return out
	}
}

// drained returns which members a member takes for drained.
func drained(m *regent.Member) []string {
	var out []string
	for _, p := range m.Members() {
		if p.Drained {
			out = append(out, p.Name)
		}
	}
	return out
}

func TestDrainedMemberLeadsNothingEvenAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		led := h.leaders("g1", "g2", "g3")
		time.Sleep(5 * time.Second)
		before := led()
		if len(before) != 3 || !slices.Contains(before, "a") {
			t.Fatalf("%v lead", before)
		}
		a := h.members["a"]
		h.must(a.Drain(t.Context()))
		if n := a.Status().Leading; n != 0 || !a.Status().Drained {
			t.Errorf("drained, and it leads %d groups", n)
		}
		check := func(when string) {
			t.Helper()
			time.Sleep(10 * time.Second)
			if now := led(); len(now) != 3 || slices.Contains(now, "a") {
				t.Errorf("%s: %v lead", when, now)
			}
			for name, m := range h.members {
				if got := drained(m); !slices.Equal(got, []string{"a"}) {
					t.Errorf("%s: %s takes %v for drained", when, name, got)
				}
			}
		}
		check("drained")
		h.must(a.Leave(t.Context()))
		delete(h.members, "a")
		check("stopped for repair")
		again := must(h.joinAgain("a"))
		for _, g := range []string{"g1", "g2", "g3"} {
			go func() { _, _ = must(again.Group(g)).Campaign(t.Context()) }()
		}
		check("started again")
		h.must(again.Undrain(t.Context()))
		time.Sleep(5 * time.Second)
		for name, m := range h.members {
			if got := drained(m); len(got) != 0 {
				t.Errorf("undrained, and %s takes %v for drained", name, got)
			}
		}
		for _, name := range []string{"b", "c"} {
			h.must(h.members[name].Drain(t.Context()))
		}
		time.Sleep(10 * time.Second)
		if now := led(); !slices.Equal(now, []string{"a", "a", "a"}) {
			t.Errorf("the others are drained, and %v lead", now)
		}
		h.must(again.Leave(t.Context()))
		delete(h.members, "a")
		again = must(h.joinAgain("a"))
		if again.Status().Drained {
			t.Error("what was taken back is remembered")
		}
	})
}

func TestDrainWaitsForProgramsAndSaysWhichStillLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a")
		l := must(must(h.members["a"].Group("g")).Campaign(t.Context()))
		local := must(must(h.members["a"].LocalGroup("l")).Campaign(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := h.members["a"].Drain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "drain a: context deadline exceeded: programs have not stopped in 2 of its groups" {
			t.Errorf("while programs lead: %v", err)
		}
		for _, cause := range []regent.Cause{l.Cause(), local.Cause()} {
			if cause.Why != why.Drained || cause.Member != "a" {
				t.Errorf("it was asked to stop because of %v", cause)
			}
		}
		go func() {
			time.Sleep(3 * time.Second)
			_ = local.Resign(t.Context())
			_ = l.Resign(t.Context())
		}()
		begin := time.Now()
		h.must(h.members["a"].Drain(t.Context()))
		if took := time.Since(begin); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
		h.members["a"].SetHealth(errors.New("the disk is full"))
		h.must(h.members["a"].Undrain(t.Context()))
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := must(h.members["a"].Group("g")).Campaign(ctx); err == nil {
			t.Error("undrained, and it leads though it is not well")
		}
		h.members["a"].SetHealth(nil)
		must(must(h.members["a"].Group("g")).Campaign(t.Context()))
	})
}

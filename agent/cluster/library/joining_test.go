package library_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/runtime/world"
)

// Whoever is told of a member that still waits can ask it what for, and whom it hears.
func TestMemberThatWaitsCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, three...)
		c := h.config("a")
		started := make(chan *regent.Member, 1)
		ctx, cancel := context.WithCancel(world.WithStart(t.Context(), func(m *regent.Member) { started <- m }))
		ended := make(chan error, 1)
		go func() { _, err := h.Join(ctx, c); ended <- err }()
		m := <-started
		if s := m.Status(); s.Incarnation != 0 || !strings.Contains(s.Waiting, "not heard yet: b, c") {
			t.Errorf("incarnation %d, waiting: %s", s.Incarnation, s.Waiting)
		}
		for _, p := range m.Members() {
			if p.Heard != p.Self {
				t.Errorf("%s: heard %v", p.Name, p.Heard)
			}
		}
		ready := -1.0
		for x := range m.Metrics() {
			if x.Name == "regent_ready" {
				ready = x.Value
			}
		}
		if ready != 0 {
			t.Errorf("regent_ready %v", ready)
		}
		cancel()
		<-ended
		if members := m.Members(); members != nil { // it has ended, and says nothing rather than hang
			t.Errorf("%v", members)
		}
	})
}

func TestMetricsBoundTheRatesOfClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(*regent.Config) {}, three...)
		rates := func() map[string]float64 {
			found := make(map[string]float64)
			for x := range h.members["a"].Metrics() {
				if x.Name == "regent_clock_rate_error" {
					found[x.Labels[1]] = x.Value
				}
			}
			return found
		}
		if found := rates(); len(found) > 0 {
			t.Errorf("rates that were not measured: %v", found)
		}
		time.Sleep(3 * time.Minute)
		found := rates()
		if len(found) != 2 {
			t.Errorf("rates of %v, want those of b and c", found)
		}
		for name, rate := range found {
			if rate < 0 || rate > 1e-3 { // delays of a millisecond over a minute
				t.Errorf("the clock of %s is said to be %v off", name, rate)
			}
		}
	})
}

package sim_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

func TestLinkThatCarriesSeldomLosesNothing(t *testing.T) {
	b := newBench(t, sim.Config{Seed: 1, Link: sim.Link{Delay: sim.Between(ms, 2*ms), Every: 300 * ms}}, sendEvery(10*ms))
	b.until(9050 * ms)
	if got := len(b.probes[1].notes()); got < 890 || got > 910 {
		t.Errorf("SIM-EVERY: %d of 900 notes arrived", got)
	}
	last := sim.Real(0)
	for _, x := range b.probes[1].got {
		if _, ok := x.ev.(*protocol.Receive); !ok {
			continue
		}
		if gap := x.real.Sub(last); gap > 2*ms && gap < 298*ms {
			t.Fatalf("SIM-EVERY: a note came %v after the one before, want batches 300ms apart", gap)
		}
		if since := time.Duration(x.real) % (300 * ms); since < ms || since > 2*ms {
			t.Fatalf("SIM-EVERY: a note came %v after a batch left, want 1ms to 2ms", since)
		}
		last = x.real
	}
}

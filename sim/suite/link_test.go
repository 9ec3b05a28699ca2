package suite_test

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// linkLog notes when links change.
type linkLog struct{ records []sim.Record }

func (l *linkLog) Observe(r *sim.Record) error {
	if r.Ev == protocol.EvLink {
		l.records = append(l.records, *r)
	}
	return nil
}

// linkWorld returns members over links with a delay of 0.1 to 1 ms.
func linkWorld(t *testing.T, members int, seed uint64, link sim.Link) (*sim.World, *linkLog) {
	t.Helper()
	p, err := suite.Lookup("link")
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.With("talk=0s"); err != nil {
		t.Fatal(err)
	}
	link.Delay = sim.Between(100*time.Microsecond, ms)
	w, err := sim.New(sim.Config{Members: members, Seed: seed, Spawn: p.Spawn, Link: link, Timer: sim.Between(0, ms),
		Stagger: sim.Between(0, 100*ms)})
	if err != nil {
		t.Fatal(err)
	}
	log := &linkLog{}
	w.Observe(log)
	return w, log
}

// middle returns the least, the middle and the greatest of lengths of time.
func middle(all []time.Duration) (least, median, most time.Duration) {
	slices.Sort(all)
	return all[0], all[len(all)/2], all[len(all)-1]
}

// docs/link.md quotes what this logs.
func TestLinksGoDownAndUpSoon(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault sim.Fault
		down  time.Duration // both ends, from the fault on
		up    time.Duration // both ends, from its end on
	}{
		{"cut both ways", sim.Fault{Kind: sim.Partition, Side: protocol.NewSet(0)}, 202 * ms, 105 * ms},
		{"cut one way", sim.Fault{Kind: sim.Cut, A: 0, B: 1}, 255 * ms, 105 * ms},
		{"crash", sim.Fault{Kind: sim.Crash, A: 0}, 202 * ms, 10 * ms},
	} {
		var downs, ups []time.Duration
		for seed := range uint64(200) {
			w, log := linkWorld(t, 2, seed, sim.Link{})
			begin := sim.Real(500 * ms).Add(time.Duration(seed) * 7 * ms)
			c.fault.At, c.fault.For = begin, 500*ms
			w.Schedule(c.fault)
			if err := w.Run(begin.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			var down, up sim.Real
			for _, r := range log.records {
				switch {
				case r.T < begin:
				case r.Seq%2 == 0:
					down = max(down, r.T)
				default:
					up = max(up, r.T)
				}
			}
			downs, ups = append(downs, down.Sub(begin)), append(ups, up.Sub(begin.Add(500*ms)))
		}
		least, median, most := middle(downs)
		t.Logf("%s: both ends down after %v, %v, %v (least, median, most of 200)", c.name, least, median, most)
		if least < 95*ms || most > c.down {
			t.Errorf("%s: down after %v to %v, want at most %v", c.name, least, most, c.down)
		}
		least, median, most = middle(ups)
		t.Logf("%s: both ends up after %v, %v, %v", c.name, least, median, most)
		if least <= 0 || most > c.up {
			t.Errorf("%s: up after %v to %v, want at most %v", c.name, least, most, c.up)
		}
	}
}

// Datagrams that are lost one by one do not take a link down: that takes three exchanges in a row. docs/link.md quotes what
// this logs.
func TestLinksSurviveLoss(t *testing.T) {
	const length = 10 * time.Minute
	for _, c := range []struct {
		loss int64 // per mille
		most int
	}{{1, 0}, {10, 2}, {50, 300}} {
		w, log := linkWorld(t, 5, 1, sim.Link{Loss: sim.Percent(1) * sim.Odds(c.loss) / 10})
		if err := w.Run(sim.Real(length)); err != nil {
			t.Fatal(err)
		}
		downs := 0
		for _, r := range log.records {
			if r.Seq%2 == 0 && r.Why == "tout" {
				downs++
			}
		}
		t.Logf("loss of %v: %d time-outs in %v of 10 links", sim.Percent(1)*sim.Odds(c.loss)/10, downs, length)
		if downs > c.most {
			t.Errorf("loss of %v: %d time-outs, want at most %d", sim.Percent(1)*sim.Odds(c.loss)/10, downs, c.most)
		}
	}
}

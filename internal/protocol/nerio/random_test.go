package nerio

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Random faults on a common clock: loss, delays beyond the lease, crashes with the disk kept, lost and restored,
// resignations, programs that take their time or never stop, electors that say anything. The simulator does this with
// drifting clocks and all checkers; here it runs with the package's own tests.
func TestRandomFaultsNeverMakeTwoLeaders(t *testing.T) {
	tenures := 0
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { tenures += chaos(t, seed) })
	}
	if tenures < 600 {
		t.Errorf("only %d tenures: the faults leave nothing to check", tenures)
	}
}

func chaos(t *testing.T, seed uint64) int {
	rng := rand.New(rand.NewPCG(seed, 1))
	cfg := config(3 + 2*rng.IntN(2))
	cfg.Elector = rng.IntN(2) == 0
	cfg.StopWithin = time.Duration(rng.IntN(2)) * 100 * ms
	lengths := []time.Duration{0}
	if seed%2 == 1 {
		lengths, cfg.Longest = []time.Duration{0, 600 * ms, time.Second}, time.Second
	}
	d := newDriver(t, cfg)
	n := len(d.members)
	d.Run(50 * ms)
	for _, x := range d.members {
		x.obeys = rng.IntN(4) > 0
	}
	loss := rng.IntN(30)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to && rng.IntN(100) < loss }
	d.Late = func(from, to protocol.Rank, _ protocol.Message) time.Duration {
		if from == to || rng.IntN(20) > 0 {
			return 0
		}
		return time.Duration(rng.IntN(400)) * ms
	}
	groups := []protocol.Group{"g", "h"}
	backups := make(map[protocol.Rank][]byte)
	for range 150 {
		r := protocol.Rank(rng.IntN(n))
		g := groups[rng.IntN(2)]
		x := d.members[r]
		if rng.IntN(5) == 0 {
			backups[r] = x.Record
		}
		if l, leads := x.m.holder.Lease(g); leads && rng.IntN(2) == 0 {
			d.Step(r, protocol.Announce{Group: g, Tenure: l.Tenure, Value: fmt.Sprint(rng.IntN(5))})
		}
		switch rng.IntN(12) {
		case 0:
			d.Crash(r)
			// A council that loses too many records at once waits for its operator: that is tested elsewhere.
			if d.speaking() == n-1 {
				switch rng.IntN(6) {
				case 0:
					x.Record = nil
				case 1:
					x.Record = backups[r]
				}
			}
			d.Run(time.Duration(rng.IntN(100)) * ms)
			c := cfg
			c.Me = r
			d.boot(c)
		case 1:
			if l, leads := x.m.holder.Lease(g); leads && rng.IntN(2) == 0 {
				d.Step(r, protocol.Lapse{Group: g, Tenure: l.Tenure, Why: protocol.Unhealthy})
				break
			}
			d.Step(r, protocol.Resign{Group: g})
		case 2:
			d.Step(r, protocol.Transfer{Group: g, To: protocol.Rank(rng.IntN(n)), ID: 7})
		case 3, 4:
			d.Step(r, protocol.Trusts{Leader: protocol.Rank(rng.IntN(n))})
		case 5:
			d.Step(r, protocol.Stopped{Group: g})
		default:
			d.Step(r, protocol.Campaign{Group: g, Length: lengths[rng.IntN(len(lengths))]})
		}
		d.Run(time.Duration(rng.IntN(150)) * ms)
	}
	// In good times somebody leads again, and everybody knows it.
	d.Drop, d.Late = nil, nil
	for i, x := range d.members {
		x.obeys = true
		d.Step(protocol.Rank(i), protocol.Trusts{Leader: 0})
		for _, g := range groups {
			if v := x.Views[g]; v.Stop {
				d.Step(protocol.Rank(i), protocol.Stopped{Group: g})
			}
			d.Step(protocol.Rank(i), protocol.Campaign{Group: g})
		}
	}
	d.Run(3 * time.Second)
	for _, g := range groups {
		l := d.leaders(g)
		if len(l) != 1 {
			t.Fatalf("seed %d: %v lead %s in good times\n%s", seed, l, g, d.transcript())
		}
		d.expect(g, l[0], true)
		d.expectValue(g, d.members[l[0]].Views[g].Value)
	}
	return len(d.tenures["g"]) + len(d.tenures["h"])
}

// speaking counts the members that are up and know who they are.
func (d *driver) speaking() int {
	n := 0
	for _, x := range d.members {
		if !x.Down && x.m.Incarnation() != 0 {
			n++
		}
	}
	return n
}

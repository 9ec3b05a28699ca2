package nerio

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// While a leader renews by turns, neither its lease nor the view of any other member is lost, whichever other member dies or is cut off, or if one packet in a
// hundred is lost.
func TestNobodyLosesSightOfALeaderThatRenewsByTurns(t *testing.T) {
	type fault func(d *driver, who protocol.Rank)
	drop := func(lost func(from, to, who protocol.Rank) bool) fault {
		return func(d *driver, who protocol.Rank) {
			d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to && lost(from, to, who) }
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	faults := map[string]fault{
		"none":     func(*driver, protocol.Rank) {},
		"dies":     func(d *driver, who protocol.Rank) { d.Crash(who) },
		"hears no": drop(func(_, to, who protocol.Rank) bool { return to == who }),
		"is mute":  drop(func(from, _, who protocol.Rank) bool { return from == who }),
		"loss":     drop(func(_, _, _ protocol.Rank) bool { return rng.IntN(100) == 0 }),
	}
	for _, n := range []int{3, 4, 5} {
		for _, groups := range []int{1, 10_000} {
			if groups > 1 && n != 3 {
				continue
			}
			for name, fault := range faults { // order does not matter: each is a run of its own
				for phase := range 5 {
					if groups > 1 && (phase > 0 || name != "dies") {
						continue
					}
					d := newDriver(t, config(n))
					d.trusting = true
					for i := range groups {
						d.Step(0, protocol.Campaign{Group: protocol.Group(fmt.Sprint(i))})
					}
					d.Run(time.Second + time.Duration(phase)*23*ms)
					who := protocol.Rank(n - 1)
					fault(d, who)
					for _, m := range d.Members {
						m.History = nil
					}
					d.Run(5 * time.Second)
					for _, m := range d.Members {
						blind := m.Rank == who && name == "hears no"
						for _, v := range m.History {
							if v.Leader.Rank != 0 && !blind && !m.Down {
								t.Fatalf("%d members, %d groups, %s: %v shows %+v", n, groups, name, m.Rank, v)
							}
						}
					}
				}
			}
		}
	}
}

// A group whose leader has died is led again no later than if all voters had been asked at each renewal: by then the promises have lapsed that the last
// round asked for, whomever it asked. The wait is between a lease less a renewal and a lease, and the turns and the round trip come after it.
func TestRenewalByTurnsDoesNotDelayAFailover(t *testing.T) {
	for _, n := range []int{3, 4, 5} {
		sum, trials := time.Duration(0), 0
		for phase := time.Duration(0); phase < 200*ms; phase += 7 * ms {
			cfg := config(n)
			cfg.Elector = true
			d := newDriver(t, cfg)
			d.Run(50 * ms)
			for r := range protocol.Rank(n) {
				d.Step(r, protocol.Trusts{Leader: 0})
				d.Step(r, protocol.Campaign{Group: "g"})
			}
			d.Run(time.Second + phase)
			d.expect("g", 0, true)
			died := d.Now
			d.Crash(0)
			for len(d.leaders("g")) == 0 && d.Now.Sub(died) < time.Second {
				d.Run(ms)
			}
			took := d.Now.Sub(died)
			if most := (200 + 7) * ms; took > most {
				t.Errorf("%d members: %v, the lease and three round trips are %v\n%s", n, took, most, d.transcript())
			}
			sum, trials = sum+took, trials+1
		}
		if mean, most := sum/time.Duration(trials), (200-50/2+4)*ms; mean > most {
			t.Errorf("%d members: %v in the mean, want %v: the lease without half an interval, and two round trips", n, mean, most)
		}
	}
}

// A round asks a quorum, and no more.
func TestRenewalByTurnsHalvesThePackets(t *testing.T) {
	for n, want := range map[int]float64{2: 40, 3: 40, 4: 80, 5: 80} { // order does not matter: each is a run of its own
		d := newDriver(t, config(n))
		d.Step(0, protocol.Campaign{Group: "g"})
		d.Run(time.Second)
		if got := d.packets(10*time.Second, nil) * float64(n); got < want*0.95 || got > want*1.05 {
			t.Errorf("%d members: %.1f packets/s, want %v", n, got, want)
		}
	}
}

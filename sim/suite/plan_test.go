package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/plan"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
)

// A guardian sees how much of its lease a leader has left each time that it is renewed. A program is asked to stop once no more than the
// guard time is left.
type guardian struct {
	w     *sim.World
	since sim.Real // when it begins to look
	ends  map[protocol.Rank]protocol.Time
	// least is the least that was left, and changes how often a member came to lead.
	least   time.Duration
	changes int
}

func (g *guardian) Observe(r *sim.Record) error {
	switch {
	case r.Ev == protocol.EvHorizon:
		if end, ok := g.ends[r.Node]; ok && r.T >= g.since {
			g.least = min(g.least, end.Sub(g.w.Clock(r.Node).At(r.T)))
		}
		g.ends[r.Node] = r.Until
	case r.Ev == sim.EvView && r.Peer.Rank == r.Node && r.T >= g.since:
		g.changes++
	}
	return nil
}

// paused runs three members at a timing, with leases of a length, pauses the leader at some phase of its renewals, and returns the least that was
// left of its lease, and whether another came to lead.
func paused(t *testing.T, timing regent.Timing, length, phase, pause time.Duration) (least time.Duration, changed bool) {
	t.Helper()
	p := lookup(t, "nerio")
	w, _ := council(t, p, func(c *sim.Config) {
		c.Link.Delay = sim.Between(timing.RoundTrip/4, timing.RoundTrip/2)
		if length != 0 {
			c.Program.Lengths = []time.Duration{length}
		}
		c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
			return nerio.New(nerio.Config{Me: b.Self, Quorums: protocol.Majority(b.Members), RoundTrip: timing.RoundTrip, Lease: timing.Lease, Longest: timing.LongestLease,
				PerGroup: timing.PerGroup, Renew: timing.Renew, Rho: protocol.Rho(timing.Drift * 1e9), Bootstrap: b.Inc == 1, FirstInc: 10 * b.Inc, Tag: b.Tag}, b.Record, b.Seed)
		}
	})
	lease := max(length, timing.Lease)
	start := sim.Real(10*lease + phase)
	g := &guardian{w: w, since: start, ends: make(map[protocol.Rank]protocol.Time), least: lease}
	w.Observe(g)
	w.Schedule(sim.Fault{At: start, Kind: sim.Pause, A: sim.TheLeader, B: protocol.Nobody, For: pause})
	if err := w.Run(start + sim.Real(pause+5*lease)); err != nil {
		t.Fatal(err)
	}
	return g.least, g.changes > 0
}

// What a plan says that a lease survives is true: a member that is paused for so long keeps its lease, and its program is not asked to stop, at
// whatever instant the pause begins. One that is paused for longer by the slack of the network is asked to stop if the pause begins at the worst
// instant, and one that is paused past all of its lease is replaced.
func TestPlannedLeasesSurviveThePauseThatThePlanStates(t *testing.T) {
	const ms = time.Millisecond
	for _, in := range []plan.Intent{
		{Pause: 500 * ms, Members: 3, RoundTrip: 20 * ms}, {FailOver: 50 * ms, Members: 3, RoundTrip: ms}, {Pause: 3 * time.Second, Members: 3, RoundTrip: 20 * ms},
		{FailOver: 2 * time.Second, Members: 3, RoundTrip: 100 * ms},
	} {
		quiet := plan.Pauses{Thread: plan.MemberThread, Load: plan.AsIs, Realtime: true, For: time.Minute, Longest: ms, Buckets: []plan.Bucket{{Upper: ms, Count: 1}}}
		p, err := plan.Make(in, &plan.Measured{Pauses: []plan.Pauses{quiet}})
		if err != nil || !p.Safe {
			t.Fatalf("%+v: %v", in, err)
		}
		const phases = 20
		asked := 0
		for i := range phases {
			phase := p.Timing.Renew * time.Duration(i) / phases
			if least, changed := paused(t, p.Timing, 0, phase, p.Tolerates); changed || least <= p.Timing.Guard {
				t.Errorf("%+v: a pause of %v, %v after a renewal: %v left of the lease, guard %v, another leader %v", in, p.Tolerates, phase, least, p.Timing.Guard, changed)
			}
			longer := p.Tolerates + p.Timing.RoundTrip + p.Timing.Renew/phases + p.Timing.Lease/100
			if least, changed := paused(t, p.Timing, 0, phase, longer); changed || least <= p.Timing.Guard {
				asked++
			}
			if _, changed := paused(t, p.Timing, 0, phase, p.Timing.Lease+p.Timing.Lease/10); !changed {
				t.Errorf("%+v: a pause of more than the lease costs nothing", in)
			}
		}
		if asked == 0 {
			t.Errorf("%+v: a pause of more than %v costs nothing at any instant: leases survive more than the plan states", in, p.Tolerates)
		}
	}
}

// Long leases in a council with short ones are renewed less often, and survive what they are said to survive, too.
func TestLongLeasesSurviveThePauseThatTheTimingStates(t *testing.T) {
	const length, phases = 5 * time.Second, 20
	of := regent.LAN.ForLease(length)
	asked := 0
	for i := range phases {
		phase := of.Renew * time.Duration(i) / phases
		if least, changed := paused(t, regent.LAN, length, phase, of.Tolerates()); changed || least <= of.Guard {
			t.Errorf("a pause of %v, %v after a renewal: %v left of the lease, guard %v, another leader %v", of.Tolerates(), phase, least, of.Guard, changed)
		}
		if least, changed := paused(t, regent.LAN, length, phase, of.Tolerates()+of.RoundTrip+of.Renew/phases+length/100); changed || least <= of.Guard {
			asked++
		}
	}
	if asked == 0 {
		t.Errorf("a pause of more than %v costs nothing at any instant", of.Tolerates())
	}
}

package suite_test

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/protocol/hybrid"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/protocol/timefree"
	"github.com/regentproject/regent/sim"
)

// A profile is the constants of a council as the library sets them: those of a Timing in the root package, from which its start.go
// and electors.go make machines. They are written down here again, because no protocol knows the library; a test there,
// TestBenchmarksHaveThePaceOfTheLibrary, fails when they are changed.
type profile struct {
	name                                       string
	roundTrip, renew, lease, longest, perGroup time.Duration
	heartbeat, suspect, delay                  time.Duration
	// Links and timers that suit it.
	link, late sim.Delay
}

var (
	lan = profile{name: "LAN", roundTrip: 20 * time.Millisecond, renew: 50 * time.Millisecond, lease: 200 * time.Millisecond, longest: 30 * time.Second,
		perGroup: 10 * time.Microsecond, heartbeat: 500 * time.Millisecond, suspect: 1200 * time.Millisecond, delay: 10 * time.Millisecond,
		link: sim.Between(100*time.Microsecond, 5*time.Millisecond), late: sim.Between(0, 2*time.Millisecond)}
	fast = profile{name: "Fast", roundTrip: 4 * time.Millisecond, renew: 15 * time.Millisecond, lease: 28 * time.Millisecond, longest: 30 * time.Second,
		perGroup: 10 * time.Microsecond, heartbeat: 500 * time.Millisecond, suspect: 1200 * time.Millisecond, delay: 5 * time.Millisecond,
		link: sim.Between(20*time.Microsecond, time.Millisecond), late: sim.Between(0, 500*time.Microsecond)}
)

// libraryElectors are those that a council can choose.
var libraryElectors = []string{"stable", "hybrid", "timefree", "fsource", "ring", "rank", "hall"}

// elector makes one of the library's electors among the voters.
func (p *profile) elector(name string, b sim.Boot) (protocol.Machine, error) {
	switch name {
	case "stable":
		c := stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Ping: true, Gate: protocol.Majority(b.Members),
			Period: p.heartbeat, Delta: p.suspect - p.heartbeat, Rho: protocol.DefaultRho}
		c.Expiry = max(c.Delta/2, c.Delta-p.delay)
		return stable.New(c)
	case "timefree":
		return timefree.New(p.timefree(b))
	case "fsource":
		return fsource.New(p.fsource(b))
	case "hybrid":
		q := p.timefree(b)
		return hybrid.New(hybrid.Config{Config: q.Config, Query: q, Alive: p.fsource(b)})
	case "rank":
		return rank.New(rank.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: p.heartbeat, Timeout: p.suspect,
			Grow: p.heartbeat, Cap: 4 * p.suspect})
	case "ring":
		return ring.New(ring.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: p.heartbeat, Timeout: p.suspect})
	case "hall":
		return hall.NewElector(hall.Default(b.Self, b.Members, b.Inc, p.local()))
	}
	return nil, fmt.Errorf("no elector %s", name)
}

func (p *profile) counters(b sim.Boot) counter.Config {
	c := counter.Default(b.Self, b.Members, b.Inc)
	c.F, c.Report, c.Limit = max(1, (b.Members-1)/2), max(c.Report, 4*p.suspect), max(c.Limit, 16*p.suspect)
	return c
}

func (p *profile) timefree(b sim.Boot) timefree.Config {
	c := timefree.Default(b.Self, b.Members, b.Inc)
	c.Config, c.Period, c.RepeatMin, c.RepeatMax = p.counters(b), p.heartbeat, p.roundTrip, max(c.RepeatMax, 4*p.roundTrip)
	return c
}

func (p *profile) fsource(b sim.Boot) fsource.Config {
	return fsource.Config{Config: p.counters(b), Period: p.heartbeat, Timeout: p.suspect, Grow: p.heartbeat, Cap: 8 * p.suspect}
}

// local is the constants of local groups.
func (p *profile) local() hall.Timing {
	rho := protocol.DefaultRho
	h := hall.Timing{Rho: rho, Delta: p.delay, MaxAge: datagram.DefaultMaxAge(p.delay, rho), Sched: p.delay, Renew: p.renew, Losses: 1, Retries: 1}
	h.OneWay = max(1, (p.delay-2*(rho.WaitAtLeast(h.MaxAge)-h.MaxAge))/2)
	return h.Fit(2)
}

// authority is the configuration of a member's quorum leases.
func (p *profile) authority(b sim.Boot) nerio.Config {
	return nerio.Config{Me: b.Self, Quorums: protocol.Majority(b.Members), RoundTrip: p.roundTrip, Lease: p.lease, Longest: p.longest,
		PerGroup: p.perGroup, Renew: p.renew, Rho: protocol.DefaultRho, Elector: true, Bootstrap: b.Inc == 1, FirstInc: 10 * b.Inc}
}

// setting is a quorum council over an elector.
func (p *profile) setting(elector string) *setting {
	return &setting{name: p.name + " " + elector, link: p.link, late: p.late, authority: p.authority, spawn: func(b sim.Boot) (protocol.Machine, error) {
		roles := stack.Roles{Members: b.Members}
		authority, err := nerio.New(p.authority(b), b.Record, b.Seed)
		if err != nil {
			return nil, err
		}
		return stack.New(stack.Config{Self: b.Self, Roles: roles, Repeat: p.renew}, authority, func(inc protocol.Inc, _ *stack.Shape) (protocol.Machine, error) {
			b.Inc = inc
			return p.elector(elector, b)
		})
	}}
}

// alone lists the electors of the library by themselves.
func (p *profile) alone() []contender {
	var all []contender
	for _, name := range libraryElectors {
		all = append(all, contender{p.name + " " + name, func(b sim.Boot) (protocol.Machine, error) { return p.elector(name, b) }})
	}
	return all
}

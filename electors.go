package regent

import (
	"cmp"
	"fmt"
	"time"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/eligible"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/protocol/hybrid"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// A electorTiming is how an elector is to be run.
type electorTiming struct {
	self    protocol.Rank
	members int
	inc     protocol.Inc
	group   protocol.Group
	// period is how often somebody says that it is alive, and suspect how long it may be silent.
	period, suspect time.Duration
	// gate and candidates are for electors that have room for them.
	gate       protocol.Quorums
	candidates protocol.Set
	timing     *Timing
	// faults and patience are f and h of electors that count suspicions; zero: the defaults.
	faults, patience int
}

// councilTiming is how the elector below quorum groups runs: among all that vote, and in no haste, for leases find out by themselves
// when a leader is gone. Where the ranks of voters are not the first ones, they have ranks of their own in the elector.
func (m *Member) councilTiming(inc protocol.Inc, s *stack.Shape) electorTiming {
	t, voters := m.timing(), s.Voters.Len()
	p := electorTiming{members: voters, inc: inc, period: t.Heartbeat, suspect: t.Suspect, gate: protocol.Majority(voters), timing: t,
		faults: m.config.ElectorFaults, patience: m.config.ElectorPatience}
	if m.fixed != "" {
		roles := m.council().roles()
		p.gate = roles.Gate()
	}
	inside := protocol.Rank(0)
	for r := range s.Voters.All() {
		if s.Leaders.Has(r) {
			p.candidates.Add(inside)
		}
		if r == s.Self {
			p.self = inside
		}
		inside++
	}
	return p
}

// newCouncilElector makes the elector below quorum groups.
func (m *Member) newCouncilElector(inc protocol.Inc, s *stack.Shape) (protocol.Machine, error) {
	p := m.councilTiming(inc, s)
	if s.Voters == protocol.Everyone(p.members) {
		return m.electorOrStable(&p)
	}
	return eligible.New(eligible.Config{Self: s.Self, Members: s.Voters, Repeat: m.config.Timing.Renew},
		func(protocol.Rank, int) (protocol.Machine, error) { return m.electorOrStable(&p) })
}

// electorOrStable makes an elector of the council's kind, or a stable one if a change has left too few members for that.
func (m *Member) electorOrStable(p *electorTiming) (protocol.Machine, error) {
	machine, err := p.newElector(m.config.Elector)
	if err == nil || m.loop == nil {
		return machine, err
	}
	return p.newElector(elector.Stable)
}

// newElector makes a machine that finds the member to trust.
func (p *electorTiming) newElector(kind elector.Kind) (protocol.Machine, error) {
	switch kind {
	case elector.Stable:
		return stable.New(p.stable())
	case elector.TimeFree:
		c, err := p.timefree(kind)
		if err != nil {
			return nil, err
		}
		return timefree.New(c)
	case elector.FSource:
		c, err := p.fsource(kind)
		if err != nil {
			return nil, err
		}
		return fsource.New(c)
	case elector.Hybrid:
		q, err := p.timefree(kind)
		if err != nil {
			return nil, err
		}
		a, err := p.fsource(kind)
		if err != nil {
			return nil, err
		}
		return hybrid.New(hybrid.Config{Config: q.Config, Query: q, Alive: a})
	case elector.Rank:
		return rank.New(rank.Config{Self: p.self, Members: p.members, Inc: p.inc, Group: p.group, Period: p.period, Timeout: p.suspect,
			Grow: p.period, Cap: 4 * p.suspect})
	case elector.Ring:
		return ring.New(ring.Config{Self: p.self, Members: p.members, Inc: p.inc, Group: p.group, Period: p.period, Timeout: p.suspect})
	case elector.Hall:
		c := hall.Default(p.self, p.members, p.inc, p.timing.local())
		c.Group = p.group
		return hall.NewElector(c)
	}
	return nil, kind.Check()
}

// stable is Fig. 5 of its paper, with δ longer than the period, so that a leader is suspected when it was silent for suspect. Of δ,
// timers may use as much as Delay; what is left, messages may take.
func (p *electorTiming) stable() stable.Config {
	c := stable.Config{Self: p.self, Members: p.members, Inc: p.inc, Group: p.group, Ping: true, Gate: p.gate, Candidates: p.candidates,
		Period: p.period, Delta: p.suspect - p.period, Rho: p.timing.rho()}
	c.Expiry = max(c.Delta/2, c.Delta-p.timing.Delay)
	return c
}

// counters is what the electors that count suspicions have in common.
func (p *electorTiming) counters() (counter.Config, error) {
	c := counter.Default(p.self, p.members, p.inc)
	c.Group, c.F = p.group, cmp.Or(p.faults, tolerated(p.members))
	if p.members < 3 {
		return c, fmt.Errorf("%d members: must be at least 3, of which one may be down; use %s in a council of one or two",
			p.members, elector.Stable)
	}
	c.Report, c.Limit = max(c.Report, 4*p.suspect), max(c.Limit, 16*p.suspect)
	return c, nil
}

// defaultPatience is h: in how many rounds in a row the answers of a member must be late before it is suspected.
const defaultPatience = 4

// tolerated is f: how many of n members may be down. A minority, and so at most n-2.
func tolerated(n int) int { return max(1, (n-1)/2) }

func (p *electorTiming) timefree(kind elector.Kind) (timefree.Config, error) {
	common, err := p.counters()
	if err != nil {
		return timefree.Config{}, fmt.Errorf("elector %s: %w", kind, err)
	}
	t := timefree.Default(p.self, p.members, p.inc)
	t.Patience = cmp.Or(p.patience, defaultPatience)
	t.Config, t.Period, t.RepeatMin, t.RepeatMax = common, p.period, p.timing.RoundTrip, max(t.RepeatMax, 4*p.timing.RoundTrip)
	return t, nil
}

func (p *electorTiming) fsource(kind elector.Kind) (fsource.Config, error) {
	common, err := p.counters()
	if err != nil {
		return fsource.Config{}, fmt.Errorf("elector %s: %w", kind, err)
	}
	return fsource.Config{Config: common, Period: p.period, Timeout: p.suspect, Grow: p.period, Cap: 8 * p.suspect}, nil
}

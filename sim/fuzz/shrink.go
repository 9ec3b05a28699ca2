package fuzz

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// Shrink looks for a shorter plan that violates the same invariant: with fewer and simpler faults, then with plainer
// clocks, links and programs, and over less time. It plays at most tries plans, and returns the best one and its run.
func Shrink(p *suite.Protocol, pl Plan, tries int) (Plan, Run, error) {
	run, err := Play(p, &pl)
	if err != nil {
		return pl, run, err
	}
	s := shrinker{p: p, best: pl, run: run, name: run.Violated(), tries: tries}
	if s.name == "" {
		return pl, run, nil
	}
	for {
		before := s.wins
		s.cutTail()
		s.dropFaults()
		s.simplifyFaults()
		s.simplifyWorld()
		s.shorten()
		if s.wins == before || s.tries <= 0 {
			return s.best, s.run, nil
		}
	}
}

type shrinker struct {
	p     *suite.Protocol
	best  Plan
	run   Run
	name  string
	tries int
	wins  int
}

// try plays a plan, and takes it if it violates the same invariant.
func (s *shrinker) try(change func(*Plan)) bool {
	if s.tries <= 0 {
		return false
	}
	pl := s.best
	pl.Faults = slices.Clone(pl.Faults)
	pl.Clocks = slices.Clone(pl.Clocks)
	change(&pl)
	s.tries--
	run, err := Play(s.p, &pl)
	if err != nil || run.Violated() != s.name {
		return false
	}
	s.best, s.run = pl, run
	s.wins++
	return true
}

// cutTail takes away faults that begin after the violation.
func (s *shrinker) cutTail() {
	end := s.run.End
	if slices.ContainsFunc(s.best.Faults, func(f sim.Fault) bool { return f.At > end }) {
		s.try(func(pl *Plan) {
			pl.Faults = slices.DeleteFunc(pl.Faults, func(f sim.Fault) bool { return f.At > end })
		})
	}
}

// dropFaults takes away stretches of faults: large ones first, then single ones.
func (s *shrinker) dropFaults() {
	for size := len(s.best.Faults); size > 0; size /= 2 {
		for from := 0; from < len(s.best.Faults); {
			to := min(from+size, len(s.best.Faults))
			if !s.try(func(pl *Plan) { pl.Faults = slices.Delete(pl.Faults, from, to) }) {
				from = to
			}
		}
	}
}

// simplifyFaults makes each fault that is left shorter, rounder and plainer.
func (s *shrinker) simplifyFaults() {
	for i := range s.best.Faults {
		edit := func(change func(*sim.Fault)) bool {
			changed := s.best.Faults[i]
			change(&changed)
			return changed != s.best.Faults[i] && s.try(func(pl *Plan) { pl.Faults[i] = changed })
		}
		edit(func(f *sim.Fault) { f.Disk = sim.Kept })
		for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
			if edit(func(f *sim.Fault) { f.At = sim.Real(time.Duration(f.At).Round(unit)) }) {
				break
			}
		}
		for edit(func(f *sim.Fault) { f.For = rounded(f.For / 2) }) {
		}
		edit(func(f *sim.Fault) { f.For = rounded(f.For) })
		switch s.best.Faults[i].Kind {
		case sim.Slow, sim.Jump, sim.SlowDisk:
			edit(func(f *sim.Fault) { f.Amount = int64(time.Duration(f.Amount).Round(10 * time.Millisecond)) })
		case sim.Lose, sim.Duplicate:
			edit(func(f *sim.Fault) { f.Amount = int64(sim.Certain) })
		}
	}
	before := s.wins
	s.try(func(pl *Plan) {
		slices.SortStableFunc(pl.Faults, func(a, b sim.Fault) int { return int(a.At - b.At) })
	})
	s.wins = before // order is no progress of its own
}

// rounded returns a length in whole milliseconds that is not zero unless it was: a fault without a length never ends.
func rounded(d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	return max(d.Round(time.Millisecond), time.Millisecond)
}

// simplifyWorld replaces what is random in the world by what is plain, one after the other.
func (s *shrinker) simplifyWorld() {
	plainer := []func(*Plan){
		func(pl *Plan) { pl.Ports = false },
		func(pl *Plan) { pl.Clocks = nil },
		func(pl *Plan) { pl.Link.Loss = 0 },
		func(pl *Plan) { pl.Link.Duplicate = 0 },
		func(pl *Plan) { pl.Link.Delay.Tail, pl.Link.Delay.TailStep = 0, 0 },
		func(pl *Plan) { pl.Link.Delay.Max = pl.Link.Delay.Min },
		func(pl *Plan) { pl.Link.Delay = sim.Between(time.Millisecond, time.Millisecond) },
		func(pl *Plan) { pl.Timer = sim.Delay{} },
		func(pl *Plan) { pl.Spurious = 0 },
		func(pl *Plan) { pl.Bound = sim.Bound{} },
		func(pl *Plan) { pl.Stagger = sim.Delay{} },
		func(pl *Plan) { pl.Program.Stubborn = 0 },
		func(pl *Plan) { pl.Core = protocol.Everyone(pl.Members) },
	}
	for _, change := range plainer {
		s.tryNew(change)
	}
	for i := range s.best.Clocks {
		s.tryNew(func(pl *Plan) { pl.Clocks[i].Offset = 0 })
		s.tryNew(func(pl *Plan) { pl.Clocks[i].Rate = 0 })
	}
	for s.best.Members > s.p.MinMembers && s.try(fewer) {
	}
}

// tryNew tries a change that may change nothing, and does not count that as progress.
func (s *shrinker) tryNew(change func(*Plan)) {
	pl := s.best
	pl.Clocks = slices.Clone(pl.Clocks)
	change(&pl)
	if !same(&pl, &s.best) {
		s.try(change)
	}
}

// same compares what simplifyWorld changes.
func same(a, b *Plan) bool {
	return a.Ports == b.Ports && slices.Equal(a.Clocks, b.Clocks) && a.Link == b.Link && a.Timer == b.Timer &&
		a.Spurious == b.Spurious && a.Bound == b.Bound && a.Stagger == b.Stagger && a.Core == b.Core &&
		a.Program.Stubborn == b.Program.Stubborn
}

// fewer takes the last member away, with all that was about it.
func fewer(pl *Plan) {
	pl.Members--
	gone := protocol.Rank(pl.Members)
	pl.Core.Remove(gone)
	if len(pl.Clocks) > pl.Members {
		pl.Clocks = pl.Clocks[:pl.Members]
	}
	pl.Faults = slices.DeleteFunc(pl.Faults, func(f sim.Fault) bool { return f.A == gone || f.B == gone })
	for i := range pl.Faults {
		pl.Faults[i].Side.Remove(gone)
	}
}

// shorten ends the safety phase sooner, and moves the whole run to the beginning.
func (s *shrinker) shorten() {
	last := time.Second
	for _, f := range s.best.Faults {
		last = max(last, time.Duration(f.At)+f.For+100*time.Millisecond)
	}
	last = (last + time.Second - 1).Truncate(time.Second)
	if last < s.best.Safety {
		s.try(func(pl *Plan) { pl.Safety = last })
	}
	if len(s.best.Faults) == 0 {
		return
	}
	first := s.best.Faults[0].At
	for early := first.Sub(sim.Real(time.Second)).Truncate(time.Second); early >= time.Second; early /= 2 {
		if s.try(func(pl *Plan) { pl.earlier(early) }) {
			return
		}
	}
}

// earlier moves all faults towards the beginning.
func (pl *Plan) earlier(by time.Duration) {
	for i := range pl.Faults {
		pl.Faults[i].At = pl.Faults[i].At.Add(-by)
	}
	pl.Safety = max(pl.Safety-by, time.Second)
}

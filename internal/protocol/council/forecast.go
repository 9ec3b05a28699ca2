package council

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file says in advance what a change will do. It is for operators: no rule depends on it.

// A Pace is how fast the members of a council are, as configured and as measured.
type Pace struct {
	// RoundTrip bounds a round trip in good times, and Renew is the interval at which leaders renew.
	RoundTrip, Renew time.Duration
	// Disk is the slowest write of a record that was measured at any voter.
	Disk time.Duration
	// Leases are the lengths of leases in use. Standing is the longest promise that may stand; zero: the longest that is allowed.
	Leases   []time.Duration
	Standing time.Duration
	// Sites has the site of each member, by name. Members without one share none.
	Sites map[string]string
}

// A Forecast is what a change will do if all newcomers come up and nothing fails.
type Forecast struct {
	// Steps are the configurations on the way.
	Steps []*Config
	// Waits says that the way does not end: some member has to come up, or to be given up, first.
	Waits bool
	// Needs is how long a lease must last to survive a step: an interval between renewals, three round trips and two writes.
	Needs time.Duration
	// Short are the lengths of leases that will be lost once in each step, unless the moment is lucky.
	Short []time.Duration
	// Step bounds one step, and Takes all of them. Neither counts the time that newcomers take to start, and leaders to hand over.
	Step, Takes time.Duration
	pace        Pace
	from        *Config
}

// Forecast returns what a change to a goal will do, given which voters are taken for dead.
func (c *Config) Forecast(g *Goal, dead protocol.Set, p Pace) *Forecast {
	f := &Forecast{pace: p, from: c, Needs: p.Renew + 3*p.RoundTrip + 2*p.Disk}
	longest := max(c.Terms.Longest, g.Terms.Longest)
	if p.Standing > 0 {
		longest = p.Standing
	}
	rho := max(c.Terms.Rho, g.Terms.Rho)
	f.Step = 4*p.RoundTrip + 4*p.Disk + p.Renew + rho.WaitAtLeast(longest)
	for _, l := range slices.Sorted(slices.Values(p.Leases)) {
		if rho.WaitAtMost(l) < f.Needs {
			f.Short = append(f.Short, l)
		}
	}
	n := uint64(0)
	birth := func(string) Birth {
		n++
		return Birth{0: 1, 1: byte(n >> 8), 2: byte(n)}
	}
	for at := c; ; {
		v := View{Dead: dead, Ready: at.Present().Minus(dead)}
		var next *Config
		if at.Goal == nil {
			v.Leading = at.Voters().Minus(dead) // as far as the proposer knows
			next = at.Begin(g, &v, birth)
		} else {
			next = at.Next(&v, birth)
		}
		if next == nil {
			f.Waits = true
			break
		}
		at.precede(next)
		f.Steps = append(f.Steps, next)
		if at = next; at.Goal == nil {
			break
		}
	}
	f.Takes = time.Duration(len(f.Steps)) * f.Step
	return f
}

// Invites says that the change brings newcomers.
func (f *Forecast) Invites() bool {
	return slices.ContainsFunc(f.Steps, func(s *Config) bool { return slices.ContainsFunc(s.Members, func(m Member) bool { return m.Guest }) })
}

// survives returns how many voters may fail while a majority is left.
func (c *Config) survives() int {
	voters := c.Voters()
	return (voters.Len() - 1) / 2
}

// stops returns the sites whose loss leaves no majority.
func (c *Config) stops(sites map[string]string) []string {
	lost := make(map[string]protocol.Set)
	for i := range c.Members {
		if m := &c.Members[i]; m.Role.votes() && sites[m.Name] != "" {
			s := lost[sites[m.Name]]
			lost[sites[m.Name]] = s.With(m.Seat)
		}
	}
	var stop []string
	// order does not matter: it is sorted below.
	for site, members := range lost {
		voters := c.Voters()
		if !majorityOf(voters, voters.Minus(members)) {
			stop = append(stop, site)
		}
	}
	slices.Sort(stop)
	return stop
}

// Lines words the forecast for people, one fact in each line.
func (f *Forecast) Lines() []string {
	p := &f.pace
	lines := make([]string, 0, len(f.Steps)+4)
	before, weakest := f.from, f.from.survives()
	for i, s := range f.Steps {
		lines = append(lines, fmt.Sprintf("step %d: %s; %d votes, survives the loss of %d", i+1, difference(before, s), votes(s), s.survives()))
		if s.survives() < weakest {
			weakest = s.survives()
		}
		before = s
	}
	if f.Waits {
		lines = append(lines, "then the change waits for members that are not up")
	}
	steps := "steps"
	if len(f.Steps) == 1 {
		steps = "step"
	}
	takes := fmt.Sprintf("takes up to %v: %d %s of up to %v (4 round trips of %v, 4 disk writes of %v, a renewal interval of %v, and %v until no promise "+
		"of before stands)", f.Takes.Round(time.Millisecond), len(f.Steps), steps, f.Step.Round(time.Millisecond), p.RoundTrip, p.Disk, p.Renew,
		(f.Step - 4*p.RoundTrip - 4*p.Disk - p.Renew).Round(time.Millisecond))
	if f.Invites() {
		takes += ", and the time that newcomers take to start"
	}
	lines = append(lines, takes)
	sum := fmt.Sprintf("%v + 3 x %v + 2 x %v = %v", p.Renew, p.RoundTrip, p.Disk, f.Needs)
	for _, l := range slices.Sorted(slices.Values(p.Leases)) {
		if slices.Contains(f.Short, l) {
			lines = append(lines, fmt.Sprintf("leases of %v will be lost once per step: shorter than %s", l, sum))
		} else {
			lines = append(lines, fmt.Sprintf("leases of %v last: not shorter than %s", l, sum))
		}
	}
	if weakest < min(f.from.survives(), before.survives()) {
		lines = append(lines, fmt.Sprintf("warning: on the way the council survives the loss of %d voters only", weakest))
	}
	if n := votes(before); n%2 == 0 {
		lines = append(lines, fmt.Sprintf("warning: %d votes survive the loss of %d, like %d: add one more, or make one an observer", n, before.survives(), n-1))
	}
	return append(lines, f.sites()...)
}

// sites says for how long the loss of a whole site would stop the council that it does not stop in the end.
func (f *Forecast) sites() (lines []string) {
	last := f.from
	if len(f.Steps) > 0 {
		last = f.Steps[len(f.Steps)-1]
	}
	end := last.stops(f.pace.Sites)
	steps := make(map[string]int)
	for _, s := range f.Steps {
		for _, site := range s.stops(f.pace.Sites) {
			steps[site]++
		}
	}
	for _, site := range slices.Sorted(maps.Keys(steps)) {
		if slices.Contains(end, site) {
			lines = append(lines, fmt.Sprintf("warning: the loss of site %s stops the council from then on", site))
		} else {
			lines = append(lines, fmt.Sprintf("warning: for up to %v the loss of site %s stops the council until the site is back", (time.Duration(steps[site])*f.Step).Round(time.Millisecond), site))
		}
	}
	return lines
}

func votes(c *Config) int {
	voters := c.Voters()
	return voters.Len()
}

// difference words what one configuration has that the one before has not.
func difference(from, to *Config) string {
	var all []string
	for i := range to.Members {
		m := &to.Members[i]
		was := from.At(m.Seat)
		switch {
		case was == nil || was.Birth != m.Birth:
			all = append(all, m.Name+" joins as an observer")
		case was.Role.votes() && !m.Role.votes():
			all = append(all, m.Name+" loses its vote")
		case !was.Role.votes() && m.Role == Witness:
			all = append(all, m.Name+" gets a vote as a witness")
		case !was.Role.votes() && m.Role.votes():
			all = append(all, m.Name+" gets a vote and may lead")
		}
	}
	for i := range from.Members {
		if m := &from.Members[i]; !to.holds(m) {
			all = append(all, m.Name+" leaves")
		}
	}
	if x, y := &from.Terms, &to.Terms; x.Longest != y.Longest {
		all = append(all, fmt.Sprintf("the longest lease is %v", y.Longest))
	}
	if x, y := &from.Terms, &to.Terms; x.Rho != y.Rho {
		all = append(all, fmt.Sprintf("the drift is %v", y.Rho))
	}
	if from.Terms.Settings != to.Terms.Settings {
		all = append(all, "the settings change")
	}
	switch {
	case len(all) == 0 && to.Goal == nil:
		return "the change is over"
	case len(all) == 0:
		return "the goal is agreed on"
	}
	return strings.Join(all, ", ")
}

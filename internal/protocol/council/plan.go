package council

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A View is what a proposer knows of the members when it looks for the next step.
type View struct {
	// Dead are voters that were silent for so long that they are taken for dead.
	Dead protocol.Set
	// Ready are members that have settled in the present configuration and have learnt as much as the proposer knows.
	Ready protocol.Set
	// Leading are members that lead a group, or may lead one, and are given more time to hand it over.
	Leading protocol.Set
}

// Next returns the next step towards the goal (R11); nil if there is none, or if it has to wait. Number, Floor and Before are not
// set. birth returns the birth of a newcomer.
func (c *Config) Next(v *View, birth func(name string) Birth) *Config {
	if c.Goal == nil {
		return nil
	}
	n := c.clone()
	if n.advance(v, birth) {
		return &n
	}
	return nil
}

// Begin returns the first step of a change to a goal: the goal itself, and what can be done for it at once.
func (c *Config) Begin(g *Goal, v *View, birth func(name string) Birth) *Config {
	n := c.clone()
	n.Goal, n.Ended = g, ""
	for i := range n.Members {
		if w := g.wish(&n.Members[i]); w != nil {
			n.Members[i].Key = w.Key // the others must know it before they agree on more
		}
	}
	n.advance(v, birth)
	return &n
}

// advance does the first that applies.
func (c *Config) advance(v *View, birth func(name string) Birth) bool {
	return c.invite(birth) || c.bury(v) || c.admit(v) || c.dismiss(v) || c.finish()
}

// Cancel returns the step that ends a change, for a reason. Votes stay as they are, and guests without one go.
func (c *Config) Cancel(why string) *Config {
	n := c.clone()
	n.Goal, n.Ended = nil, why
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return m.Guest && !m.Role.votes() })
	for i := range n.Members {
		n.Members[i].Guest = false
	}
	return &n
}

// wish returns the wish for a member; nil if it is to leave.
func (g *Goal) wish(m *Member) *Wish {
	for i := range g.Wishes {
		if g.Wishes[i].is(m) {
			return &g.Wishes[i]
		}
	}
	return nil
}

// role returns the role that a member has in the end.
func (g *Goal) role(m *Member) Role {
	if w := g.wish(m); w != nil {
		return w.Role
	}
	return Observer
}

// invite is R11-1: all newcomers become observers. One whose name a leaving member has comes after that one has gone, which is at
// once if it has no vote.
func (c *Config) invite(birth func(name string) Birth) bool {
	did := false
	taken := c.Present()
	for i := range c.Goal.Wishes {
		w := &c.Goal.Wishes[i]
		old := c.Named(w.Name)
		switch {
		case old != nil && w.is(old):
		case old != nil && !old.Role.votes():
			c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return m.Name == w.Name })
			did = true
		case old == nil:
			seat := c.free(taken, w.Seat)
			if seat == protocol.Nobody {
				continue
			}
			taken.Add(seat)
			c.seat(Member{Seat: seat, Since: c.Number + 1, Name: w.Name, Birth: birth(w.Name), Key: w.Key, Addrs: w.Addrs, Priority: w.Priority, Weight: w.Weight, Guest: true})
			did = true
		}
	}
	return did
}

// free returns the wanted seat, or the first one that is not taken; Nobody if there is none.
func (c *Config) free(taken protocol.Set, want protocol.Rank) protocol.Rank {
	if want != protocol.Nobody && !taken.Has(want) {
		return want
	}
	for s := range protocol.Rank(protocol.MaxMembers) {
		if !taken.Has(s) {
			return s
		}
	}
	return protocol.Nobody
}

// seat puts a member into the list.
func (c *Config) seat(m Member) {
	at, _ := slices.BinarySearchFunc(c.Members, m.Seat, func(x Member, s protocol.Rank) int { return int(x.Seat) - int(s) })
	c.Members = slices.Insert(c.Members, at, m)
}

// bury is R11-2: a leaving voter that is dead, or whose name a newcomer waits for, loses its vote, if those alive are a majority
// of the rest.
func (c *Config) bury(v *View) bool {
	voters := c.Voters()
	alive := voters.Minus(v.Dead)
	for i := range c.Members {
		m := &c.Members[i]
		rest := voters.Without(m.Seat)
		if m.Role.votes() && !c.Goal.role(m).votes() && (v.Dead.Has(m.Seat) || c.replaced(m)) && majorityOf(rest, alive) && c.leadable(m) {
			m.Role = Observer
			return true
		}
	}
	return false
}

// replaced says whether a newcomer of the same name takes the place of a member.
func (c *Config) replaced(m *Member) bool {
	return slices.ContainsFunc(c.Goal.Wishes, func(w Wish) bool { return w.Name == m.Name && !w.is(m) })
}

// leadable says whether another member than m may lead.
func (c *Config) leadable(m *Member) bool {
	leaders := c.Leaders()
	rest := leaders.Without(m.Seat)
	return !rest.Empty()
}

// admit is R11-3: an observer that is ready gets its vote. A council of one becomes one of two only if that is the goal, or if a
// third is ready as well.
func (c *Config) admit(v *View) bool {
	var next *Member
	ready := 0
	for i := range c.Members {
		m := &c.Members[i]
		if !m.Role.votes() && c.Goal.role(m).votes() && v.Ready.Has(m.Seat) {
			ready++
			if next == nil {
				next = m
			}
		}
	}
	voters := c.Voters()
	if next == nil || voters.Len() == 1 && ready < 2 && c.Goal.votes() > 2 {
		return false
	}
	next.Role = c.Goal.role(next)
	return true
}

// votes returns how many votes the goal has.
func (g *Goal) votes() int {
	n := 0
	for i := range g.Wishes {
		if g.Wishes[i].Role.votes() {
			n++
		}
	}
	return n
}

// dismiss is R11-4: once all that are to vote do, a leaving voter that leads nothing loses its vote.
func (c *Config) dismiss(v *View) bool {
	voting := 0
	for i := range c.Members {
		if m := &c.Members[i]; m.Role.votes() && c.Goal.role(m).votes() {
			voting++
		}
	}
	if voting < c.Goal.votes() {
		return false
	}
	for i := range c.Members {
		m := &c.Members[i]
		if m.Role.votes() && !c.Goal.role(m).votes() && !v.Leading.Has(m.Seat) && c.leadable(m) {
			m.Role = Observer
			return true
		}
	}
	return false
}

// finish is R11-5: when those vote that shall, everything else is made as the goal has it, and the change is over.
func (c *Config) finish() bool {
	for i := range c.Goal.Wishes {
		w := &c.Goal.Wishes[i]
		if m := c.Named(w.Name); m == nil || !w.is(m) || m.Role.votes() != w.Role.votes() {
			return false
		}
	}
	for i := range c.Members {
		if m := &c.Members[i]; m.Role.votes() && !c.Goal.role(m).votes() {
			return false
		}
	}
	g := c.Goal
	c.Members = slices.DeleteFunc(c.Members, func(m Member) bool { return g.wish(&m) == nil })
	for i := range c.Members {
		m := &c.Members[i]
		w := g.wish(m)
		m.Role, m.Priority, m.Weight, m.Addrs, m.Key, m.Guest = w.Role, w.Priority, w.Weight, w.Addrs, w.Key, false
	}
	c.Terms, c.Goal = g.Terms, nil
	return true
}

// Leaving says whether a member is to lose its vote in the end (R12).
func (c *Config) Leaving(seat protocol.Rank) bool {
	m := c.At(seat)
	return m != nil && c.Goal != nil && m.Role.votes() && !c.Goal.role(m).votes()
}

// Going says whether a member has no vote, and is to leave.
func (c *Config) Going(seat protocol.Rank) bool {
	m := c.At(seat)
	return m != nil && c.Goal != nil && !m.Role.votes() && c.Goal.wish(m) == nil
}

// Check returns what is wrong with a goal.
func (g *Goal) Check() error {
	c := Config{Terms: g.Terms}
	for i := range g.Wishes {
		w := &g.Wishes[i]
		c.Members = append(c.Members, Member{Seat: protocol.Rank(i), Name: w.Name, Addrs: w.Addrs, Weight: w.Weight, Role: w.Role})
	}
	return c.Check()
}

// Goes says whether a member is to lose its vote, or its place, in the end.
func (c *Config) Goes(m *Member) bool {
	return c.Goal != nil && (c.Goal.wish(m) == nil || c.Leaving(m.Seat))
}

// Progress is how far a change has got.
type Progress uint8

const (
	Idle        Progress = iota // none is running
	Settling                    // the present configuration has not settled
	Learning                    // newcomers are not ready
	HandingOver                 // leaving members lead groups
	Blocked                     // too few voters are heard
	Agreeing                    // the next configuration is being agreed on
)

// Progress says how far the running change has got, and for which members it waits.
func (m *Machine) Progress(now protocol.Time) (Progress, protocol.Set) {
	c := m.rec.Conf
	if m.phase != seated || c == nil {
		return Idle, protocol.Set{}
	}
	voters := c.Voters()
	var silent protocol.Set
	for r := range voters.Without(m.seat).All() {
		if now.Sub(m.peer(r).heard) > m.opt.Quiet {
			silent.Add(r)
		}
	}
	if !m.Running() {
		return Idle, protocol.Set{}
	}
	if !c.majority(voters.Minus(silent)) {
		return Blocked, silent
	}
	if !m.rec.Settled {
		return Settling, m.unsettled(now)
	}
	if m.want != nil || m.rec.Accepted.Conf != nil {
		return Agreeing, m.unanswered()
	}
	return m.waitsFor()
}

// waitsFor is Progress towards the goal.
func (m *Machine) waitsFor() (Progress, protocol.Set) {
	c, v := m.rec.Conf, m.view()
	var learn, lead protocol.Set
	for i := range c.Members {
		x := &c.Members[i]
		switch {
		case !x.Role.votes() && c.Goal.role(x).votes() && !v.Ready.Has(x.Seat):
			learn.Add(x.Seat)
		case c.Leaving(x.Seat) && v.Leading.Has(x.Seat):
			lead.Add(x.Seat)
		}
	}
	switch {
	case !learn.Empty():
		return Learning, learn
	case !lead.Empty():
		return HandingOver, lead
	}
	return Agreeing, m.unanswered()
}

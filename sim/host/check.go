package host

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// A checker watches a world as it is in truth. Each complaint begins with the name of what was broken (doc.go).
type checker struct {
	w       *World
	failure string
}

func (c *checker) fail(name, format string, args ...any) {
	if c.failure == "" {
		c.failure = fmt.Sprintf("%s: at %v: %s", name, c.w.now, fmt.Sprintf(format, args...))
		c.w.note("%s", c.failure)
	}
}

// ran looks at a process that begins.
func (c *checker) ran(h *host, p *process) {
	if p.life != nil && p.life.released && !p.waits {
		c.fail("H-RELEASE", "process %d of token %d begins after the release", p.Pid, p.life.token)
	}
}

// killed looks at a process that was killed for a tenure.
func (c *checker) killed(h *host, p *process, by *life) {
	if p.life != by {
		c.fail("H-KILL", "process %d of host %v was killed for token %d, and does not belong to it", p.Pid, h.rank, by.token)
	}
}

// released looks at what a tenure has left when it is released.
func (c *checker) released(l *life) {
	for _, p := range l.host.all {
		if p.life == l && !p.waits && (!p.hook || c.w.now < l.deadline) {
			c.fail("H-RELEASE", "token %d is released while process %d runs: %+v", l.token, p.Pid, *p)
		}
	}
	c.shown(l)
	if a := l.acting(); a != nil && a.m.Leads(a.now()) {
		c.fail("H-RELEASE", "token %d is released while its function runs", l.token)
	}
}

// acting returns the party whose function acts in the tenure, or nil.
func (l *life) acting() *party {
	for _, a := range []*party{l.candidacy.top, l.candidacy.client} {
		if a != nil && a.acts.runs && a.acts.life == l && !a.p.dead {
			return a
		}
	}
	return nil
}

// elects looks at the elected hooks of a tenure that begin.
func (c *checker) elects(l *life) {
	for _, o := range c.w.lives {
		if o != l && o.electedAt != protocol.Never && !o.lostRan && c.w.now < o.deadline {
			c.fail("H-HOOKS", "the elected hooks of token %d run before the lost hooks of token %d, and before its deadline %v", l.token, o.token, o.deadline)
		}
	}
}

// loses looks at lost hooks that begin.
func (c *checker) loses(a *party, l *life) {
	if l.released && c.w.now < l.deadline {
		c.fail("H-HOOKS", "the lost hooks of token %d run after its release", l.token)
	}
	until, _ := a.m.Announced() // which may be frozen, while the keeper learns of later ones
	for _, p := range l.host.all {
		if p.life == l && p != a.hook && !p.waits && a.now() < until && !c.excused(l, p) {
			c.fail("H-HOOKS", "the lost hooks of token %d run while process %d does", l.token, p.Pid)
		}
	}
}

// starts looks at a program, or an elected hook, that begins.
func (c *checker) starts(a *party, l *life) {
	if l.released {
		c.fail("H-RELEASE", "the program of token %d, or a hook, begins after the release", l.token)
	}
	if until, _ := a.m.Announced(); a.now() >= until {
		c.fail("H-START", "the program of token %d, or an elected hook, begins after its deadline %v", l.token, until)
	}
}

// walked looks at how long a walk has used the processor without a break.
func (c *checker) walked(a *party, used time.Duration) {
	if used >= tenure.WalkTurn+2*ms {
		c.fail("H-TURN", "a walk of the %v holds the processor for %v", a.role, used)
	}
}

// announced looks at a renewal that is passed on.
func (c *checker) announced(a *party, token uint64) {
	if l := a.candidacy.life; token == 0 && l.began < a.h.woke {
		c.fail("H-SUSPEND", "token %d was held before the suspend that ended at %v, and is used after it", l.token, a.h.woke)
	}
}

// stepped looks at a step of a machine.
func (c *checker) stepped(a *party, before tenure.State, ev tenure.Event) {
	after := a.m.State()
	if ev.Kind == tenure.Extended && before == tenure.Leading && after != before && c.w.now < ev.Until.Add(-guardTime-2*ms) {
		c.fail("H-READ", "the %v ends token %d, whose renewal until %v has come", a.role, a.m.Token(), ev.Until)
	}
	if before == tenure.Waiting && after == tenure.Over && a.m.Cause().Code == protocol.Unhealthy && a.now() < a.h.woke.Add(a.conf.Heartbeat) {
		c.fail("H-SILENCE", "the %v of %v ends a candidacy for silence, and the host was suspended until %v", a.role, a.h.rank, a.h.woke)
	}
	if s := a.candidacy; s.top == a && s.life != nil {
		switch {
		case after == tenure.Leading:
			s.life.askedAt = protocol.Never
		case s.life.askedAt == protocol.Never && after > tenure.Leading:
			s.life.askedAt = c.w.now
		}
	}
}

// renewed looks at a renewal.
func (c *checker) renewed(l *life) {
	if bound := l.askedAt.Add(agentGrace + leaseTime + hookTime + answer + 3*reaction); c.w.now > bound {
		c.fail("H-BOUND", "token %d was to stop at %v, and is still renewed", l.token, l.askedAt)
	}
}

// granted looks at what earlier tenures have left when another begins, poll again and again.
func (c *checker) granted(*life) { c.look() }

func (c *checker) poll() {
	c.look()
	c.w.after(10*ms, c.poll)
}

func (c *checker) look() {
	now := c.w.council.life
	for _, h := range c.w.hosts {
		for _, p := range h.all {
			l := p.life
			if l == nil || p.hook || p.waits || !h.runs(p) || c.excused(l, p) {
				continue
			}
			switch {
			case now != nil && now != l && c.watched(l, p, l.deadline):
				c.fail("H-LATE", "process %d of token %d runs on %v while token %d leads", p.Pid, l.token, h.rank, now.token)
			case l.began < h.woke && c.watched(l, p, h.woke):
				c.fail("H-SUSPEND", "process %d of token %d runs on after a suspend of %v", p.Pid, l.token, h.rank)
			}
		}
	}
	for _, l := range c.w.lives {
		if a := l.acting(); a != nil && now != nil && l != now && a.m.Leads(a.now()) {
			c.fail("H-LATE", "the function of token %d leads while token %d does", l.token, now.token)
		}
	}
}

// excused says that no rule lets anybody find or kill a process: a child of another user outside a cgroup, or one that left
// nothing by which it could be known, and whose runner is dead.
func (c *checker) excused(l *life, p *process) bool {
	if p.cgroup != nobodyID {
		return false
	}
	if p.uid != alice {
		return true
	}
	return l.orphaned() && p.mark == nobodyID && (p.session != l.first.Pid || p.Started > l.candidacy.keeper.ref.Seen)
}

// orphaned says that the runner is dead.
func (l *life) orphaned() bool { return l.host.find(l.candidacy.runner.ref.Runner) == nil }

// watched says that a party which may kill the process has been scheduled for long enough since an instant.
func (c *checker) watched(l *life, p *process, since protocol.Time) bool {
	h, s := l.host, l.candidacy
	enough := func(a *party, more time.Duration) bool {
		return h.runs(a.p) && c.w.now >= max(a.p.awake, since, p.awake).Add(2*reaction+h.takes(a.ref, p)+more)
	}
	if enough(s.runner, 0) || enough(s.keeper, 0) {
		return true
	}
	if h.agentUID == carol || h.agent == nil {
		return false
	}
	if s.top.p == h.agent {
		return s.top.knows(l, p) && enough(s.top, 0)
	}
	for _, a := range h.old { // a note was found; every lease of that time is over a lease later
		if a.p == h.agent && a.ref.life == l {
			return a.knows(l, p) && enough(a, leaseTime)
		}
	}
	return false
}

// takes returns how long a killer may need to find a process: nothing if it knows it, two walks otherwise.
func (h *host) takes(ref *reference, p *process) time.Duration {
	if p.cgroup != nobodyID || p.Identity == ref.First {
		return 0
	}
	return 2*time.Duration(h.crowd)*(ms+tenure.WalkBreak/time.Duration(tenure.WalkTurn/ms)) + 2*20*ms
}

// knows says that an agent can find a process: in the cgroup, by its mark, by a living runner, or in the session of a first process of
// which it has learned, if it has seen that alive since.
func (a *party) knows(l *life, p *process) bool {
	return p.cgroup != nobodyID || p.mark != nobodyID || !l.orphaned() && !a.ref.orphan || a.ref.First == l.first && p.Started <= a.ref.Seen
}

// left looks at a world in which everybody has stopped.
func (c *checker) left() {
	for _, h := range c.w.hosts {
		held := false
		for _, p := range h.all {
			if p.life == nil {
				continue
			}
			held = true
			if !c.excused(p.life, p) && c.watched(p.life, p, p.life.deadline) {
				c.fail("H-LEFT", "process %d of token %d is left on %v", p.Pid, p.life.token, h.rank)
			}
		}
		if held || h.agentUID == carol {
			continue
		}
		for _, m := range h.made { // those of which a party is left
			if s := m.candidacy; !s.top.p.dead || !s.runner.p.dead || !s.keeper.p.dead {
				c.fail("H-LEFT", "cgroup %d is left on %v", m.cgroup, h.rank)
			}
		}
		for _, n := range h.notes {
			c.fail("H-LEFT", "a note of token %d is left on %v", n.ref.life.token, h.rank)
		}
	}
}

// causes looks at the records of parties that could exchange them.
func (c *checker) causes() {
	for _, l := range c.w.lives {
		s := l.candidacy
		if k := s.keeper; k != nil && k.reported && !s.top.p.dead && s.top.m.State() == tenure.Over && tenure.Winner(s.top.m.Cause(), k.said) != s.top.m.Cause() {
			c.fail("H-CAUSE", "token %d: the agent records %v, its keeper reported %v", l.token, s.top.m.Cause(), k.said)
		}
		below := s.client
		if below == nil {
			below = s.runner
		}
		if below == nil || s.hungUp || s.top.p.dead || below.p.dead || s.top.m.State() != tenure.Over || below.m.State() != tenure.Over {
			continue
		}
		if a, b := s.top.m.Cause(), below.m.Cause(); below.m.Token() == l.token && a != b {
			c.fail("H-CAUSE", "token %d: the agent records %v, the %v %v", l.token, a, below.role, b)
		}
	}
}

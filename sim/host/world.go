package host

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/sim"
)

// ms is the unit in which a world counts.
const ms = time.Millisecond

// The timing of every world.
const (
	leaseTime = 300 * ms
	renewTime = 60 * ms
	guardTime = 60 * ms
	graceTime = 150 * ms // of a program
	hookTime  = 100 * ms
	answer    = 100 * ms
	// marginTime is how far the clocks below an agent may be behind its own.
	marginTime = 4 * ms
	// reaction is how long a party that is scheduled may take to do what is due.
	reaction = 40 * ms
	// agentGrace covers all that those below do from being asked until they report.
	agentGrace = graceTime + hookTime + 2*reaction
)

// A World is some hosts and a council that elects one of them.
type World struct {
	*sim.Dice
	pages   *sim.Dice // for what is read, so that it changes nothing else
	now     protocol.Time
	queue   sim.Queue[func()]
	hosts   []*host
	council council
	lives   []*life
	secret  uint64
	check   checker
	armed   []Fault // those that wait for a state
	cover   *Coverage
	calm    bool // no more faults
	closing bool // nobody campaigns any more
	trace   []string
	tracing bool
}

// after has something happen later.
func (w *World) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

func (w *World) at(t protocol.Time, do func()) {
	*w.queue.Push(sim.Real(max(t, w.now))) = do
}

// between draws a number of milliseconds, with some microseconds.
func (w *World) between(lo, hi int) time.Duration {
	return w.Between(time.Duration(lo)*ms, time.Duration(hi)*ms)
}

// one says yes one time in n.
func (w *World) one(n int) bool { return w.N(n) == 0 }

func (w *World) note(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%9.3fms  ", float64(w.now)/float64(ms))+fmt.Sprintf(format, args...))
	}
}

// run lets the world go on until an instant, or a checker complains.
func (w *World) run(until protocol.Time) {
	for w.queue.Due(sim.Real(until)) && w.check.failure == "" {
		at, do := w.queue.Pop()
		w.now = protocol.Time(at)
		do()
	}
	w.now = max(w.now, until)
}

// A life is one tenure, as it is in truth.
type life struct {
	token     uint64
	host      *host
	candidacy *candidacy
	first     tenure.Identity // of the program
	// began is when it was elected; deadline is the latest that any party below the agent knows.
	began, deadline protocol.Time
	released        bool
	// electedAt is when its elected hooks began, Never if they did not; lostRan says that its lost hooks have run.
	electedAt protocol.Time
	lostRan   bool
	// askedAt is when the top party left the state Leading.
	askedAt protocol.Time
}

// A council gives a lease to one host at a time: to another one only after a release, or after the lease's end.
type council struct {
	w      *World
	holder *host
	life   *life
	token  uint64
	until  protocol.Time
	lapses bool
	led    protocol.Time // when somebody held it last
}

// look elects somebody if nobody holds the lease, and tells a holder whose lease is over.
func (c *council) look() {
	w := c.w
	w.after(5*ms, c.look)
	if c.holder != nil && w.now >= c.until {
		c.end(protocol.LeaseExpired)
	}
	if c.holder != nil {
		c.led = w.now
		return
	}
	start := w.N(len(w.hosts))
	for i := range w.hosts {
		if h := w.hosts[(start+i)%len(w.hosts)]; h.candidate() && !h.cut {
			c.grant(h)
			return
		}
	}
}

// candidate says whether the host would lead: its top party waits, and can be reached.
func (h *host) candidate() bool {
	return h.candidacy != nil && h.candidacy.top != nil && h.candidacy.life == nil && h.runs(h.candidacy.top.p) && h.candidacy.top.m.State() == tenure.Waiting
}

// grant gives the lease to a host.
func (c *council) grant(h *host) {
	w := c.w
	c.token++
	c.holder, c.until, c.lapses = h, w.now.Add(leaseTime), false
	l := &life{token: c.token, host: h, candidacy: h.candidacy, began: w.now, electedAt: protocol.Never, askedAt: protocol.Never}
	c.life, h.candidacy.life = l, l
	w.lives = append(w.lives, l)
	w.note("council: %v leads, token %d", h.rank, l.token)
	w.check.granted(l)
	h.candidacy.top.above(tenure.Event{Kind: tenure.Elected, Token: l.token, At: w.now, Until: c.until}, 0)
}

// renew renews the lease for the host that holds it, if its member runs and reaches the others.
func (h *host) renew() {
	w := h.w
	w.after(renewTime, h.renew)
	c := &w.council
	if !h.renewable() {
		return
	}
	w.check.renewed(c.life)
	c.until = w.now.Add(leaseTime)
	c.life.candidacy.renewed(c.until)
}

// renewable says that the host holds a lease that its member can renew.
func (h *host) renewable() bool {
	c := &h.w.council
	return c.holder == h && !h.cut && !c.lapses && h.w.now < c.until && h.runs(c.life.candidacy.top.p)
}

// end ends the lease, and tells its holder if it lives.
func (c *council) end(why protocol.CauseCode) {
	l := c.life
	c.holder, c.life = nil, nil
	l.candidacy.top.above(tenure.Event{Kind: tenure.Lost, Cause: protocol.Cause{Code: why, Peer: l.host.rank}}, 0)
}

// release takes the lease back.
func (c *council) release(l *life) {
	c.w.note("token %d is released", l.token)
	c.w.check.released(l)
	l.released = true
	if c.life == l {
		c.holder, c.life = nil, nil
	}
}

// transfer hands the lease over, or refuses.
func (c *council) transfer(l *life, to protocol.Rank) {
	c.w.after(c.w.between(0, 60), func() { c.decide(l, to) })
}

func (c *council) decide(l *life, to protocol.Rank) {
	h := c.w.hosts[int(to)%len(c.w.hosts)]
	if l.released {
		return // nobody waits any more
	}
	if c.life != l || h == l.host || !h.candidate() || h.cut {
		l.candidacy.top.above(tenure.Event{Kind: tenure.Refused}, 0)
		return
	}
	c.w.check.released(l)
	l.released = true
	c.holder, c.life = nil, nil
	l.candidacy.top.above(tenure.Event{Kind: tenure.Lost, Cause: protocol.Cause{Code: protocol.Transferred, Peer: to}}, 0)
	c.grant(h)
}

package check

import (
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Stays is S-kSTAB: a member that all trust, and that has been accessible for so long (kδ), is trusted by all until it no
// longer is. A member is accessible while it is up and all links to and from it are good, whatever the others are like.
//
// Crashes are for good in the paper, so it does not say when one that comes back counts among all. Here it does once it
// has been up for that time itself, and trusts somebody. Reliable links cannot be had with members that come back, or come
// late, for what was sent to them meanwhile is lost: where they are assumed nothing is judged after that.
type Stays struct {
	opinions opinions
	access   access
	window   time.Duration
	leader   protocol.Ident
	again    sim.Real // when somebody counts who did not before
	void     bool     // what is assumed does not hold any more
}

// NewStays returns the checker for a window of kδ. It needs the records of messages.
func NewStays(t Truth, l Links, window time.Duration) *Stays {
	return &Stays{opinions: newOpinions(t), access: newAccess(t, l), window: window, leader: protocol.NoIdent, again: sim.Forever}
}

// Name returns S-kSTAB.
func (s *Stays) Name() string { return "S-kSTAB" }

// Observe looks at every end of a leadership.
func (s *Stays) Observe(r *sim.Record) error {
	if s.access.links.Reliable && (r.Ev == sim.EvRestart || r.Ev == sim.EvStart && r.T > 0) {
		s.void = true
	}
	if s.void {
		return nil
	}
	s.access.follow(r)
	if !s.opinions.follow(r) && r.T < s.again {
		return nil
	}
	was := s.leader
	s.leader = s.opinions.leader(r.T, s.window)
	s.again = s.opinions.next(r.T, s.window)
	if was.Rank == protocol.Nobody || s.leader == was {
		return nil
	}
	if since := s.access.accessible(was.Rank, r.T); r.T.Sub(since) > s.window {
		return Violatedf(s.Name(), r.T, "%v, which all trusted and which has been accessible since %v, no longer leads: %v is trusted by %v",
			was, since, s.opinions.of[r.Node].trusts, r.Node)
	}
	return nil
}

// Finish has nothing to add: every end of a leadership was looked at.
func (s *Stays) Finish() error { return nil }

// Prompt is S-9D: while all links are good and nobody comes or goes, nobody is without a leader for longer than the bound
// (9δ), in any phase of a run.
type Prompt struct {
	opinions opinions
	access   access
	bound    time.Duration
	able     func(up protocol.Set) bool
	without  sim.Real // since when there has been no leader; Forever while there is one
}

// NewPrompt returns the checker. Where those that are up are not able to elect anybody, nothing is asked of them; nil:
// anybody is able. It needs the records of messages.
func NewPrompt(t Truth, l Links, bound time.Duration, able func(up protocol.Set) bool) *Prompt {
	return &Prompt{opinions: newOpinions(t), access: newAccess(t, l), bound: bound, able: able}
}

// Name returns S-9D.
func (p *Prompt) Name() string { return "S-9D" }

// Observe watches for how long there is no leader.
func (p *Prompt) Observe(r *sim.Record) error {
	err := p.late(r.T)
	p.access.follow(r)
	if p.opinions.follow(r) {
		switch led := p.opinions.leader(r.T, 0).Rank != protocol.Nobody; {
		case led:
			p.without = sim.Forever
		case p.without == sim.Forever:
			p.without = r.T
		}
	}
	return err
}

// late says whether a leader is overdue at t.
func (p *Prompt) late(t sim.Real) error {
	if p.without == sim.Forever || t.Sub(p.without) <= p.bound {
		return nil
	}
	since := max(p.without, p.access.good(t))
	up := p.opinions.up()
	if t.Sub(since) <= p.bound || up.Empty() || p.able != nil && !p.able(up) {
		return nil
	}
	return Violatedf(p.Name(), t, "there has been no leader since %v; all has been well since %v, and %v should do", p.without, since, p.bound)
}

// Finish looks at the last gap.
func (p *Prompt) Finish() error { return p.late(p.opinions.truth.Now()) }

// Links is what a paper assumes of good links.
type Links struct {
	// Within is how long a message may take on one, by what is proven to the receiver.
	Within time.Duration
	// Reliable links lose nothing: what is late still counts when it comes. Otherwise what is late is as good as lost.
	Reliable bool
}

// access follows when links were last bad, as the messages on them show: one that was lost, or late, or not proven to be in
// time, makes its link bad at the instant at which it was sent, and at no other. A member that stands still makes all links
// bad, for it sends and hears nothing in time; so does a clock that jumps.
//
// A link is good at an instant if what was sent then is there in time, or its receiver is down by that time. So a crash
// excuses what could still have been in time, and not what was late already: the receiver had gone without it, and may have
// acted on that before it died.
//
// It needs the records of messages. What a port refuses is taken for a probe.
type access struct {
	truth   Truth
	links   Links
	n       int
	bad     []sim.Real // by sender and receiver
	started []sim.Real // when each member last came up or went down
	all     sim.Real   // when something was last wrong with all
	flying  map[uint64]flight
}

// A flight is a message on its way.
type flight struct {
	from, to protocol.Rank
	sent     sim.Real
}

func newAccess(t Truth, l Links) access {
	n := t.Members()
	return access{truth: t, links: l, n: n, bad: make([]sim.Real, n*n), started: make([]sim.Real, n), flying: map[uint64]flight{}}
}

// follow takes a record.
func (a *access) follow(r *sim.Record) {
	switch r.Ev {
	case sim.EvSend:
		if a.truth.Up(r.Peer.Rank) {
			a.flying[r.Seq] = flight{r.Node, r.Peer.Rank, r.T}
		}
	case sim.EvDeliver:
		f, ok := a.flying[r.Seq]
		delete(a.flying, r.Seq)
		if d := r.Detail.(sim.Delivery); ok && (r.T.Sub(d.Sent) > a.links.Within || !a.links.Reliable && (d.Bound < 0 || d.Bound > int64(a.links.Within))) {
			a.spoil(f, r.T)
		}
	case sim.EvDrop:
		f, ok := a.flying[r.Seq]
		delete(a.flying, r.Seq)
		if ok && (strings.HasSuffix(r.Why, ": cut") || strings.HasSuffix(r.Why, ": lost")) {
			a.spoil(f, r.T)
		}
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose:
		a.started[r.Node] = r.T
		if a.truth.Frozen(r.Node) {
			a.all = r.T
		}
		a.forget(r.Node, r.T)
	case sim.EvCommand:
		if r.Why == "unfit" { // its own authority has no use for it
			a.started[r.Node] = r.T
		}
	case sim.EvFault, sim.EvHeal:
		a.fault(r)
	}
}

// fault notices what is wrong with everybody.
func (a *access) fault(r *sim.Record) {
	switch f := r.Detail.(sim.Fault); f.Kind {
	case sim.Pause, sim.Suspend, sim.Halt:
		a.all = r.T
		a.forget(f.A, r.T)
	case sim.Jump:
		a.all = r.T
	}
}

// spoil notes that a message came late, or will never come, as is known at t.
func (a *access) spoil(f flight, t sim.Real) {
	at := f.sent
	if a.links.Reliable {
		at = max(at, t.Add(-a.links.Within))
	}
	bad := &a.bad[int(f.from)*a.n+int(f.to)]
	*bad = max(*bad, at)
}

// forget leaves the messages to a member that cannot take them from t on, when it has judged what they showed until then.
func (a *access) forget(to protocol.Rank, t sim.Real) {
	for id, f := range a.flying {
		if f.to == to {
			a.judge(f, t)
			delete(a.flying, id)
		}
	}
}

// judge looks at a message that is on its way: if it is late by now it has spoilt its link already.
func (a *access) judge(f flight, t sim.Real) {
	if t.Sub(f.sent) > a.links.Within {
		a.spoil(f, t)
	}
}

// settle looks at everything that is on its way, and at who stands still.
func (a *access) settle(t sim.Real) {
	for _, f := range a.flying {
		a.judge(f, t)
	}
	for r := range a.n {
		if a.truth.Frozen(protocol.Rank(r)) {
			a.all = t
		}
	}
}

// accessible returns since when p has been up with good links, as seen at t.
func (a *access) accessible(p protocol.Rank, t sim.Real) sim.Real {
	a.settle(t)
	last := max(a.all, a.started[p])
	for q := range a.n {
		last = max(last, a.bad[int(p)*a.n+q], a.bad[q*a.n+int(p)])
	}
	return last
}

// good returns since when all links have been good and nobody has come or gone, as seen at t.
func (a *access) good(t sim.Real) sim.Real {
	a.settle(t)
	last := a.all
	for _, at := range a.started {
		last = max(last, at)
	}
	for _, at := range a.bad {
		last = max(last, at)
	}
	return last
}

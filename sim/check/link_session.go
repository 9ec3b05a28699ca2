package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// InSession is CH-MSG: in a session messages are delivered in the order in which they were posted, each once, none from another
// session, and none before both ends were in it or after the receiver left it. And in the healed core, where sessions last, each is delivered.
type InSession struct {
	truth     Truth
	patience  time.Duration
	histories histories
	of        map[stream]*sentMessages
	core      protocol.Set
}

// A stream is one direction of a link.
type stream struct{ from, to protocol.Ident }

// sentMessages are what was posted in the last session of a stream.
type sentMessages struct {
	session uint64
	posted  []sentMessage
	taken   uint64
}

type sentMessage struct {
	mark uint64
	at   sim.Real
}

// NewInSession returns a checker of CH-MSG.
func NewInSession(t Truth, patience time.Duration) *InSession {
	return &InSession{truth: t, patience: patience, histories: histories{}, of: map[stream]*sentMessages{}}
}

// Name returns CH-MSG.
func (c *InSession) Name() string { return "CH-MSG" }

// Observe follows what is posted and looks at what is taken.
func (c *InSession) Observe(r *sim.Record) error {
	self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			c.core = r.Members
		}
	case protocol.EvLink:
		mine, _ := c.histories.ends(r)
		*mine = r.Seq
	case protocol.EvPost:
		return c.post(r, c.sent(stream{self, r.Peer}))
	case protocol.EvTake:
		return c.take(r, c.sent(stream{r.Peer, self}))
	}
	return nil
}

func (c *InSession) sent(s stream) *sentMessages {
	l := c.of[s]
	if l == nil {
		l = &sentMessages{}
		c.of[s] = l
	}
	return l
}

// current says whether the member of a record is in the session that the record names.
func (c *InSession) current(r *sim.Record) bool {
	mine, _ := c.histories.ends(r)
	return *mine == r.Term && up(r.Term)
}

// post takes what was put on its way. A sender is never in a new session before its receiver has left the old one.
func (c *InSession) post(r *sim.Record, l *sentMessages) error {
	if !c.current(r) {
		return Violatedf(c.Name(), r.T, "%v posts %s to %v in session %d, in which it is not", r.Node, r.Why, r.Peer, r.Term)
	}
	if l.session != r.Term {
		l.session, l.posted, l.taken = r.Term, l.posted[:0], 0
	}
	l.posted = append(l.posted, sentMessage{r.Gen, r.T})
	if r.Seq != uint64(len(l.posted)) {
		return Violatedf(c.Name(), r.T, "%v posts number %d of session %d to %v, after %d", r.Node, r.Seq, r.Term, r.Peer, len(l.posted)-1)
	}
	return nil
}

// take looks at what is delivered.
func (c *InSession) take(r *sim.Record, l *sentMessages) error {
	switch {
	case !c.current(r):
		return Violatedf(c.Name(), r.T, "%v takes number %d of session %d from %v, in which it is not", r.Node, r.Seq, r.Term, r.Peer)
	case l.session != r.Term || r.Seq > uint64(len(l.posted)):
		return Violatedf(c.Name(), r.T, "%v takes number %d of session %d from %v, which posted no such message", r.Node, r.Seq, r.Term, r.Peer)
	case r.Seq != l.taken+1:
		return Violatedf(c.Name(), r.T, "%v takes number %d of session %d from %v after %d", r.Node, r.Seq, r.Term, r.Peer, l.taken)
	case r.Gen != l.posted[r.Seq-1].mark:
		return Violatedf(c.Name(), r.T, "%v takes %d for number %d of session %d from %v, which posted %d", r.Node, r.Gen, r.Seq, r.Term, r.Peer,
			l.posted[r.Seq-1].mark)
	}
	l.taken = r.Seq
	return nil
}

// Finish looks for what was not delivered although the session lasts.
func (c *InSession) Finish() error {
	for a := range c.core.All() {
		for b := range c.core.All() {
			from, to := c.truth.Ident(a), c.truth.Ident(b)
			l := c.of[stream{from, to}]
			if l == nil || l.taken == uint64(len(l.posted)) {
				continue
			}
			link := sim.Record{Node: a, Inc: from.Inc}
			link.Peer = to
			mine, other := c.histories.ends(&link)
			waits := c.truth.Now().Sub(l.posted[l.taken].at)
			if *mine == l.session && *other == l.session && waits > c.patience {
				return Violatedf(c.Name(), c.truth.Now(), "number %d of session %d from %v to %v has been on its way for %v", l.taken+1, l.session, from, to, waits)
			}
		}
	}
	return nil
}

// Connected is CH-UP: in the end all links of the healed core are up, in the same session at both ends, no others are, and that stays so.
type Connected struct {
	truth     Truth
	histories histories
	end       end
}

// NewConnected returns a checker that gives the core the settle time.
func NewConnected(t Truth, settle time.Duration) *Connected {
	return &Connected{truth: t, histories: histories{}, end: newEnd(settle)}
}

// Name returns CH-UP.
func (c *Connected) Name() string { return "CH-UP" }

// Observe looks at all links when the end begins, and refuses every change after that.
func (c *Connected) Observe(r *sim.Record) error {
	if c.end.reached(r) {
		if err := c.look(r.T); err != nil {
			return err
		}
	}
	if r.Ev == sim.EvRestart {
		c.histories.restart(r.Node)
	}
	if r.Ev != protocol.EvLink {
		return nil
	}
	if c.end.within(r.T) && c.end.core.Has(r.Node) {
		return Violatedf(c.Name(), r.T, "%v makes transition %d of its link to %v (%s), long after its core was healed", r.Node, r.Seq, r.Peer, r.Why)
	}
	mine, _ := c.histories.ends(r)
	*mine = r.Seq
	return nil
}

// look compares the links of the core with what is true.
func (c *Connected) look(t sim.Real) error {
	for a := range c.end.core.All() {
		for b := range protocol.Rank(c.truth.Members()) {
			if a == b {
				continue
			}
			link := sim.Record{Node: a, Inc: c.truth.Ident(a).Inc}
			link.Peer = c.truth.Ident(b)
			mine, other := c.histories.ends(&link)
			switch inside := c.end.core.Has(b) && link.Inc != 0 && link.Peer.Inc != 0; { // who does not know its incarnation has no links
			case inside && (!up(*mine) || *mine != *other):
				return Violatedf(c.Name(), t, "%v is at %d of its link to %v, which is at %d", a, *mine, link.Peer, *other)
			case !inside && up(*mine):
				return Violatedf(c.Name(), t, "the link of %v to %v is up, which is down", a, link.Peer)
			}
		}
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline.
func (c *Connected) Finish() error {
	if c.end.over(c.truth.Now()) {
		return c.look(c.truth.Now())
	}
	return nil
}

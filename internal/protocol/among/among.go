// Package among runs an elector among some members of a council: those that may lead. To the elector there are no others, so
// that it neither waits for them nor counts them as dead. What goes in and comes out has the ranks of the council.
//
// A member that is told that it is not fit to lead (protocol.Health) follows whom the elector trusts, but never leads: it makes
// the elector move on from itself, with Unfit, and again while it is trusted, and shows no leader meanwhile. This is to an elector
// alone what package stack is to one under leases.
//
//	PROTOCOLS §4.6  rounds of members that may lead   inside, outside
//	PROTOCOLS §8    a condition for leadership        onHealth, unfitAt
package among

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config says who takes part.
type Config struct {
	Self    protocol.Rank
	Members protocol.Set
	// Repeat is after how long a member that is not fit to lead, and is still trusted, tells the elector again.
	Repeat time.Duration
}

// Machine is the elector in the council.
type Machine struct {
	config Config
	ranks  []protocol.Rank // of the council, by rank in the elector
	inner  protocol.Machine
	wake   protocol.Time // of the elector

	ill bool
	// shown is the elector's last view, and moved when it was last told to move on.
	shown protocol.View
	moved protocol.Time

	in    protocol.Receive
	views []protocol.View
	send  []protocol.Envelope
	facts []protocol.Fact
}

// New returns the machine of a member that takes part. The elector is made for its rank among so many members.
func New(c Config, elector func(self protocol.Rank, members int) (protocol.Machine, error)) (*Machine, error) {
	if !c.Members.Has(c.Self) {
		return nil, fmt.Errorf("among: member %v: must be among those that take part, %v", c.Self, c.Members)
	}
	m := &Machine{config: c, ranks: slices.Collect(c.Members.All()), wake: protocol.Never, shown: protocol.View{Leader: protocol.NoIdent},
		moved: -protocol.Never}
	var err error
	m.inner, err = elector(m.inside(c.Self), len(m.ranks))
	return m, err
}

// inside returns a member's rank in the elector, and outside the one in the council; Nobody is Nobody.
func (m *Machine) inside(r protocol.Rank) protocol.Rank {
	i, found := slices.BinarySearch(m.ranks, r)
	if !found {
		return protocol.Nobody
	}
	return protocol.Rank(i)
}

func (m *Machine) outside(r protocol.Rank) protocol.Rank {
	if int(r) >= len(m.ranks) {
		return protocol.Nobody
	}
	return m.ranks[r]
}

func (m *Machine) outsideAll(s protocol.Set) (out protocol.Set) {
	for r := range s.All() {
		if o := m.outside(r); o != protocol.Nobody {
			out.Add(o)
		}
	}
	return out
}

// Step takes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event) protocol.Effects {
	m.views, m.send, m.facts = m.views[:0], m.send[:0], m.facts[:0]
	switch ev := ev.(type) {
	case *protocol.Receive:
		m.in = *ev
		if m.in.From.Rank = m.inside(ev.From.Rank); m.in.From.Rank != protocol.Nobody {
			m.pass(m.inner.Step(now, &m.in))
		}
	case protocol.Health:
		m.onHealth(ev.OK)
	case protocol.Tick:
		if now >= m.unfitAt() {
			m.moved = now
			m.pass(m.inner.Step(now, protocol.Unfit{}))
			break
		}
		m.pass(m.inner.Step(now, ev))
	default:
		m.pass(m.inner.Step(now, ev))
	}
	return protocol.Effects{Views: m.views, Send: m.send, Facts: m.facts, Wake: min(m.wake, max(now, m.unfitAt()))}
}

// unfitAt returns when the elector is to be told that this member must not lead; Never if it may, or is not trusted.
func (m *Machine) unfitAt() protocol.Time {
	if !m.ill || m.shown.Leader.Rank != m.config.Self {
		return protocol.Never
	}
	return m.moved.Add(m.config.Repeat)
}

// onHealth takes note of whether the member may lead. If it is trusted, what it shows changes.
func (m *Machine) onHealth(ok bool) {
	if m.ill != ok {
		return
	}
	m.ill = !ok
	if m.shown.Leader.Rank == m.config.Self {
		if ok {
			m.shown.Cause = protocol.Cause{Code: protocol.Elected, Peer: m.config.Self}
		}
		m.show()
	}
}

// pass hands on what the elector wants.
func (m *Machine) pass(e protocol.Effects) {
	m.wake = e.Wake
	for _, v := range e.Views {
		v.Leader.Rank, v.Cause.Peer, v.Support = m.outside(v.Leader.Rank), m.outside(v.Cause.Peer), m.outsideAll(v.Support)
		if m.ill && v.Cause.Code == protocol.NoQuorum && v.Cause.Peer == m.config.Self {
			v.Cause.Code = protocol.Unhealthy // that is why it was told to move on
		}
		m.shown = v
		m.show()
	}
	for _, s := range e.Send {
		s.To = m.outside(s.To)
		m.send = append(m.send, s)
	}
	for _, f := range e.Facts {
		f.Peer.Rank, f.Members = m.outside(f.Peer.Rank), m.outsideAll(f.Members)
		m.facts = append(m.facts, f)
	}
}

// show publishes the elector's view; no leader, if that would be this member and it must not lead.
func (m *Machine) show() {
	v := m.shown
	if m.ill && v.Leader.Rank == m.config.Self {
		v.Leader, v.Term, v.Cause = protocol.NoIdent, 0, protocol.Cause{Code: protocol.Unhealthy, Peer: m.config.Self}
	}
	m.views = append(m.views, v)
}

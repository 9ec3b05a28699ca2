// Package eligible runs an elector among some members of a council: those that may lead. The elector does not know the
// others, so it neither waits for them nor counts them as dead. Events and effects have the ranks of the council.
//
// An unhealthy member (protocol.Health) follows the member that the elector trusts, but never leads. It makes the elector
// move on from itself with Unfit, repeats that while it is trusted, and shows no leader meanwhile. This package is to an
// elector alone what package stack is to one under leases.
//
//	PROTOCOLS §4.6  rounds of members that may lead   inside, outside
//	PROTOCOLS §8    a condition for leadership        onHealth, unfitAt
package eligible

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

	// ill says that the member must not lead, and why for what cause.
	ill bool
	why protocol.CauseCode
	// shown is the elector's last view, and moved when it was last asked to move on.
	shown protocol.View
	moved protocol.Time

	in protocol.Receive
}

// New returns the machine of a member that takes part. The elector is made for its rank among so many members.
func New(c Config, elector func(self protocol.Rank, members int) (protocol.Machine, error)) (*Machine, error) {
	if !c.Members.Has(c.Self) {
		return nil, fmt.Errorf("eligible: member %v: must be among those that take part, %v", c.Self, c.Members)
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
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev := ev.(type) {
	case *protocol.Receive:
		if from := m.inside(ev.From.Rank); from != protocol.Nobody {
			m.in = *ev
			m.in.From.Rank = from
			m.pass(now, &m.in, out)
		}
	case protocol.Health:
		m.onHealth(ev, out)
	case protocol.Tick:
		if now >= m.unfitAt() {
			m.moved = now
			m.pass(now, protocol.Unfit{}, out)
			break
		}
		m.pass(now, ev, out)
	default:
		m.pass(now, ev, out)
	}
	out.Wake = min(m.wake, max(now, m.unfitAt()))
}

// unfitAt returns when to report to the elector that this member must not lead; Never if it may, or is not trusted.
func (m *Machine) unfitAt() protocol.Time {
	if !m.ill || m.shown.Leader.Rank != m.config.Self {
		return protocol.Never
	}
	return m.moved.Add(m.config.Repeat)
}

// onHealth takes note of whether the member may lead. If it is trusted, what it shows changes.
func (m *Machine) onHealth(ev protocol.Health, out *protocol.Effects) {
	if m.ill == !ev.Fit() {
		return
	}
	m.ill, m.why = !ev.Fit(), ev.Cause()
	if m.shown.Leader.Rank == m.config.Self {
		if !m.ill {
			m.shown.Cause = protocol.Cause{Code: protocol.Elected, Peer: m.config.Self}
		}
		out.Views = append(out.Views, m.view())
	}
}

// pass lets the elector take an event, and gives what it appends the ranks of the council.
func (m *Machine) pass(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	views, send, facts := len(out.Views), len(out.Send), len(out.Facts)
	m.inner.Step(now, ev, out)
	m.wake = out.Wake
	for i := range out.Views[views:] {
		v := &out.Views[views+i]
		v.Leader.Rank, v.Cause.Peer, v.Support = m.outside(v.Leader.Rank), m.outside(v.Cause.Peer), m.outsideAll(v.Support)
		if m.ill && v.Cause.Code == protocol.NoQuorum && v.Cause.Peer == m.config.Self {
			v.Cause.Code = m.why // that is why it was asked to move on
		}
		m.shown = *v
		*v = m.view()
	}
	for i := range out.Send[send:] {
		e := &out.Send[send+i]
		e.To = m.outside(e.To)
	}
	for i := range out.Facts[facts:] {
		f := &out.Facts[facts+i]
		f.Peer.Rank, f.Members = m.outside(f.Peer.Rank), m.outsideAll(f.Members)
	}
}

// view is the elector's view; no leader, if that would be this member and it must not lead.
func (m *Machine) view() protocol.View {
	v := m.shown
	if m.ill && v.Leader.Rank == m.config.Self {
		v.Leader, v.Term, v.Cause = protocol.NoIdent, 0, protocol.Cause{Code: m.why, Peer: m.config.Self}
	}
	return v
}

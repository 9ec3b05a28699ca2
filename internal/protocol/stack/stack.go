// Package stack combines an elector and an authority into one machine (PROTOCOLS §8): the elector reports which member to
// trust, once for the whole council, and the authority turns that into leaders with leases.
//
//	PROTOCOLS §8  elector and authority       stack.go
//	PROTOCOLS §8  roles, who may do what      roles.go
//	PROTOCOLS §8  a condition for leadership  health.go
//
// The view of the elector reaches the authority as Trusts. The only report back is Unfit: the trusted member cannot gather a
// quorum. The authority decides which member tries when (package nerio, group.go). No report of an elector can make two
// leaders.
//
// Electors have no preferences, so this package handles members that may not lead. A trusted member that is a witness, or
// unhealthy, reports to its own elector that it is Unfit, so that electors that can move on do. Whether they do or not, no
// member waits for such a member: all know the witnesses, an unhealthy member notifies the others, and the authority lets the
// next in rank go first. Observers run no elector at all.
//
// The authority determines the incarnation of the member. The stack creates the elector after that, and again if the
// incarnation changes; until then the member trusts no other.
//
// We differ in this: PROTOCOLS §8 appends the elector's message to a request for renewal. Here each has its own timer, and
// they share a packet only when both are due in one turn of the driver. An elector that waited for the next renewal would be
// late by up to a renewal interval, which its time-outs have no room for. In the library a message each Heartbeat, beside ten
// renewals or more, is a tenth of a leader's packets.
package stack

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// An Authority grants leases on an elector's word.
type Authority interface {
	protocol.Incarnate
	protocol.Closable
	// Owns says whether a message is the authority's; all others are the elector's.
	Owns(protocol.Message) bool
	// TakeUnfit says whether there is a reason to tell the elector so, once.
	TakeUnfit() bool
	// Proved returns until when proofs may be believed that the authority has given.
	Proved() protocol.Time
}

// NewElector makes the elector of a member that speaks as inc, among the voters of a council.
type NewElector func(inc protocol.Inc, council *Shape) (protocol.Machine, error)

// Config is what a member has to know of itself and of the others.
type Config struct {
	Self  protocol.Rank
	Roles Roles
	// Repeat is how often a member repeats that it is ill; zero stands for DefaultRepeat. The renewal interval of the
	// authority is a good choice.
	Repeat time.Duration
	// Shape, if it is set, is the council to begin with, in place of Self and Roles: ranks in it may have no member.
	Shape *Shape
}

// Machine is an elector under an authority.
type Machine struct {
	config     Config
	shape      *Shape
	authority  Authority
	newElector NewElector
	elector    protocol.Machine
	inc        protocol.Inc      // that the elector was made for
	out        *protocol.Effects // of the present Step

	// trusted is what the elector last published, and passed what the authority last got.
	trusted protocol.Rank
	passed  protocol.Trusts
	health  health
	// Wakes of the two.
	authorityWake, electorWake protocol.Time
	err                        error
}

// New returns the machine of one member. The roles of the authority must be the same.
func New(c Config, authority Authority, elector NewElector) (*Machine, error) {
	if c.Shape == nil {
		if err := c.Roles.Check(); err != nil {
			return nil, err
		}
		c.Shape = c.shape()
	}
	switch {
	case int(c.Shape.Self) >= c.Shape.Members:
		return nil, fmt.Errorf("stack: member %d: must be below %d, the number of members", c.Shape.Self, c.Shape.Members)
	case c.Repeat < 0:
		return nil, fmt.Errorf("stack: repeated every %v: must not be negative", c.Repeat)
	case c.Repeat == 0:
		c.Repeat = DefaultRepeat
	}
	m := &Machine{config: c, shape: c.Shape, authority: authority, newElector: elector, trusted: protocol.Nobody,
		passed: protocol.Trusts{Leader: protocol.Nobody}, authorityWake: protocol.Never, electorWake: protocol.Never}
	m.health = health{now: protocol.Health{OK: true}, due: protocol.Never, next: protocol.Never, moved: -protocol.Never, peers: make([]condition, c.Shape.Members)}
	for r := range m.health.peers {
		m.health.peers[r].end = protocol.Never
	}
	return m, nil
}

// Incarnation implements protocol.Incarnate.
func (m *Machine) Incarnation() protocol.Inc { return m.authority.Incarnation() }

// Votes implements protocol.Incarnate.
func (m *Machine) Votes() protocol.Time { return m.authority.Votes() }

// Closed implements protocol.Closable.
func (m *Machine) Closed() bool { return m.authority.Closed() }

// Proved returns until when proofs may be believed that the member has given.
func (m *Machine) Proved() protocol.Time { return m.authority.Proved() }

// Err returns why there is no elector, if it could not be made.
func (m *Machine) Err() error { return m.err }

// Step implements protocol.Machine. Each of the two takes at most one Step of its own, because it uses its messages again;
// what one of them leads to in the other beyond that waits for a Tick, which is asked for at once.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	m.forget(now)
	switch ev := ev.(type) {
	case *protocol.Receive:
		m.onReceive(now, ev)
	case protocol.Health:
		m.onHealth(now, ev)
	case protocol.Tick:
		m.tick(now, ev)
	default:
		m.authorityStep(now, ev)
		m.back(now)
	}
	m.tellHealth(now)
	out.Wake = min(m.authorityWake, m.electorWake, m.healthWake(now))
	if m.news() || m.unmade() {
		out.Wake = now
	}
}

// onReceive gives a message to the machine that it is for.
func (m *Machine) onReceive(now protocol.Time, ev *protocol.Receive) {
	m.onNewcomer(now, ev.From)
	if w, ok := ev.Message.(*Health); ok {
		m.onWord(now, ev.From, w)
		m.pass(now)
		return
	}
	if m.authority.Owns(ev.Message) {
		m.authorityStep(now, ev)
		m.back(now)
		return
	}
	m.electorStep(now, ev)
	m.pass(now)
}

// news says whether there is something to pass to the authority.
func (m *Machine) news() bool {
	return m.trusted != m.passed.Leader || m.health.barred != m.passed.Barred
}

// tick wakes each machine that wanted to be woken; if neither did, both, for a Tick that neither asked for is harmless.
func (m *Machine) tick(now protocol.Time, ev protocol.Tick) {
	electorDue, authorityDue, useless := now >= m.electorWake, now >= m.authorityWake, m.useless(now)
	if !electorDue && !authorityDue && !useless {
		electorDue, authorityDue = true, true
	}
	switch {
	case useless:
		electorDue = true
		m.electorStep(now, protocol.Unfit{})
	case electorDue:
		m.electorStep(now, ev)
	}
	switch {
	case m.news():
		m.pass(now)
	case authorityDue:
		m.authorityStep(now, ev)
		if !electorDue || m.unmade() {
			m.back(now)
		}
	}
}

// pass gives the authority the leader that the elector trusts and the members that are ill, if that is news.
func (m *Machine) pass(now protocol.Time) {
	if !m.news() {
		return
	}
	m.passed = protocol.Trusts{Leader: m.trusted, Barred: m.health.barred}
	m.authorityStep(now, m.passed)
}

// unmade says that the elector is to be made.
func (m *Machine) unmade() bool {
	inc := m.authority.Incarnation()
	return inc != 0 && inc != m.inc
}

// back tells the elector what the authority has to tell it.
func (m *Machine) back(now protocol.Time) {
	if m.unmade() {
		inc := m.authority.Incarnation()
		m.inc = inc
		m.elector = nil
		if !m.shape.Voters.Has(m.shape.Self) {
			return
		}
		e, err := m.newElector(inc, m.shape)
		m.err = err
		if err == nil {
			m.elector = e
			m.electorStep(now, protocol.Start{})
		}
		return
	}
	if m.authority.TakeUnfit() || m.useless(now) {
		m.electorStep(now, protocol.Unfit{})
	}
}

func (m *Machine) authorityStep(now protocol.Time, ev protocol.Event) {
	m.authority.Step(now, ev, m.out)
	m.authorityWake = m.out.Wake
	m.reshape()
}

// electorStep lets the elector take an event. While the member does not know who it is, the elector is not heard. The
// record is the authority's.
func (m *Machine) electorStep(now protocol.Time, ev protocol.Event) {
	if m.elector == nil {
		return
	}
	o := m.out
	views, send, record := len(o.Views), len(o.Send), len(o.Persist)
	m.elector.Step(now, ev, o)
	m.electorWake = o.Wake
	for i := range o.Views[views:] {
		if v := &o.Views[views+i]; v.Domain == protocol.Elector {
			m.trusted = v.Leader.Rank
		}
	}
	if m.authority.Incarnation() == 0 {
		o.Send = o.Send[:send]
	}
	if len(o.Persist) != record {
		panic("stack: OneRecord: the elector wrote a record, which is the authority's")
	}
}

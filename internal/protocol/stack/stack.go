// Package stack makes one machine of an elector and an authority (PROTOCOLS §8): the elector says whom to trust, once
// for the whole council, and the authority turns that into leaders with leases.
//
// The elector speaks to the authority through its view, which reaches it as Trusts. The one word back is Unfit: the
// trusted member cannot gather a quorum. Who tries when is the authority's business (package nerio, seat.go); nothing
// that an elector says can make two leaders.
//
// The authority decides under which incarnation the member speaks. The elector is made when that is known, and again if
// it changes; until then the member trusts nobody.
package stack

import "github.com/regentproject/regent/internal/protocol"

// An Authority grants leases on an elector's word.
type Authority interface {
	protocol.Incarnate
	protocol.Closable
	// Owns says whether a message is the authority's; all others are the elector's.
	Owns(protocol.Message) bool
	// TakeUnfit says whether there is a reason to tell the elector so, once.
	TakeUnfit() bool
}

// NewElector makes the elector of a member that speaks as inc.
type NewElector func(inc protocol.Inc) (protocol.Machine, error)

// Machine is an elector under an authority.
type Machine struct {
	authority  Authority
	newElector NewElector
	elector    protocol.Machine
	inc        protocol.Inc // that the elector was made for
	out        protocol.Effects

	// trusted is what the elector last said, and told what the authority was last told.
	trusted, told protocol.Rank
	// Wakes of the two.
	authorityWake, electorWake protocol.Time
	err                        error
}

// New returns the machine of one member.
func New(authority Authority, elector NewElector) *Machine {
	return &Machine{authority: authority, newElector: elector, trusted: protocol.Nobody, told: protocol.Nobody,
		authorityWake: protocol.Never, electorWake: protocol.Never}
}

// Incarnation implements protocol.Incarnate.
func (m *Machine) Incarnation() protocol.Inc { return m.authority.Incarnation() }

// Closed implements protocol.Closable.
func (m *Machine) Closed() bool { return m.authority.Closed() }

// Err returns why there is no elector, if it could not be made.
func (m *Machine) Err() error { return m.err }

// Step implements protocol.Machine. Each of the two takes at most one Step of its own, so that what it asked for stays
// valid; what one of them leads to in the other beyond that waits for a Tick, which is asked for at once.
func (m *Machine) Step(now protocol.Time, ev protocol.Event) protocol.Effects {
	o := &m.out
	*o = protocol.Effects{Views: o.Views[:0], Horizons: o.Horizons[:0], Send: o.Send[:0], Answers: o.Answers[:0],
		Facts: o.Facts[:0]}
	switch ev := ev.(type) {
	case *protocol.Receive:
		if !m.authority.Owns(ev.Message) {
			m.electorStep(now, ev)
			m.pass(now)
			break
		}
		m.authorityStep(now, ev)
		m.back(now)
	case protocol.Tick:
		m.tick(now, ev)
	default:
		m.authorityStep(now, ev)
		m.back(now)
	}
	o.Wake = min(m.authorityWake, m.electorWake)
	if m.trusted != m.told {
		o.Wake = now
	}
	return m.out
}

// tick wakes whoever wanted to be woken; if neither did, both, for a Tick that nobody asked for is harmless.
func (m *Machine) tick(now protocol.Time, ev protocol.Tick) {
	electorDue, authorityDue := now >= m.electorWake, now >= m.authorityWake
	if !electorDue && !authorityDue {
		electorDue, authorityDue = true, true
	}
	if electorDue {
		m.electorStep(now, ev)
	}
	switch {
	case m.trusted != m.told:
		m.pass(now)
	case authorityDue:
		m.authorityStep(now, ev)
		if !electorDue {
			m.back(now)
		}
	}
}

// pass tells the authority whom the elector trusts, if that is news.
func (m *Machine) pass(now protocol.Time) {
	if m.trusted == m.told {
		return
	}
	m.told = m.trusted
	m.authorityStep(now, protocol.Trusts{Leader: m.trusted})
}

// back tells the elector what the authority has to tell it.
func (m *Machine) back(now protocol.Time) {
	if inc := m.authority.Incarnation(); inc != 0 && inc != m.inc {
		m.inc = inc
		m.elector = nil
		e, err := m.newElector(inc)
		if m.err = err; err == nil {
			m.elector = e
			m.electorStep(now, protocol.Start{})
		}
		return
	}
	if m.authority.TakeUnfit() {
		m.electorStep(now, protocol.Unfit{})
	}
}

func (m *Machine) authorityStep(now protocol.Time, ev protocol.Event) {
	e := m.authority.Step(now, ev)
	m.authorityWake = e.Wake
	m.merge(&e)
}

// electorStep lets the elector take an event. While the member does not know who it is, the elector is not heard.
func (m *Machine) electorStep(now protocol.Time, ev protocol.Event) {
	if m.elector == nil {
		return
	}
	e := m.elector.Step(now, ev)
	m.electorWake = e.Wake
	for i := range e.Views {
		if v := &e.Views[i]; v.Domain == protocol.Elector {
			m.trusted = v.Leader.Rank
		}
	}
	if m.authority.Incarnation() == 0 {
		e.Send = nil
	}
	m.merge(&e)
}

// merge adds the effects of one of the two to those of the Step.
func (m *Machine) merge(e *protocol.Effects) {
	o := &m.out
	o.Views = append(o.Views, e.Views...)
	o.Horizons = append(o.Horizons, e.Horizons...)
	o.Send = append(o.Send, e.Send...)
	o.Answers = append(o.Answers, e.Answers...)
	o.Facts = append(o.Facts, e.Facts...)
	if e.Persist != nil {
		o.Persist = e.Persist
	}
}

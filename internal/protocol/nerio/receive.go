package nerio

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// Owns says whether a message is one of this protocol's.
func (m *Machine) Owns(msg protocol.Message) bool {
	switch msg.(type) {
	case *lease.Request, *lease.OK, *lease.Nack, *Recover, *Known, *Stale, *Outdated, *Died, *Handover, *Verify, *Remainder, *Who, *Leads,
		*Candidates, *Values, *Noted:
		return true
	}
	return false
}

// onReceive sorts out strangers and old incarnations. Until the member speaks it hears only of who it is.
func (m *Machine) onReceive(now protocol.Time, ev *protocol.Receive) {
	from := ev.From
	st := &m.start
	if int(from.Rank) >= m.lcfg.Members || st.phase == unborn {
		return
	}
	if d, is := ev.Message.(*Died); is {
		m.onDied(now, from, &d.Report)
		return
	}
	p := &st.peers[from.Rank]
	switch {
	case from.Inc == 0:
	case from.Inc < p.life.Inc || isOutdated(ev.Message):
		m.accuse(now, from.Rank)
		return
	case from.Inc > p.life.Inc:
		*p = peer{life: protocol.Life{Inc: from.Inc}, accused: p.accused}
	}
	if from.Inc != 0 {
		p.heard = now
		m.back(now, from.Rank)
	}
	switch msg := ev.Message.(type) {
	case *Recover:
		if m.meet(now, from, &msg.Sender) {
			m.onRecover(from, msg)
		}
		return
	case *Known:
		if m.meet(now, from, &msg.Sender) {
			m.onKnown(now, from, msg)
		}
		return
	case *Stale:
		if m.speaks() {
			m.onStale(now, from, msg)
		}
		return
	}
	if !m.speaks() || from.Inc == 0 {
		return
	}
	m.dispatch(now, ev)
}

func isOutdated(msg protocol.Message) bool {
	_, yes := msg.(*Outdated)
	return yes
}

// dispatch gives a message to the part that it is for.
func (m *Machine) dispatch(now protocol.Time, ev *protocol.Receive) {
	from := ev.From
	switch msg := ev.Message.(type) {
	case *lease.Request:
		if from.Rank == m.lapsed && !m.grantor.Dead(from) {
			m.lapsed = protocol.Nobody
		}
		m.grantor.Request(now, from, ev.Delay, msg)
	case *lease.OK:
		if trip, ok := m.holder.OK(now, from, msg); ok {
			m.prefer.answered(now, from.Rank, trip, m)
		}
		m.followValues(now, from.Rank)
	case *lease.Nack:
		m.holder.Nack(now, from, msg)
	case *Handover:
		m.onHandover(now, from, msg)
	case *Verify:
		m.onVerify(now, from, msg)
	case *Remainder:
		m.onRemainder(now, from, msg)
	case *Who:
		m.onWho(now, from, msg)
	case *Leads:
		m.onLeads(now, from, msg)
	case *Candidates:
		m.onCandidates(from, msg)
	case *Values:
		m.onValues(now, from, msg)
	case *Noted:
		m.onNoted(now, from, msg)
	}
}

func (m *Machine) send(to protocol.Rank, msg protocol.Message) {
	m.out.Send = append(m.out.Send, protocol.Envelope{To: to, Message: msg})
}

// hold takes back what is meant for members that do not know this incarnation yet. All of it is repeated anyway.
func (m *Machine) hold() {
	if !m.speaks() || m.knownToAll() {
		return
	}
	keep := m.out.Send[:m.sent]
	for _, e := range m.out.Send[m.sent:] {
		switch e.Message.(type) {
		case *Recover, *Known, *Stale:
		default:
			if !m.start.introduced.Has(e.To) {
				continue
			}
		}
		keep = append(keep, e)
	}
	m.out.Send = keep
}

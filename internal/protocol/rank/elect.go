package rank

import (
	"github.com/regentproject/regent/internal/protocol"
)

// onStart begins to wait for everybody else.
func (m *Machine) onStart(now protocol.Time) {
	self := &m.peers[m.config.Self]
	self.state, self.inc = trusted, m.config.Inc
	for r := range m.peers {
		m.peers[r].heard = now
	}
	m.nextOK, m.check = now, protocol.Never
	if m.config.Members > 1 {
		m.check = now.Add(m.config.Timeout)
	}
	m.publish(protocol.NoIdent, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
	m.elect(protocol.Cause{Code: protocol.Elected, Peer: m.config.Self})
}

// onTick says that this member is alive. A tick that comes late is made up for once, not once for each period missed.
func (m *Machine) onTick(now protocol.Time) {
	m.seq++
	m.nextOK = now.Add(m.config.Period)
	ok := protocol.Keep(m.out, OK{Seq: m.seq})
	for r := range protocol.Rank(m.config.Members) {
		if r != m.config.Self {
			m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: ok})
		}
	}
}

// onOK takes a sign of life.
func (m *Machine) onOK(now protocol.Time, from protocol.Ident, seq uint64) {
	if int(from.Rank) >= len(m.peers) || from.Rank == m.config.Self {
		return
	}
	p := &m.peers[from.Rank]
	if from.Inc < p.inc || from.Inc == p.inc && seq <= p.seq {
		return
	}
	code := protocol.Elected
	switch {
	case from.Inc > p.inc && p.inc != 0:
		code = protocol.Restarted
	case p.state == suspected && from.Inc == p.inc:
		// It was alive all along: the time-out was too short for its link.
		code = protocol.Returned
		p.timeout = min(p.timeout+m.config.Grow, m.config.Cap)
	}
	news := p.state != trusted || from.Inc != p.inc
	p.inc, p.seq, p.heard, p.state = from.Inc, seq, now, trusted
	if !news {
		return
	}
	m.check = min(m.check, now.Add(p.timeout))
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvTrust, Group: m.config.Group, Peer: from, Why: code.String()})
	m.elect(protocol.Cause{Code: code, Peer: from.Rank})
}

// distrust suspects members that have been silent for too long, and works out when to look again.
func (m *Machine) distrust(now protocol.Time) {
	m.check = protocol.Never
	cause := protocol.Cause{Peer: protocol.Nobody}
	for r := range m.peers {
		p := &m.peers[r]
		if p.state == suspected || protocol.Rank(r) == m.config.Self {
			continue
		}
		if due := p.heard.Add(p.timeout); now < due {
			m.check = min(m.check, due)
			continue
		}
		p.state = suspected
		who := protocol.Ident{Rank: protocol.Rank(r), Inc: p.inc}
		m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvSuspect, Group: m.config.Group, Peer: who})
		if cause.Peer == protocol.Nobody {
			cause = protocol.Cause{Code: protocol.Suspected, Peer: who.Rank, Bound: now.Sub(p.heard)}
		}
	}
	if cause.Peer != protocol.Nobody {
		m.elect(cause)
	}
}

// elect publishes the best-ranked member that is trusted, if that is news. While a member that ranks before it is still
// awaited there is no leader.
func (m *Machine) elect(cause protocol.Cause) {
	leader := protocol.NoIdent
	for r := range m.peers {
		p := &m.peers[r]
		if p.state == trusted {
			leader = protocol.Ident{Rank: protocol.Rank(r), Inc: p.inc}
		}
		if p.state != suspected {
			break
		}
	}
	if leader != m.leader {
		m.publish(leader, cause)
	}
}

// publish makes a new leader known, or that there is none.
func (m *Machine) publish(leader protocol.Ident, cause protocol.Cause) {
	m.leader = leader
	m.out.Views = append(m.out.Views, protocol.View{Group: m.config.Group, Leader: leader, Until: protocol.Never, Cause: cause})
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvWeak, Group: m.config.Group, Peer: leader})
}

// Package ring is the weak elector of Nerio (van Renesse, Schneider, Gehrke: section 9). Members form a ring in rank order,
// and each monitors the closest live members before and after it. A member that finds no live member before itself leads.
//
//	§9  pairs, and which member is the lowest   ring.go: neighbours, elect
//	§9  pinging, or φ-accrual                   patience; package phi
//
// It is an Ω if all links between neighbours become timely: failure detection becomes accurate, and one member is the lowest.
// It is not stable, but costs 2n links instead of n².
//
// We differ in this, where the paper is silent:
//   - The others have to learn which member to trust. A Beat carries the member that its sender trusts, and a member follows
//     its predecessor. A change is forwarded at once, so it takes one delay for each member, not one period.
//   - Both neighbours still send Beats to a suspected member. Otherwise two sides of a healed partition would never receive
//     from each other again.
//   - Incarnations distinguish a restarted member from its earlier life; Beats are numbered.
//
// From any timers, leaders and suspicions the machines converge. They do not converge from arbitrary numbers of Beats, which
// count for as long as their sender lives. Unfit changes nothing here, as in package rank.
package ring

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/phi"
)

// Config describes one member's machine. All members of a council have the same periods.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks.
	Inc protocol.Inc
	// Group is what views and facts are about.
	Group protocol.Group
	// Period is how often a member sends Beats.
	Period time.Duration
	// Timeout is how long a neighbour may be silent; at least Period plus the usual delay.
	Timeout time.Duration
	// Phi, if it is not zero, is the level of suspicion at which a neighbour is given up, and Timeout only counts until enough
	// Beats were heard. A neighbour that is silent for four time-outs is given up in any case, or a bad hour would be paid
	// for with slow detection for long.
	Phi phi.Threshold
}

// Default returns a configuration for a local network.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{Self: self, Members: members, Inc: inc, Period: 50 * time.Millisecond, Timeout: 120 * time.Millisecond}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("ring: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("ring: member %d: must be below %d, the number of members", c.Self, c.Members)
	case c.Period <= 0:
		return fmt.Errorf("ring: period %v: must be positive", c.Period)
	case c.Timeout <= c.Period:
		return fmt.Errorf("ring: time-out %v: must exceed the period %v", c.Timeout, c.Period)
	case c.Phi > phi.Max:
		return fmt.Errorf("ring: phi %d: must be at most %d", c.Phi, phi.Max)
	}
	return nil
}

// Beat says that its sender is alive, and which member it trusts. It is the only message.
type Beat struct {
	// Seq numbers the Beats of one incarnation; regular ones are a period apart, others come between them.
	Seq     uint64
	Regular bool
	Leader  protocol.Ident
}

// Copy returns a Beat of its own.
func (m *Beat) Copy() protocol.Message { c := *m; return &c }

// Name returns ring.Beat.
func (m *Beat) Name() string { return "ring.Beat" }

// A peer is what is known of another member.
type peer struct {
	inc       protocol.Inc
	seq       uint64
	heard     protocol.Time // when the last Beat came, or the member came to be watched
	regular   protocol.Time // when the last regular one came; zero if none did
	said      protocol.Ident
	suspected bool
	rhythm    *phi.Estimator
}

const (
	// enough is how many Beats it takes to know the rhythm of a neighbour.
	enough = 16
	// longestSilence is how many time-outs a neighbour may be silent, whatever its rhythm.
	longestSilence = 4
	// jitterShare is the part of a period that a rhythm is taken to vary by at least.
	jitterShare = 5
)

// Machine is one member's elector.
type Machine struct {
	config Config
	peers  []peer
	seq    uint64
	nextAt protocol.Time
	check  protocol.Time
	leader protocol.Ident
	sent   protocol.Ident // the leader that the last Beat named

	out *protocol.Effects // of the present Step
}

// New returns the machine of a member that is about to start.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := &Machine{config: c, peers: make([]peer, c.Members), leader: protocol.NoIdent, sent: protocol.NoIdent}
	for r := range m.peers {
		m.peers[r].said = protocol.NoIdent
		if c.Phi > 0 {
			m.peers[r].rhythm = &phi.Estimator{}
		}
	}
	return m, nil
}

// Step takes one event. Events other than Start, Tick and Beat change nothing.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	// Nothing that is waited for is further away than when the wait began, whatever a clock that jumped made of it.
	m.nextAt, m.check = min(m.nextAt, now.Add(m.config.Period)), min(m.check, now.Add(longestSilence*m.config.Timeout))
	switch ev := ev.(type) {
	case protocol.Start:
		for r := range m.peers {
			m.peers[r].heard = now
		}
		m.nextAt, m.check = now, now
		m.publish(protocol.NoIdent, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
		m.elect(protocol.Cause{Code: protocol.Elected, Peer: m.config.Self})
	case *protocol.Receive:
		if beat, ok := ev.Message.(*Beat); ok {
			m.onBeat(now, ev.From, beat)
		}
	}
	if now >= m.check {
		m.watch(now)
	}
	if regular := now >= m.nextAt; regular || m.leader != m.sent {
		m.sayBeat(now, regular)
	}
	out.Wake = min(m.nextAt, m.check)
}

// onBeat takes a sign of life.
func (m *Machine) onBeat(now protocol.Time, from protocol.Ident, beat *Beat) {
	if int(from.Rank) >= len(m.peers) || from.Rank == m.config.Self {
		return
	}
	p := &m.peers[from.Rank]
	if from.Inc < p.inc || from.Inc == p.inc && beat.Seq <= p.seq {
		return
	}
	code := protocol.Elected
	switch {
	case from.Inc != p.inc:
		if p.inc != 0 {
			code = protocol.Restarted
		}
		p.regular = 0
	case p.suspected:
		code = protocol.Returned
	}
	if beat.Regular && p.rhythm != nil {
		if gap := now.Sub(p.regular); p.regular != 0 && gap < longestSilence*m.config.Timeout {
			p.rhythm.Add(gap)
		}
		p.regular = now
	}
	if p.suspected {
		p.suspected = false
		m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvTrust, Group: m.config.Group, Peer: from, Why: code.String()})
	}
	p.inc, p.seq, p.heard, p.said = from.Inc, beat.Seq, now, beat.Leader
	m.check = min(m.check, now.Add(m.patience(p)))
	m.elect(protocol.Cause{Code: code, Peer: from.Rank})
}

// patience returns how long a peer may be silent.
func (m *Machine) patience(p *peer) time.Duration {
	if p.rhythm == nil || p.rhythm.Len() < enough {
		return m.config.Timeout
	}
	return min(p.rhythm.Patience(m.config.Phi, m.config.Period/jitterShare), longestSilence*m.config.Timeout)
}

// watch suspects neighbours that are silent, until the closest on either side is not.
func (m *Machine) watch(now protocol.Time) {
	m.check = protocol.Never
	for _, step := range [...]int{len(m.peers) - 1, 1} {
		for r := m.after(m.config.Self, step); r != m.config.Self; r = m.after(r, step) {
			p := &m.peers[r]
			if p.suspected {
				continue
			}
			p.heard = min(p.heard, now)
			if due := p.heard.Add(m.patience(p)); now < due {
				m.check = min(m.check, due)
				break
			}
			p.suspected = true
			who := protocol.Ident{Rank: r, Inc: p.inc}
			m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvSuspect, Group: m.config.Group, Peer: who})
			cause := protocol.Cause{Code: protocol.Suspected, Peer: r, Bound: now.Sub(p.heard)}
			// Who comes next has not been watched so far: its time begins now.
			if next := &m.peers[m.after(r, step)]; now.Sub(next.heard) >= m.config.Timeout {
				next.heard, next.said = now, protocol.NoIdent
			}
			m.elect(cause)
		}
	}
	m.elect(protocol.Cause{Peer: protocol.Nobody})
}

// after returns the rank that is so many steps further in the ring.
func (m *Machine) after(r protocol.Rank, step int) protocol.Rank {
	return protocol.Rank((int(r) + step) % len(m.peers))
}

// elect trusts oneself if no member before oneself seems to be alive, else the leader that the closest of those trusts.
func (m *Machine) elect(cause protocol.Cause) {
	leader := protocol.Ident{Rank: m.config.Self, Inc: m.config.Inc}
	for r := m.config.Self; r > 0; {
		r--
		if !m.peers[r].suspected {
			leader = m.peers[r].said
			break
		}
	}
	if leader.Rank != protocol.Nobody && leader.Rank > m.config.Self {
		leader = protocol.NoIdent // nobody before me can mean that for long
	}
	if leader != m.leader {
		m.publish(leader, cause)
	}
}

// sayBeat tells both neighbours, and all that seem to be dead between.
func (m *Machine) sayBeat(now protocol.Time, regular bool) {
	m.seq++
	beat := protocol.Keep(m.out, Beat{Seq: m.seq, Regular: regular, Leader: m.leader})
	m.sent = m.leader
	if regular {
		m.nextAt = now.Add(m.config.Period)
	}
	var to protocol.Set
	for _, step := range [...]int{len(m.peers) - 1, 1} {
		for r := m.after(m.config.Self, step); r != m.config.Self; r = m.after(r, step) {
			to.Add(r)
			if !m.peers[r].suspected {
				break
			}
		}
	}
	for r := range m.config.Members {
		if to.Has(protocol.Rank(r)) {
			m.out.Send = append(m.out.Send, protocol.Envelope{To: protocol.Rank(r), Message: beat})
		}
	}
}

// publish makes a new leader known, or that there is none.
func (m *Machine) publish(leader protocol.Ident, cause protocol.Cause) {
	m.leader = leader
	m.out.Views = append(m.out.Views, protocol.View{Group: m.config.Group, Leader: leader, Until: protocol.Never, Cause: cause})
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvWeak, Group: m.config.Group, Peer: leader})
}

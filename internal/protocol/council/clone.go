package council

import (
	"math/rand/v2"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// Clone returns a machine in the same state, beside another host. Configurations are never changed, and are shared.
func (m *Machine) Clone(h Host) *Machine {
	c := *m
	c.host = h
	pcg := *m.pcg
	c.pcg = &pcg
	c.rng = rand.New(c.pcg)
	c.peers = slices.Clone(m.peers)
	c.lost.answers = slices.Clone(m.lost.answers)
	c.surrender.nonces = slices.Clone(m.surrender.nonces)
	if m.want != nil {
		want := *m.want
		c.want = &want
	}
	return &c
}

// AppendState appends what the machine will ever act on.
func (m *Machine) AppendState(s *lease.State) {
	s.Uint(uint64(m.phase))
	s.Uint(uint64(m.seat))
	appendConf(s, m.rec.Conf)
	appendConf(s, m.next)
	s.Bool(m.rec.Settled)
	appendBallotState(s, m.rec.Ballot)
	appendVoteState(s, &m.rec.Accepted)
	s.Int(int64(m.rec.Bound))
	s.Bool(m.rec.Removed)
	s.Bool(m.hint)
	s.B = append(s.B, m.rec.Birth[:]...)
	s.Uint(m.rec.Serial)
	s.Uint(m.landing)
	s.Uint(m.durable)
	s.Uint(m.nonce)
	s.Uint(uint64(m.round))
	s.Uint(m.began)
	for _, t := range []protocol.Time{m.until, m.doubt, m.backoff, m.repeat, m.fetch} {
		s.Future(t)
	}
	s.Bool(m.since != 0)
	s.Instant(m.since)
	s.Instant(m.settledAt)
	s.Set(m.fixed)
	s.Set(m.unheard)
	s.Bool(m.want != nil)
	if m.want != nil {
		s.B = m.want.Append(s.B)
		s.Instant(m.wanted)
		s.Bool(m.offered)
	}
	m.appendAttempt(s)
	m.appendLost(s)
	m.appendSurrender(s)
	s.Uint(uint64(len(m.peers)))
	for i := range m.peers {
		p := &m.peers[i]
		s.Instant(p.heard)
		s.Bool(p.carried != 0)
		s.Instant(p.carried)
		s.Uint(p.carry.Number)
		s.Bool(p.carry.Waited)
		s.Bool(p.carry.Settled)
		s.Uint(p.carry.Highest)
		s.Uint(uint64(p.carry.Leads))
		s.Uint(uint64(p.carry.Assigned))
		s.Instant(p.told)
		s.Uint(uint64(p.inc))
		s.Uint(p.serial)
		s.Uint(p.former)
	}
	pcg, _ := m.pcg.MarshalBinary() // it never fails
	s.B = append(s.B, pcg...)
}

func (m *Machine) appendAttempt(s *lease.State) {
	a := &m.attempt
	s.Bool(a.on)
	if !a.on {
		return
	}
	appendBallotState(s, a.ballot)
	s.Uint(a.slot)
	s.Instant(a.start)
	s.Future(a.due)
	s.Set(a.promises)
	s.Set(a.accepts)
	s.Uint(a.highest)
	appendVoteState(s, &a.best)
	appendConf(s, a.value)
}

func (m *Machine) appendLost(s *lease.State) {
	l := &m.lost
	s.Future(l.again)
	if m.phase != forgetful {
		return
	}
	s.Bool(l.reached == protocol.Never)
	s.Instant(l.reached)
	s.Int(int64(l.bound))
	appendBallotState(s, l.asked)
	s.Set(l.got)
	for r := range l.got.All() {
		k := &l.answers[r]
		appendBallotState(s, k.Promised)
		s.Bool(k.Speaks)
		s.Bool(k.Asks)
		s.Bool(k.Settled)
		appendVoteState(s, &k.Accepted)
		s.Uint(k.Highest)
	}
}

func (m *Machine) appendSurrender(s *lease.State) {
	appendVoteState(s, &m.rec.Heir)
	x := &m.surrender
	s.Bool(x.want != nil)
	if x.want != nil {
		s.B = x.want.append(s.B)
	}
	s.Future(x.until)
	s.Future(x.backoff)
	s.Bool(x.on)
	appendBallotState(s, x.promised)
	s.Uint(x.nonce)
	s.Future(x.expires)
	if !x.on {
		return
	}
	appendBallotState(s, x.ballot)
	s.Instant(x.start)
	s.Future(x.due)
	s.Set(x.lost)
	s.Set(x.got)
	s.Set(x.agreed)
	appendVoteState(s, &x.best)
	appendConf(s, x.value)
	s.Uint(x.highest)
	s.Int(int64(x.bound))
	for r := range x.got.All() {
		s.Uint(x.nonces[r])
	}
}

func appendConf(s *lease.State, c *Config) {
	s.Bool(c != nil)
	if c != nil {
		d := c.Digest()
		s.B = append(s.B, d[:]...)
	}
}

func appendBallotState(s *lease.State, b Ballot) { s.B = appendBallot(s.B, b) }

func appendVoteState(s *lease.State, v *Vote) {
	appendBallotState(s, v.Ballot)
	appendConf(s, v.Conf)
}

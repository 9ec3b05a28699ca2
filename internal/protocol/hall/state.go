package hall

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// Clone implements protocol.Explorable.
func (m *Machine) Clone() protocol.Machine {
	c := *m
	c.peers = slices.Clone(m.peers)
	c.trees = slices.Clone(m.trees)
	c.out = nil
	return &c
}

// AppendState implements protocol.Explorable. Instants are encoded relative to the last Step.
func (m *Machine) AppendState(b []byte) []byte {
	s := lease.State{B: b, Now: m.now, Past: max(m.cfg.Expires, m.cfg.Period) + m.cfg.Calm}
	s.Bool(m.open)
	s.Bool(m.closing)
	s.Future(m.reopen)
	s.Uint(m.turn)
	s.Uint(m.request)
	s.Future(m.cand)
	s.Future(m.insist)
	s.Future(m.collect)
	s.Set(m.alive)
	for i := range m.peers {
		m.peers[i].appendState(&s, m.alive.Has(protocol.Rank(i)))
	}
	s.Ident(m.grant.to)
	s.Uint(m.grant.request)
	s.Instant(m.grant.until)
	s.Ident(m.followed)
	s.Set(m.partition)
	s.Set(m.hoped)
	s.Bool(m.pend.on)
	s.Uint(m.pend.request)
	s.Instant(m.pend.sent)
	s.Set(m.pend.target)
	s.Set(m.pend.nodes)
	s.Set(m.pend.yes)
	s.Set(m.pend.no)
	m.lead.appendState(&s)
	for i := range m.trees {
		m.trees[i].appendState(&s)
	}
	return s.B
}

func (p *peer) appendState(s *lease.State, alive bool) {
	s.Uint(uint64(p.inc))
	s.Uint(p.voided)
	s.Int(int64(p.slow))
	s.Bool(p.lost)
	for _, t := range []struct {
		at     protocol.Time
		counts bool
	}{{p.heard, true}, {p.unlisted, p.unlisted != 0}, {p.asked, p.unlisted != 0}, {p.since, p.last != 0}, {p.last, p.last != 0}} {
		s.Bool(t.counts)
		if t.counts {
			s.Instant(t.at)
		}
	}
	s.Bool(alive)
	s.Bool(p.met)
	s.Future(p.direct)
}

func (l *leadership) appendState(s *lease.State) {
	s.Bool(l.leaving)
	s.Uint(l.tenure)
	s.Bool(l.on)
	if !l.on {
		return
	}
	s.Future(l.until)
	s.Set(l.support)
	s.Int(int64(l.rounds))
	s.Bool(l.stop)
	s.Uint(uint64(l.why.Code))
	s.Uint(uint64(l.why.Peer))
	s.Int(int64(l.why.Bound))
	s.Future(l.stopBy)
	s.Bool(l.ending)
	s.Bool(l.turn)
}

func (t *collation) appendState(s *lease.State) {
	s.Ident(t.root)
	s.Uint(t.request)
	s.Uint(uint64(t.parent))
	s.Uint(t.next)
	s.Set(t.early)
	s.Future(t.ackDue)
	s.Bool(t.open)
	if !t.open && t.ackDue == protocol.Never {
		return
	}
	s.Future(t.due)
	s.Set(t.wait)
	s.Set(t.yes)
	s.Set(t.no)
	s.Instant(t.oldest)
}

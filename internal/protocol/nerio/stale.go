package nerio

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// This file finds out that a record is an old copy. Every member sends its life (incarnation, random bits of its start, tag) with
// Recover and Known, and remembers those of the others. A member that hears an earlier life of a peer, or another one under the same
// incarnation, returns to the peer the life that it remembers. The peer checks its own tag in it:
//
//	a later life, valid tag   it stops and asks: onStale, lose
//	a later life, no tag      an alarm, and nothing else: the sender may lie
//	any other life            nothing: the packet that caused it was late
//
// To go on while asking is unsafe. A member that has forgotten what it accepted could help another to a quorum with a token below
// one that it helped to before.

// life returns the life under which the member speaks; zero while it does not.
func (m *Machine) life() protocol.Life {
	if !m.speaks() {
		return protocol.Life{}
	}
	l := protocol.Life{Inc: m.start.inc, Start: m.cfg.Start}
	if m.cfg.Tag != nil {
		l.Tag = m.cfg.Tag(l.Inc, l.Start)
	}
	return l
}

// proves says whether a life was this member's own.
func (m *Machine) proves(l protocol.Life) bool {
	return l.Inc != 0 && m.cfg.Tag != nil && l.Tag == m.cfg.Tag(l.Inc, l.Start)
}

// meet remembers the life of a peer. It says whether the message that brought it counts: it does not if another start has spoken
// under the same incarnation.
func (m *Machine) meet(now protocol.Time, from protocol.Ident, life *protocol.Life) bool {
	if from.Inc == 0 {
		return true
	}
	p := &m.start.peers[from.Rank]
	switch {
	case life.Inc != from.Inc:
		return false
	case !p.met():
		p.life = *life
	case p.life.Start != life.Start:
		m.accuse(now, from.Rank)
		return false
	}
	return true
}

// met says whether the peer has sent its life, and not only its incarnation.
func (p *peer) met() bool {
	return p.life.Start != protocol.StartBits{} || p.life.Tag != protocol.Tag{}
}

// accuse tells a peer which later life of it was heard, at most once in each interval of renewals: the packet that led to it may be
// recorded. An incarnation alone proves nothing to the peer, and would raise a false alarm there.
func (m *Machine) accuse(now protocol.Time, to protocol.Rank) {
	p := &m.start.peers[to]
	if now < p.accused || !p.met() {
		return
	}
	p.accused = now.Add(m.cfg.Renew)
	m.send(to, protocol.Keep(m.out, Stale{Heard: p.life}))
}

// lives says whether another process speaks for this member, as far as the answer tells: that process would be asked to stop by the
// member's next words, but not before it has promised things that the member knows nothing of.
func (m *Machine) lives(k *Known) bool {
	return k.Heard.Start != m.cfg.Start && k.Silent < m.disk.record.Longest/2
}

// binds says whether what another start of this member promised when it was last heard may stand. This start may have begun before that, so
// its own wait does not cover it.
func (m *Machine) binds(k *Known) bool {
	return k.Heard.Start != m.cfg.Start && k.Silent < m.lcfg.LongestPromise(m.disk.record.Longest)
}

// Why a member does not act on what a peer said of a life of it.
const (
	// Unproven: the life does not bear the member's tag.
	Unproven = "no proof"
	// Rival: the life goes on, in another process.
	Rival = "another process speaks"
	// Behind: the member has a new identity, and its wall clock shows less than it did when that life began.
	Behind = "the wall clock here is behind: set it, and restart the member"
)

// alarm states what a peer said of a life of this member that the member does not act on.
func (m *Machine) alarm(from protocol.Ident, heard protocol.Life, why string) {
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvAccused, Dom: protocol.Quorum, Peer: from, Seq: uint64(heard.Inc), Why: why})
}

// onStale makes the member stop and ask, if the word bears its own tag.
func (m *Machine) onStale(now protocol.Time, from protocol.Ident, s *Stale) {
	st := &m.start
	if !s.Heard.After(m.life()) {
		return
	}
	if !m.proves(s.Heard) {
		m.alarm(from, s.Heard, Unproven)
		return
	}
	st.inc = max(st.inc, s.Heard.Inc)
	m.distrust(now, "stale record")
}

// forget drops what a member that goes on from a snapshot has in memory. Its clock may have gone back, so its leases are over. What it
// promised before the snapshot may have lapsed since, and may have been promised again: it is over when all that the member promised since is.
func (m *Machine) forget(now protocol.Time) {
	m.holder.Void(now, protocol.Cause{Code: protocol.Restarted, Peer: m.cfg.Me})
	m.grantor = lease.NewGrantor(&m.lcfg, (*policy)(m), &m.terms, &m.reach)
	m.holder.Reset(0, m.grantor)
	m.unknow(now)
}

// unknow publishes that the member no longer knows the leaders that its former votes knew. A vote that is dropped reports no change.
func (m *Machine) unknow(now protocol.Time) {
	var named []*groupState
	// order does not matter: they are sorted.
	for _, s := range m.groups {
		if s.published && s.view.Leader != protocol.NoIdent && s.view.Leader.Rank != m.cfg.Me {
			named = append(named, s)
		}
	}
	slices.SortFunc(named, func(a, b *groupState) int { return cmp.Compare(a.group, b.group) })
	for _, s := range named {
		m.publish(now, s, protocol.Cause{Code: protocol.Restarted, Peer: m.cfg.Me})
	}
}

// onRestored ends the life of a member that goes on from a snapshot. What it did after the snapshot it did under the same incarnation
// and start, so nobody could prove it; and what it promised then may stand for the longest promise from the next answer on.
func (m *Machine) onRestored(now protocol.Time, ev protocol.Restored) {
	st := &m.start
	if st.phase == unborn {
		return
	}
	m.cfg.Start = ev.Start
	m.pcg.Seed(binary.BigEndian.Uint64(ev.Start[:]), binary.BigEndian.Uint64(ev.Start[8:])) // it has drawn the same since
	st.reached, st.nonce = protocol.Never, 0
	if !m.disk.had && st.inc == 0 {
		m.lose(now, "restored snapshot") // it had no record before either
		return
	}
	st.inc = max(st.inc, m.disk.record.Inc)
	m.distrust(now, "restored snapshot")
}

// distrust makes the member stop and ask.
func (m *Machine) distrust(now protocol.Time, why string) {
	st := &m.start
	st.clean = false
	// A start before the member has recovered must not believe the record again: those that know better may be gone by then.
	r := &m.disk.record
	r.Inc, r.Clean, r.Void = st.inc, false, true
	m.disk.dirty, m.disk.had = true, true
	m.holder.Freeze(now, protocol.Cause{Code: protocol.Restarted, Peer: m.cfg.Me})
	m.lose(now, why)
}

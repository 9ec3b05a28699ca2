package nerio

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// asks is what this member was asked and has not answered yet.
type asks struct {
	open      []ask
	transfers []transfer
	due       protocol.Time
}

type ask struct {
	id, nonce uint64
	group     protocol.Group
	verify    bool
	to        protocol.Ident // the member that a Verify was sent to
	start     protocol.Time
	until     protocol.Time
	answered  protocol.Set
	// all says that every member is waited for, and said is what they have answered so far.
	all  bool
	said []protocol.Said
}

type transfer struct {
	id    uint64
	to    protocol.Rank
	group protocol.Group
	until protocol.Time // Never until the member has stepped down
}

func (a *asks) reset() { a.due = protocol.Never }

func (a *asks) next() protocol.Time { return a.due }

func (a *asks) wake(at protocol.Time) { a.due = min(a.due, at) }

// answer answers a question about the group with what the member knows.
func (m *Machine) answer(id uint64, s *groupState, ok bool) {
	if id == 0 {
		return
	}
	v := m.look(m.now, s)
	m.out.Answers = append(m.out.Answers, protocol.Answer{ID: id, Group: s.group, OK: ok, Leader: v.Leader, Term: v.Term})
}

// refuse answers that the group was not handed over.
func (m *Machine) refuse(id uint64, s *groupState, why protocol.Refusal) {
	m.answer(id, s, false)
	if id != 0 {
		m.out.Answers[len(m.out.Answers)-1].Why = why
	}
}

// onFind answers from what the member knows, or asks all others.
func (m *Machine) onFind(now protocol.Time, ev protocol.Find) {
	s := m.group(ev.Group)
	if v := m.look(now, s); v.Leader != protocol.NoIdent && !ev.All || !m.speaks() || m.others() == 0 {
		m.answer(ev.ID, s, v.Leader != protocol.NoIdent)
		return
	}
	a := m.open(now, ev.ID, ev.Group)
	a.all = ev.All
	for r := range protocol.Rank(m.lcfg.Members) {
		if r != m.cfg.Me && !m.cfg.Absent.Has(r) {
			m.send(r, &Who{Nonce: a.nonce, Group: ev.Group})
		}
	}
}

// open notes a question, which is given up after two round trips.
func (m *Machine) open(now protocol.Time, id uint64, g protocol.Group) *ask {
	a := ask{id: id, nonce: m.rng.Uint64() | 1, group: g, start: now}
	a.until = now.Add(m.lcfg.Rho.WaitAtLeast(2 * m.cfg.RoundTrip))
	m.asks.open = append(m.asks.open, a)
	m.asks.wake(a.until)
	return &m.asks.open[len(m.asks.open)-1]
}

// close takes a question off the list.
func (m *Machine) close(i int) { m.asks.open = append(m.asks.open[:i], m.asks.open[i+1:]...) }

func (m *Machine) find(nonce uint64, verify bool) int {
	for i := range m.asks.open {
		if a := &m.asks.open[i]; a.nonce == nonce && a.verify == verify {
			return i
		}
	}
	return -1
}

func (m *Machine) onWho(now protocol.Time, from protocol.Ident, w *Who) {
	leads := Leads{Nonce: w.Nonce, Leader: protocol.NoIdent}
	if s := m.groups[w.Group]; s != nil {
		v := m.look(now, s)
		leads.Leader, leads.Term = v.Leader, v.Term
	}
	m.send(from.Rank, protocol.Keep(m.out, leads))
}

func (m *Machine) onLeads(_ protocol.Time, from protocol.Ident, l *Leads) {
	i := m.find(l.Nonce, false)
	if i < 0 {
		return
	}
	a := &m.asks.open[i]
	if a.all && !a.answered.Has(from.Rank) {
		a.said = append(a.said, protocol.Said{By: from.Rank, Leader: l.Leader, Term: l.Term})
	}
	a.answered.Add(from.Rank)
	if (a.all || l.Leader == protocol.NoIdent) && a.answered.Len() < m.others() {
		return
	}
	if a.all {
		m.endPoll(i)
		return
	}
	m.out.Answers = append(m.out.Answers, protocol.Answer{ID: a.id, Group: a.group, OK: l.Leader != protocol.NoIdent,
		Leader: l.Leader, Term: l.Term})
	m.close(i)
}

// others returns how many members there are beside this one.
func (m *Machine) others() int { return m.lcfg.Members - m.cfg.Absent.Len() - 1 }

// endPoll answers what all members were asked, with what this one knows and those have said that answered in time.
func (m *Machine) endPoll(i int) {
	a := m.asks.open[i]
	m.close(i)
	if a.id == 0 {
		return
	}
	m.answer(a.id, m.group(a.group), true)
	m.out.Answers[len(m.out.Answers)-1].Said = a.said
}

// onVerifyCommand asks the leader, as far as it is known, for proof.
func (m *Machine) onVerifyCommand(now protocol.Time, ev protocol.Verify) {
	s := m.group(ev.Group)
	v := m.look(now, s)
	if v.Leader == protocol.NoIdent || !m.speaks() {
		m.answer(ev.ID, s, false)
		return
	}
	length := ev.Length
	if length <= 0 {
		length = m.cfg.RoundTrip
	}
	a := m.open(now, ev.ID, ev.Group)
	a.verify, a.to = true, v.Leader
	m.send(v.Leader.Rank, &Verify{Nonce: a.nonce, Group: ev.Group, Length: length})
}

func (m *Machine) onVerify(now protocol.Time, from protocol.Ident, v *Verify) {
	left := Remainder{Nonce: v.Nonce}
	left.Delta, left.Term = m.holder.Verify(now, v.Group, v.Length)
	if s := m.groups[v.Group]; left.Delta > 0 && s != nil && s.value != nil && s.value.Token == left.Term {
		left.Version, left.Text = s.value.Version, s.value.Text
	}
	m.send(from.Rank, protocol.Keep(m.out, left))
}

// onRemainder counts the leader's word from the instant at which it was asked for, which was before it was given (the
// paper's formula has both signs the wrong way round, E-N1).
func (m *Machine) onRemainder(_ protocol.Time, from protocol.Ident, r *Remainder) {
	i := m.find(r.Nonce, true)
	if i < 0 || m.asks.open[i].to != from {
		return
	}
	a := &m.asks.open[i]
	ans := protocol.Answer{ID: a.id, Group: a.group, Leader: from, Term: r.Term}
	if r.Delta > 0 {
		ans.OK, ans.Until = true, a.start.Add(m.proof(r.Delta))
		m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvVerify, Dom: protocol.Quorum, Group: a.group, Peer: from,
			Term: r.Term, Start: a.start, Until: ans.Until})
		if r.Version != 0 && len(r.Text) <= protocol.MaxValue {
			ans.Value = &protocol.Value{Token: r.Term, Version: r.Version, Text: r.Text}
		}
	}
	m.out.Answers = append(m.out.Answers, ans)
	m.close(i)
}

// proof returns for how long on this clock a leader that leads for delta of real time is sure to lead.
func (m *Machine) proof(delta time.Duration) time.Duration { return m.lcfg.Rho.WaitAtMost(delta) }

// answerTransfers answers those who wanted to know whether the group was handed over, now that somebody leads it.
func (m *Machine) answerTransfers(s *groupState) {
	for i := 0; i < len(m.asks.transfers); {
		t := m.asks.transfers[i]
		if t.group != s.group || t.until == protocol.Never || s.view.Leader == protocol.NoIdent {
			i++
			continue
		}
		if s.view.Leader.Rank == t.to {
			m.answer(t.id, s, true)
		} else {
			m.refuse(t.id, s, protocol.TakenByElse)
		}
		m.asks.transfers = append(m.asks.transfers[:i], m.asks.transfers[i+1:]...)
	}
}

// dueAsks gives up questions that were not answered in time.
func (m *Machine) dueAsks(now protocol.Time) {
	if now < m.asks.due {
		return
	}
	m.asks.due = protocol.Never
	for i := 0; i < len(m.asks.open); {
		a := &m.asks.open[i]
		if now < a.until {
			m.asks.wake(a.until)
			i++
			continue
		}
		if a.all {
			m.endPoll(i)
			continue
		}
		m.answer(a.id, m.group(a.group), false)
		m.close(i)
	}
	for i := 0; i < len(m.asks.transfers); {
		t := m.asks.transfers[i]
		if now < t.until {
			m.asks.wake(t.until)
			i++
			continue
		}
		m.refuse(t.id, m.group(t.group), protocol.NotTaken)
		m.asks.transfers = append(m.asks.transfers[:i], m.asks.transfers[i+1:]...)
	}
}

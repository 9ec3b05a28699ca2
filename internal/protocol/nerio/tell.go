package nerio

import (
	"github.com/regentproject/regent/internal/protocol"
)

// tells is what the holders of groups have still to be told: that this member has a candidate now, or has none any
// more. The answer to a claim says so too; this is for what changes later.
type tells struct {
	seats []*seat
	seq   uint64
	// sent lists the seats that each message in flight was about.
	sent []told
	due  protocol.Time
}

type told struct {
	to    protocol.Rank
	seq   uint64
	seats []*seat
}

// maxTold bounds the groups in one message.
const maxTold = 64

// tell notes a change of the member's own candidacy, to be told to who leads the group.
func (m *Machine) tell(now protocol.Time, s *seat) {
	if !s.told {
		s.told = true
		m.tells.seats = append(m.tells.seats, s)
	}
	m.tells.due = now
}

func (m *Machine) dueTells(now protocol.Time) {
	t := &m.tells
	if now < t.due {
		return
	}
	t.due, t.sent = protocol.Never, t.sent[:0]
	if !m.speaks() {
		if len(t.seats) > 0 {
			t.due = now.Add(m.cfg.Renew)
		}
		return
	}
	var out []*Candidates // one for each holder, as long as it lasts
	var to []protocol.Rank
	keep := t.seats[:0]
	for _, s := range t.seats {
		holder := m.look(now, s).Leader
		if holder == protocol.NoIdent || holder.Rank == m.cfg.Me {
			s.told = false // whoever claims it next is told in the answer
			continue
		}
		keep = append(keep, s)
		i := 0
		for i < len(to) && (to[i] != holder.Rank || len(t.sent[i].seats) >= maxTold) {
			i++
		}
		if i == len(to) {
			t.seq++
			to, out = append(to, holder.Rank), append(out, &Candidates{Seq: t.seq})
			t.sent = append(t.sent, told{to: holder.Rank, seq: t.seq})
		}
		if s.candidate {
			out[i].Yes = append(out[i].Yes, s.group)
		} else {
			out[i].No = append(out[i].No, s.group)
		}
		t.sent[i].seats = append(t.sent[i].seats, s)
	}
	clear(t.seats[len(keep):])
	t.seats = keep
	for i, c := range out {
		m.send(to[i], c)
	}
	if len(keep) > 0 {
		t.due = now.Add(m.cfg.Renew)
	}
}

func (m *Machine) onCandidates(from protocol.Ident, c *Candidates) {
	for _, g := range c.Yes {
		m.holder.Candidate(g, from.Rank, true)
	}
	for _, g := range c.No {
		m.holder.Candidate(g, from.Rank, false)
	}
	m.noted = Noted{Seq: c.Seq}
	m.send(from.Rank, &m.noted)
}

func (m *Machine) onNoted(from protocol.Ident, n *Noted) {
	t := &m.tells
	for i := range t.sent {
		if t.sent[i].to != from.Rank || t.sent[i].seq != n.Seq {
			continue
		}
		for _, s := range t.sent[i].seats {
			s.told = false
		}
		t.sent[i].seats = nil
		keep := t.seats[:0]
		for _, s := range t.seats {
			if s.told {
				keep = append(keep, s)
			}
		}
		clear(t.seats[len(keep):])
		t.seats = keep
	}
	if len(t.seats) == 0 {
		t.due = protocol.Never
	}
}

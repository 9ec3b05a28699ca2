package nerio

import "github.com/regentproject/regent/internal/protocol"

// tells is what the member has still to report to the holders of groups: that this member has a candidate now, or has none any
// more. The answer to a claim says so too; this is for what changes later. One message is on its way at a time.
type tells struct {
	queue []*groupState
	// flying are the groups that the message in flight is about, and yes says for each of them what it said.
	flying []*groupState
	yes    []bool
	to     protocol.Rank
	// seq numbers the messages that Noted answers, and flight is the number of the one in flight.
	seq, flight uint64
	due         protocol.Time // when the message in flight counts as lost
}

// maxTold bounds the groups in one message.
const maxTold = 64

// tell notes a change of the member's own candidacy, to be reported to the leader of the group.
func (m *Machine) tell(s *groupState) {
	if !s.telling {
		s.telling = true
		m.tells.queue = append(m.tells.queue, s)
	}
}

// untell takes back what is on its way: the member is not heard any more.
func (m *Machine) untell() {
	t := &m.tells
	t.queue = append(t.queue, t.flying...)
	t.flying, t.due = t.flying[:0], protocol.Never
}

func (m *Machine) dueTells(now protocol.Time) {
	t := &m.tells
	if len(t.queue)+len(t.flying) == 0 || !m.speaks() || len(t.flying) > 0 && now < t.due {
		return
	}
	m.untell()
	n := 0
	for ; n < len(t.queue) && len(t.flying) < maxTold; n++ {
		s := t.queue[n]
		holder := m.look(now, s).Leader
		if holder == protocol.NoIdent || holder.Rank == m.cfg.Me {
			s.telling = false // the member that claims it next learns it from the answer
			continue
		}
		if len(t.flying) > 0 && holder.Rank != t.to {
			break
		}
		t.to = holder.Rank
		t.flying = append(t.flying, s)
	}
	t.queue = append(t.queue[:0], t.queue[n:]...)
	if len(t.flying) == 0 {
		return
	}
	t.seq++
	t.flight = t.seq
	c := &Candidates{Seq: t.seq}
	t.yes = t.yes[:0]
	for _, s := range t.flying {
		t.yes = append(t.yes, m.stands(s))
		if m.stands(s) {
			c.Yes = append(c.Yes, s.group)
			if m.hasJoined(s) {
				c.Joined = append(c.Joined, s.group)
			}
		} else {
			c.No = append(c.No, s.group)
		}
	}
	m.send(t.to, c)
	t.due = now.Add(m.cfg.Renew)
}

func (m *Machine) onCandidates(from protocol.Ident, c *Candidates) {
	for _, g := range c.Yes {
		m.holder.Candidate(g, from.Rank, true)
	}
	for _, g := range c.Joined {
		m.holder.Joined(g, from.Rank)
	}
	for _, g := range c.No {
		m.holder.Candidate(g, from.Rank, false)
	}
	m.send(from.Rank, protocol.Keep(m.out, Noted{Seq: c.Seq}))
}

func (m *Machine) onNoted(now protocol.Time, from protocol.Ident, n *Noted) {
	t := &m.tells
	if len(t.flying) == 0 || from.Rank != t.to || n.Seq != t.flight {
		m.onValuesNoted(now, from.Rank, n.Seq)
		return
	}
	for i, s := range t.flying {
		s.telling = false
		if m.stands(s) != t.yes[i] {
			m.tell(s) // it changed meanwhile
		} else {
			s.joined = false
		}
	}
	clear(t.flying)
	t.flying, t.due = t.flying[:0], protocol.Never
}

package nerio

import (
	"math"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// This file brings the values of leaders to the other members. A value follows its election: it is in no claim and in no renewal, so
// that groups without a value cost nothing, and an election waits for no value.
//
// A leader sends a value to a member once the member has acknowledged the leadership, and repeats it until the member has acknowledged
// the value, or another one has replaced it. All values on their way to one member share messages. A member that begins a new promise may have
// forgotten what it knew: it gets all values of that length again. A member takes a value from the leader that its own vote knows only, for
// the very token of that leader, and never replaces a pair of token and version by a lower one.

const (
	// maxScanned is how many groups are looked at for one flight, and so bounds the values in it.
	maxScanned = 256
	// maxValueBytes bounds a message, so that it fits a datagram, and valueSize is about what a value takes besides group and text.
	maxValueBytes = 1000
	valueSize     = 24
	// maxWaits is how often in a row values wait for elections, each time for a renewal.
	maxWaits = 32
)

// values is what other members have still to learn of the values of this one.
type values struct {
	peers []valuePeer // nil while nothing was announced
	due   protocol.Time
}

// A valuePeer is one other member.
type valuePeer struct {
	// queue are groups whose value it may lack, and flying the values on their way to it.
	queue  []*groupState
	flying []flyingValue
	// due is when the flight counts as lost, or, if nothing flies, when to look at the queue again.
	due protocol.Time
	// lost says that the last flight was: until an answer comes only one message is sent at a time.
	lost bool
	// waited is how often in a row its values waited for elections.
	waited uint8
}

type flyingValue struct {
	group *groupState
	value *protocol.Value
	seq   uint64
}

// onAnnounce sets the value of a leadership of this member.
func (m *Machine) onAnnounce(now protocol.Time, ev protocol.Announce) {
	if l, leads := m.holder.Lease(ev.Group); leads && l.Tenure == ev.Tenure {
		s := m.group(ev.Group)
		m.setValue(now, s, l.Token, ev.Value)
		m.publish(now, s, protocol.Cause{Code: protocol.Announced, Peer: m.cfg.Me})
	}
}

// beginValue sets the value of a leadership that begins. Its first view has it then: a value costs no event and no view of its own.
func (m *Machine) beginValue(now protocol.Time, s *groupState) {
	if s.announces == "" {
		return
	}
	if l, leads := m.holder.Lease(s.group); leads {
		m.setValue(now, s, l.Token, s.announces)
	}
}

// setValue sets the value of the leadership with a token, and has the other members learn of it.
func (m *Machine) setValue(now protocol.Time, s *groupState, token uint64, text string) {
	v := &protocol.Value{Token: token, Version: 1, Text: text}
	switch old := s.value; {
	case len(text) > protocol.MaxValue:
		return
	case old != nil && old.Token == token && (old.Text == text || old.Version == math.MaxUint64):
		return
	case old != nil && old.Token == token:
		v.Version = old.Version + 1
	case text == "":
		return // there is nothing to take back
	}
	if !v.After(s.value) {
		return
	}
	s.value = v
	if m.values.peers == nil {
		m.values.peers = make([]valuePeer, m.lcfg.Members)
		for r := range m.values.peers {
			m.values.peers[r].due = protocol.Never
		}
	}
	for r := range protocol.Rank(m.lcfg.Members) {
		if r != m.cfg.Me && !m.cfg.Absent.Has(r) {
			m.queueValue(now, s, r)
		}
	}
}

// takeValue takes a value of another member that is higher than the one before.
func (m *Machine) takeValue(now protocol.Time, s *groupState, from protocol.Rank, v *protocol.Value) {
	if v.After(s.value) {
		s.value = v
		m.publish(now, s, protocol.Cause{Code: protocol.Announced, Peer: from})
	}
}

// queueValue has a member sent the value of a group, a moment later, so that values that are announced together travel together.
func (m *Machine) queueValue(now protocol.Time, s *groupState, r protocol.Rank) {
	p := &m.values.peers[r]
	s.missing.Add(r)
	if !s.sending.Has(r) {
		s.sending.Add(r)
		p.queue = append(p.queue, s)
	}
	if len(p.flying) == 0 {
		p.due = min(p.due, now.Add(m.valuePace()))
		m.values.due = min(m.values.due, p.due)
	}
}

// valuePace is how long values wait for others, and how long a member has to acknowledge a leadership before it is looked at again.
func (m *Machine) valuePace() time.Duration { return max(m.cfg.RoundTrip/4, 1) }

// ownValue says whether the group has a value that this member announces.
func (m *Machine) ownValue(s *groupState) bool {
	if s.value == nil {
		return false
	}
	l, leads := m.holder.Lease(s.group)
	return leads && l.Token == s.value.Token
}

// followValues sends the values of a length again to a member that has begun a new promise of it, or was restarted.
func (m *Machine) followValues(now protocol.Time, r protocol.Rank) {
	groups := m.holder.TakeBegun(r)
	if m.values.peers == nil || r == m.cfg.Me {
		return
	}
	recalled := false
	for _, g := range groups {
		s := m.groups[g]
		if s == nil || !m.ownValue(s) {
			continue
		}
		if !recalled {
			m.recallValues(&m.values.peers[r])
			recalled = true
		}
		m.queueValue(now, s, r)
	}
}

// unsendValues takes back what is on its way to all members. Answers to it are not heard while the member asks.
func (m *Machine) unsendValues() {
	for i := range m.values.peers {
		p := &m.values.peers[i]
		m.recallValues(p)
		p.due, p.lost = protocol.Never, false
	}
	m.values.due = protocol.Never
}

// recallValues puts what is on its way back into the queue.
func (m *Machine) recallValues(p *valuePeer) {
	for i := range p.flying {
		p.queue = append(p.queue, p.flying[i].group)
	}
	clear(p.flying)
	p.flying = p.flying[:0]
}

func (m *Machine) dueValues(now protocol.Time) {
	if now < m.values.due {
		return
	}
	m.values.due = protocol.Never
	if !m.speaks() {
		return
	}
	for i := range m.values.peers {
		p := &m.values.peers[i]
		if now >= p.due {
			m.sendValues(now, protocol.Rank(i), p)
		}
		m.values.due = min(m.values.due, p.due)
	}
}

// sendValues sends the next values to a member that has answered the last, or not in time.
func (m *Machine) sendValues(now protocol.Time, r protocol.Rank, p *valuePeer) {
	p.lost = p.lost || len(p.flying) > 0
	m.recallValues(p)
	p.due = protocol.Never
	if m.holder.Silent(r) || m.electing(p) {
		if len(p.queue) > 0 {
			p.due = now.Add(m.cfg.Renew)
		}
		return
	}
	n := min(len(p.queue), maxScanned)
	scanned, queue := p.queue[:n], p.queue[n:]
	var msg *Values
	size, full := 0, false
	for _, s := range scanned {
		if !s.missing.Has(r) || !m.ownValue(s) {
			s.sending.Remove(r)
			continue
		}
		takes := len(s.group) + len(s.value.Text) + valueSize
		next := msg == nil || size+takes > maxValueBytes
		full = full || next && msg != nil && p.lost
		if full || !m.holder.Knows(s.group, r) {
			queue = append(queue, s)
			continue
		}
		if next {
			m.tells.seq++
			msg = protocol.Make[Values](m.out)
			*msg = Values{Seq: m.tells.seq, Values: msg.Values[:0]}
			m.send(r, msg)
			size = 0
		}
		size += takes
		msg.Values = append(msg.Values, Value{Group: s.group, Token: s.value.Token, Version: s.value.Version, Text: s.value.Text})
		p.flying = append(p.flying, flyingValue{s, s.value, msg.Seq})
	}
	p.queue = queue
	switch {
	case len(p.flying) > 0:
		p.due = now.Add(m.cfg.Renew)
	case len(p.queue) > 0:
		p.due = now.Add(m.valuePace())
	}
}

// electing says whether values for a member wait for elections: for as long as groups wait to be tried for, as after the death of a leader of very many.
// They do not wait for ever: nothing comes of attempts while a quorum is out of reach, and what this member leads has values all the same.
func (m *Machine) electing(p *valuePeer) bool {
	if len(m.queue) == 0 || p.waited == maxWaits {
		p.waited = 0
		return false
	}
	p.waited++
	return true
}

// onValues takes the values of a leader, and acknowledges them if it could take all that are news.
func (m *Machine) onValues(now protocol.Time, from protocol.Ident, msg *Values) {
	all := true
	for i := range msg.Values {
		v := &msg.Values[i]
		s := m.groups[v.Group]
		if s == nil || len(v.Text) > protocol.MaxValue {
			all = false
			continue
		}
		if seen := m.look(now, s); seen.Leader != from || seen.Term != v.Token {
			all = false // this vote does not know that leadership: not yet, or no longer
			continue
		}
		m.takeValue(now, s, from.Rank, &protocol.Value{Token: v.Token, Version: v.Version, Text: v.Text})
	}
	if all {
		m.send(from.Rank, protocol.Keep(m.out, Noted{Seq: msg.Seq}))
	}
}

// onValuesNoted takes note that a member has the values of a message.
func (m *Machine) onValuesNoted(now protocol.Time, r protocol.Rank, seq uint64) {
	if m.values.peers == nil {
		return
	}
	p := &m.values.peers[r]
	left := p.flying[:0]
	for _, f := range p.flying {
		switch s := f.group; {
		case f.seq != seq:
			left = append(left, f)
		case s.value != f.value:
			p.queue = append(p.queue, s) // another one was announced meanwhile
		default:
			s.missing.Remove(r)
			s.sending.Remove(r)
		}
	}
	if len(left) == len(p.flying) {
		return
	}
	clear(p.flying[len(left):])
	p.flying, p.lost = left, false
	if len(p.flying) == 0 {
		p.due = now
		m.values.due = now
	}
}

// clone returns a copy that is about the given groups. A group that is forgotten has no value to send.
func (v *values) clone(groups map[protocol.Group]*groupState) values {
	c := values{due: v.due, peers: slices.Clone(v.peers)}
	for i := range c.peers {
		p := &c.peers[i]
		p.queue, p.flying = nil, nil
		for _, s := range v.peers[i].queue {
			if x := groups[s.group]; x != nil {
				p.queue = append(p.queue, x)
			}
		}
		for _, f := range v.peers[i].flying {
			if x := groups[f.group.group]; x != nil {
				p.flying = append(p.flying, flyingValue{x, f.value, f.seq})
			}
		}
	}
	return c
}

func (m *Machine) appendValues(s *lease.State) {
	for i := range m.values.peers {
		p := &m.values.peers[i]
		s.Bool(p.lost)
		s.Uint(uint64(p.waited))
		s.Future(p.due)
		s.Uint(uint64(len(p.queue)))
		for _, x := range p.queue {
			s.Text(string(x.group))
		}
		s.Uint(uint64(len(p.flying)))
		for _, f := range p.flying {
			s.Text(string(f.group.group))
			s.Uint(f.value.Version)
			s.Uint(f.seq)
		}
	}
}

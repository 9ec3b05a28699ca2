package council

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file is R9 and R10: what a member does that has no trusted record, and how a copy of an old one is found out.

// forgotten is how far a member without a trusted record has got.
type forgotten struct {
	// reached is when a member first answered this start; Never if none has. bound is the longest wait that was named.
	reached protocol.Time
	bound   time.Duration
	// asked is the ballot of the present question; zero while none is asked. again is when it is repeated.
	asked Ballot
	again protocol.Time
	// answers has what each member said to it.
	answers []Known
	got     protocol.Set
}

// due returns when something is to be done.
func (l *forgotten) due() protocol.Time {
	if l.asked != (Ballot{}) {
		return l.again
	}
	return l.reached.Add(l.bound)
}

// forget makes the member ask what it has forgotten.
func (m *Machine) forget(now protocol.Time) {
	m.phase = forgetful
	m.dirty = false
	m.lost = forgotten{reached: protocol.Never, bound: m.rec.Bound, again: protocol.Never}
	m.attempt = attempt{due: protocol.Never}
	m.next = nil
	m.fetch = now
	m.seat, m.hint = protocol.Nobody, m.rec.Conf != nil
	m.surrender, m.rec.Heir = surrender{}, Vote{}
	switch {
	case m.rec.Conf != nil && m.names(m.rec.Conf):
		m.seat = m.rec.Conf.Named(m.opt.Name).Seat
	case m.rec.Conf == nil && m.opt.First != nil:
		m.lost.bound = max(m.lost.bound, m.opt.First.Terms.Wait())
	}
}

// relapse makes a member ask again that has found out what it forgot, and has not written anything since: the others have gone on to a
// later configuration, in which its answers do not count. It is as if the member had crashed, but for its wait, which is over.
func (m *Machine) relapse() {
	m.phase, m.hint = forgetful, false
	m.dirty = false
	m.lost.asked, m.lost.got = Ballot{}, protocol.Set{}
	m.host.Withhold()
}

// learn takes a configuration to ask about.
func (m *Machine) learn(now protocol.Time, c *Chosen) {
	m.reach(now, max(c.Bound, c.Conf.Terms.Wait()))
	if m.rec.Conf != nil && !c.Conf.after(m.rec.Conf) {
		return
	}
	if m.rec.Conf != nil && m.rec.Conf.Council != c.Conf.Council {
		m.lost.reached = now // nothing was over before the other council was given up
	}
	m.rec.Conf, m.rec.Settled, m.rec.Ballot, m.rec.Accepted = c.Conf, false, Ballot{}, Vote{}
	m.lost.asked, m.lost.got = Ballot{}, protocol.Set{}
	m.attempt = attempt{due: protocol.Never}
	m.seat, m.hint = protocol.Nobody, false
	if x := c.Conf.Named(m.opt.Name); x != nil && (m.rec.Birth == Birth{} || m.rec.Birth == x.Birth) {
		m.seat = x.Seat
		m.host.Adopt(now, c.Conf, x.Seat)
	}
}

// reach notes an answer, and how long promises may stand.
func (m *Machine) reach(now protocol.Time, bound time.Duration) {
	if m.lost.reached == protocol.Never {
		m.lost.reached = now
	}
	m.lost.bound = max(m.lost.bound, bound)
}

// onForgetful asks for the configuration, waits, and then asks what the member has forgotten.
func (m *Machine) onForgetful(now protocol.Time) {
	l := &m.lost
	if now >= m.fetch {
		m.fetch = now.Add(m.opt.Renew)
		peers := m.opt.Peers
		for _, c := range []*Config{m.opt.First, m.rec.Conf} {
			if c != nil {
				peers = peers.Union(c.Present())
			}
		}
		if m.rec.Conf != nil {
			m.fetch = now.Add(m.opt.Quiet)
		}
		m.sendAll(peers.Without(m.seat), m.fetches())
	}
	a := &m.attempt
	switch {
	case m.seat != protocol.Nobody && m.hint && l.reached == protocol.Never && (l.asked == (Ballot{}) || now >= l.again):
		m.question(now) // the others may ask as well, and have no configuration to tell: that they answer is what counts
	case m.seat == protocol.Nobody || now < l.reached.Add(l.bound):
	case a.on && now < a.limit(m.rec.Conf):
		if now >= a.due {
			m.press(now)
		}
	case l.asked == (Ballot{}) || a.on || now >= l.again:
		m.question(now)
	}
}

// question asks all members of the configuration, in a ballot of its own.
func (m *Machine) question(now protocol.Time) {
	m.attempt = attempt{due: protocol.Never}
	m.round++
	l := &m.lost
	l.asked = Ballot{Round: m.round, Seat: m.seat, Nonce: m.nonce}
	l.answers, l.got = make([]Known, m.rec.Conf.Seats()), protocol.Set{}
	l.again = now.Add(2*m.opt.RoundTrip + time.Duration(m.rng.Int64N(int64(2*m.opt.RoundTrip)+1)))
	m.sendAll(m.rec.Conf.Present().Without(m.seat), &Recover{Slot: m.rec.Conf.Number + 1, Ballot: l.asked})
}

func (m *Machine) onRecover(now protocol.Time, from protocol.Ident, r *Recover) {
	m.round = max(m.round, r.Ballot.Round)
	former := m.noteSerial(from, r.Serial)
	if r.Ballot == (Ballot{}) && m.phase == seated && m.host.Inc() != 0 {
		// Whatever number the asker is at: it has to know before it leads or votes.
		m.send(from.Rank, &Known{Slot: r.Slot, Heard: former, Nonce: r.Nonce}, false)
	}
	if m.phase == forgetful && m.hint && r.Slot == m.rec.Conf.Number+1 && r.Ballot != (Ballot{}) {
		m.send(from.Rank, &Known{Slot: r.Slot, Ballot: r.Ballot, Asks: true, Settled: m.rec.Settled, Accepted: m.rec.Accepted, Highest: m.host.Highest(),
			Bound: m.rec.Bound}, false)
		return
	}
	if r.Slot == 0 || m.behind(now, from.Rank, r.Slot-1) || r.Ballot == (Ballot{}) || !m.votes(now) {
		return
	}
	if !r.Ballot.below(m.rec.Ballot) {
		m.bind(r.Ballot)
	}
	m.send(from.Rank, &Known{Slot: r.Slot, Ballot: r.Ballot, Speaks: true, Settled: m.rec.Settled, Promised: m.rec.Ballot, Accepted: m.rec.Accepted,
		Highest: m.host.Highest(), Bound: m.rec.Bound}, true)
}

func (m *Machine) onKnown(now protocol.Time, from protocol.Ident, k *Known) {
	if m.phase == seated {
		m.onRecalled(now, k)
		return
	}
	l := &m.lost
	if m.phase != forgetful || l.asked == (Ballot{}) || k.Ballot != l.asked || m.attempt.on || int(from.Rank) >= len(l.answers) {
		return
	}
	m.round = max(m.round, k.Promised.Round)
	m.reach(now, k.Bound)
	l.answers[from.Rank] = *k
	l.got.Add(from.Rank)
	m.conclude(now)
}

// conclude looks whether the answers let the member take part again.
func (m *Machine) conclude(now protocol.Time) {
	l, c := &m.lost, m.rec.Conf
	if now < l.reached.Add(l.bound) {
		l.asked = Ballot{} // a longer wait was named: ask again after it
		return
	}
	var know, ask protocol.Set
	best := Vote{}
	floor, settled, claimed := c.Floor, c.Number == 0, m.hint && m.rec.Settled
	for r := range l.got.All() {
		k := &l.answers[r]
		switch {
		case k.Asks:
			ask.Add(r)
		case k.Promised == l.asked && k.Speaks:
			know.Add(r)
		default:
			continue
		}
		floor, settled, claimed = max(floor, k.Highest), settled || k.Settled && !k.Asks, claimed || k.Settled
		best = best.later(k.Accepted)
	}
	voters := c.Voters()
	all := know.Union(ask).With(m.seat)
	switch {
	case m.hint && !ask.Empty() && all.Contains(voters) && (settled || claimed):
		// Members that ask at the same time would wait for one another without end. If all others have answered, nobody knows more.
		m.goOn(now, floor, best.later(m.rec.Accepted))
	case !settled && !meetsAll(c.Before, know, m.seat):
	case meetsAll(voters, know, m.seat):
		if best.Conf == nil {
			m.goOn(now, floor, Vote{})
		} else if voters.Has(m.seat) {
			m.vote(now, best.Conf)
		}
	}
}

// later returns the vote of the higher ballot.
func (v Vote) later(o Vote) Vote {
	if o.Conf != nil && (v.Conf == nil || v.Ballot.below(o.Ballot)) {
		return o
	}
	return v
}

// goOn makes a member take part again that knows enough of what it has forgotten.
func (m *Machine) goOn(now protocol.Time, floor uint64, accepted Vote) {
	l, c := &m.lost, m.rec.Conf
	m.phase = seated
	m.rec.Settled, m.rec.Ballot, m.rec.Accepted, m.rec.Removed = false, l.asked, accepted, false
	m.rec.Bound, m.rec.Birth = l.bound, c.At(m.seat).Birth
	m.until, m.doubt, m.began = now, now, m.rec.Serial
	m.repeat, m.since, m.backoff = now, 0, 0
	m.write()
	m.state(protocol.EvAdopt, c, "recovered")
	m.host.Recovered(now, floor)
}

// vote makes the member, which grants nothing, vote for what others have accepted. Its question was the first phase.
func (m *Machine) vote(now protocol.Time, value *Config) {
	l := &m.lost
	m.attempt = attempt{on: true, ballot: l.asked, slot: m.rec.Conf.Number + 1, start: now, value: value, accepts: protocol.NewSet(m.seat)}
	m.state(protocol.EvVote, value, "lost")
	m.press(now)
}

// noteSerial remembers the number of a member's record. It returns the highest of the member's earlier incarnations.
func (m *Machine) noteSerial(from protocol.Ident, serial uint64) uint64 {
	p := m.peer(from.Rank)
	switch {
	case from.Inc == 0 || from.Inc < p.inc:
		return 0
	case from.Inc > p.inc:
		p.former, p.inc, p.serial = max(p.former, p.serial), from.Inc, 0
	}
	p.serial = max(p.serial, serial)
	return p.former
}

// asking says whether the member still asks whether its record is the last one.
func (m *Machine) asking() bool { return m.now < m.doubt }

// recall asks whether the record is the last one (R10), while the member waits after its start.
func (m *Machine) recall(now protocol.Time) {
	if !m.asking() || m.host.Inc() == 0 || now < m.lost.again || m.next != nil {
		return
	}
	m.lost.again = now.Add(m.opt.Renew)
	m.sendAll(m.rec.Conf.Present().Without(m.seat), &Recover{Slot: m.rec.Conf.Number + 1, Serial: m.began, Nonce: m.nonce})
}

// onRecalled takes the answer of a member that remembers.
func (m *Machine) onRecalled(now protocol.Time, k *Known) {
	if k.Nonce != m.nonce || k.Heard <= m.began {
		return
	}
	m.host.Distrust(now)
	m.forget(now)
}

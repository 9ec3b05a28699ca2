package council

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file is R5 to R8: how configurations take effect, and how they settle.

// ask asks a member for its configuration.
func (m *Machine) ask(from protocol.Rank) {
	m.send(from, m.fetches(), false)
}

// fetches returns the question for a configuration.
func (m *Machine) fetches() *Fetch {
	f := Fetch{Blank: m.rec.Conf == nil}
	if !f.Blank {
		f.Have, f.Council = m.rec.Conf.Number, m.rec.Conf.Council
	}
	return &f
}

func (m *Machine) onFetch(now protocol.Time, from protocol.Ident, f *Fetch) {
	if c := m.rec.Conf; m.knows() && (f.Blank || f.Council == c.Council && f.Have <= c.Number || c.Descends(f.Council)) {
		m.tell(now, from.Rank)
	}
}

// knows says whether the member knows a configuration that was chosen. One that has forgotten everything else may be the only one that
// knows it: its vote may have completed the choice, and its news may have been lost.
func (m *Machine) knows() bool {
	return m.rec.Conf != nil && (m.phase == seated || m.phase == forgetful)
}

// tell sends the configuration in force to a member, once in a round trip.
func (m *Machine) tell(now protocol.Time, to protocol.Rank) {
	p := m.peer(to)
	if !m.knows() || to == m.seat || now.Sub(p.told) < m.opt.RoundTrip {
		return
	}
	p.told = now
	bound := m.rec.Bound
	if m.phase == forgetful {
		bound = max(bound, m.lost.bound)
	}
	m.send(to, &Chosen{Conf: m.rec.Conf, Bound: bound}, false)
}

func (m *Machine) onChosen(now protocol.Time, c *Chosen) {
	for _, own := range []*Config{m.rec.Conf, m.opt.First} {
		if own != nil && c.Conf.Council != own.Council && !c.Conf.Descends(own.Council) {
			return
		}
	}
	switch m.phase {
	case forgetful:
		m.learn(now, c)
	case seated:
		switch heir := m.rec.Heir.Conf; {
		case !c.Conf.after(m.rec.Conf):
		case !m.host.Begun():
			m.relapse()
			m.learn(now, c)
			return
		case heir != nil && m.names(c.Conf) && c.Conf.Council != heir.Council && !c.Conf.Descends(heir.Council):
			return // it has agreed to go on with another one, and nobody knows whether that is in force
		case heir == nil && c.Conf.Council != m.rec.Conf.Council && m.names(c.Conf):
			// It has agreed to that council, by a record that it has lost.
			m.host.Distrust(now)
			m.forget(now)
			m.learn(now, c)
			return
		}
		m.adopt(now, c.Conf, c.Bound)
	}
}

// adopt takes a configuration with a higher number over: at first to the disk (R5). Numbers may be skipped.
func (m *Machine) adopt(now protocol.Time, c *Config, bound time.Duration) {
	switch {
	case !c.after(m.rec.Conf), m.next != nil && !c.after(m.next):
		if c.Council == m.rec.Conf.Council && c.Number == m.rec.Conf.Number && c.Digest() != m.rec.Conf.Digest() {
			m.state(protocol.EvAdopt, c, "fork")
		}
		return
	}
	m.next = c
	m.rec.Bound = max(m.rec.Bound, bound, c.Terms.Wait())
	m.attempt = attempt{due: protocol.Never}
	m.write()
	m.landing = m.rec.Serial
}

// names says whether the member has a seat in a configuration. A member of its name and another birth is another one (C3).
func (m *Machine) names(c *Config) bool {
	x := c.Named(m.opt.Name)
	return x != nil && x.Birth == m.rec.Birth
}

// land puts the configuration in force that is on disk now.
func (m *Machine) land(now protocol.Time) {
	c, another := m.next, m.next.Council != m.rec.Conf.Council
	m.next = nil
	m.rec.Conf, m.rec.Settled, m.rec.Ballot, m.rec.Accepted, m.rec.Heir = c, false, Ballot{}, Vote{}, Vote{}
	m.surrender = surrender{}
	if w := m.want; w != nil && (w.Acknowledge && c.Acknowledged || !w.Acknowledge && (w.Goal != nil || c.Goal == nil)) {
		m.want = nil // it is under way, or another change is
	}
	m.since, m.backoff, m.round = 0, 0, 0
	if !m.names(c) {
		m.rec.Removed, m.phase = true, gone
		m.state(protocol.EvOut, c, "")
		m.host.Leave(now)
		return
	}
	m.state(protocol.EvAdopt, c, "chosen")
	m.note()
	m.seat = c.Named(m.opt.Name).Seat
	for i := range m.peers {
		m.peers[i].carried, m.peers[i].carry = 0, Carry{}
	}
	m.host.Adopt(now, c, m.seat)
	m.repeat = now
	if another {
		m.host.Hold(now, now.Add(m.rec.Bound))
		m.note()
	}
}

// hold keeps a member that has just started from granting anything while it must not (F2, F4).
func (m *Machine) hold(now protocol.Time) {
	switch {
	case m.rec.Heir.Conf != nil:
		m.host.Hold(now, protocol.Never)
	case m.rec.Conf.youngest() && !m.rec.Settled:
		m.host.Hold(now, now.Add(m.rec.Bound))
	}
}

// waited says whether nothing stands any more that the member promised before it adopted the configuration.
func (m *Machine) waited(now protocol.Time) bool { return now >= m.until }

// repeatCarry says how far the member has got, until there is nothing left to wait for.
func (m *Machine) repeatCarry(now protocol.Time) {
	if now < m.repeat || m.next != nil || m.host.Inc() == 0 || m.rec.Settled && m.rec.Conf.Goal == nil {
		return
	}
	m.repeat = now.Add(m.opt.Renew)
	m.sendAll(m.rec.Conf.Present().Without(m.seat), m.carry(now))
}

func (m *Machine) carry(now protocol.Time) *Carry {
	leads, assigned := m.host.Leads()
	return &Carry{Number: m.rec.Conf.Number, Waited: m.waited(now), Settled: m.rec.Settled, Highest: m.host.Highest(), Leads: leads, Assigned: assigned,
		Serial: m.durable}
}

func (m *Machine) onCarry(now protocol.Time, from protocol.Ident, c *Carry) {
	if from.Inc == 0 || m.behind(now, from.Rank, c.Number) {
		return
	}
	p, voters := m.peer(from.Rank), m.rec.Conf.Voters()
	if p.carried == 0 && voters.Has(from.Rank) {
		m.host.CaughtUp(now)
	}
	p.carry, p.carried = *c, now
	switch {
	case m.rec.Settled && !c.Settled && m.host.Inc() != 0:
		m.send(from.Rank, m.carry(now), false)
	case !m.rec.Settled && c.Settled && m.host.Carried(c.Number):
		m.settled(now, c.Highest)
	}
}

// trySettle is R8: the configuration is settled when a majority of its voters has waited, this one included if it votes.
func (m *Machine) trySettle(now protocol.Time) {
	if m.rec.Settled || m.next != nil || m.host.Inc() == 0 || !m.host.Carried(m.rec.Conf.Number) {
		return
	}
	voters := m.rec.Conf.Voters()
	if voters.Has(m.seat) && !m.waited(now) {
		return
	}
	waited, floor := protocol.NewSet(m.seat), m.host.Highest()
	for r := range voters.All() {
		if p := m.peer(r); r != m.seat && p.carried != 0 && p.carry.Number == m.rec.Conf.Number && p.carry.Waited {
			waited.Add(r)
			floor = max(floor, p.carry.Highest)
		}
	}
	if m.rec.Conf.majority(waited) {
		m.settled(now, floor)
	}
}

func (m *Machine) settled(now protocol.Time, floor uint64) {
	floor = max(floor, m.rec.Conf.Floor)
	m.rec.Settled = true
	m.settledAt = now
	m.host.Raise(now, floor)
	m.write()
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvSettle, Dom: protocol.Quorum, Seq: m.rec.Conf.Number, Term: floor, Members: m.rec.Conf.Voters()})
	m.repeat = now
}

// lowerBound lets the bound fall. A voter that is not in the majority which has waited may have promised something under the terms of before
// until then, and its holder goes on counting that in the present configuration (R6). So the bound stands for its own length after the
// member has settled.
func (m *Machine) lowerBound(now protocol.Time) {
	if now >= m.boundFalls() && m.next == nil && m.host.Inc() != 0 {
		m.rec.Bound = m.rec.Conf.Terms.Wait()
		m.write()
	}
}

// boundFalls returns when the bound falls; Never if it does not.
func (m *Machine) boundFalls() protocol.Time {
	if !m.rec.Settled || m.rec.Bound <= m.rec.Conf.Terms.Wait() {
		return protocol.Never
	}
	return m.settledAt.Add(m.rec.Bound)
}

// watch is the second half of R7: a member that hears no majority asks whether there is a later configuration. It also asks who is there:
// members that have nothing to do are silent, and are not lost for that (F1).
func (m *Machine) watch(now protocol.Time) {
	if now < m.fetch {
		return
	}
	var heard protocol.Set
	for r := range m.rec.Conf.Voters().All() {
		if r == m.seat || now.Sub(m.peer(r).heard) <= m.opt.Quiet {
			heard.Add(r)
		}
	}
	alone := !m.rec.Conf.majority(heard)
	if alone && m.opt.Mourn > 0 && m.host.Inc() != 0 {
		m.sendAll(m.rec.Conf.Present().Without(m.seat), &Recover{Slot: m.rec.Conf.Number + 1, Serial: m.began}) // without its nonce: it believes its record
	}
	if now == m.started || alone {
		m.sendAll(m.rec.Conf.Present().Union(m.opt.Peers).Without(m.seat), m.fetches())
	}
	m.fetch = now.Add(m.opt.Quiet)
}

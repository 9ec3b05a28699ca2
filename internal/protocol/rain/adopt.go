package rain

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/link"
)

// This file takes groups from one configuration of the council to the next. Members keep their ranks, and lists only grow.

// A Council says who the members are while they come and go: package members.
type Council interface {
	// Conf returns the configuration in force; nil if none is known.
	Conf() *council.Config
	// Seat returns the member's rank; Nobody while it has none.
	Seat() protocol.Rank
	// Settled says whether the member has settled in the configuration in force.
	Settled() bool
	// Stopped says that the member has agreed to give its council up, and takes part in nothing.
	Stopped() bool
}

// A term is what the configuration in force says.
type term struct {
	conf            *council.Config // nil in a council that does not change, or while none is known
	number          uint64
	present, before protocol.Set
	since           []uint64 // by rank, the number of the configuration that gave the seat to its present member
	born            uint64   // the member's own
	pull            pull
	// noted is which of the machine's writes has what the member found out that it had forgotten; zero: it is on disk.
	noted uint64
}

// A pull is how a member learns what was agreed on under configurations before its present one, and what it has forgotten.
type pull struct {
	// nonce is of the present question; zero if there is none.
	nonce uint64
	// answered are those that did in the present configuration, known those of them that had forgotten nothing, settled those of
	// these that had settled.
	answered, known, settled protocol.Set
	// carried says that no view of an earlier configuration is missing here that programs received.
	carried bool
	// late is from when on no manager counts what this member acknowledged before it started; waited says that the question is
	// of later than that.
	late   protocol.Time
	waited bool
}

// changing says whether members come and go.
func (m *Machine) changing() bool { return m.cfg.Council != nil }

func (m *Machine) settled() bool { return m.changing() && m.cfg.Council.Settled() }

// Carried says whether no view is missing here that programs received under a configuration before the one with a number. A member
// without a vote that may have forgotten views says no: newcomers would get votes, and no majority be left that knows.
func (m *Machine) Carried(number uint64) bool {
	t := &m.term
	if number == 0 {
		return true
	}
	if t.conf == nil || t.number != number || !t.pull.carried {
		return false
	}
	voters := t.conf.Voters()
	return m.remembers || voters.Has(m.cfg.Self)
}

// follow notes whether another configuration is in force.
func (m *Machine) follow(now protocol.Time) {
	if !m.changing() {
		return
	}
	m.halt()
	c, seat := m.cfg.Council.Conf(), m.cfg.Council.Seat()
	if c == nil || seat == protocol.Nobody || m.term.conf != nil && c.Number == m.term.number && c.Council == m.term.conf.Council {
		return
	}
	m.adopt(now, c, seat)
}

// adopt goes on under another configuration. Views stand. What counts towards a decision counts anew: acknowledgements, the answers
// of a reading, and the leave to go on are all of one configuration.
func (m *Machine) adopt(now protocol.Time, c *council.Config, seat protocol.Rank) {
	t, first := &m.term, m.term.conf == nil
	before := t.present
	t.conf, t.number, t.present, t.before = c, c.Number, c.Present(), c.Before
	m.cfg.Rho = c.Terms.Rho
	if first {
		m.cfg.Self = seat
		for _, g := range m.groups {
			g.me = seat
		}
	}
	m.grow(max(c.Seats(), m.cfg.Members))
	m.inherit(now)
	for r := range before.Minus(t.present).All() {
		m.vacate(now, r)
	}
	for i := range c.Members {
		x := &c.Members[i]
		if before.Has(x.Seat) && t.since[x.Seat] != x.Since {
			m.vacate(now, x.Seat)
		}
		t.since[x.Seat] = x.Since
	}
	if x := c.At(seat); x != nil && (first || m.inc == 0) { // one that has not spoken takes the birth that the configuration has (C3)
		t.born = x.Since
	} else if x == nil || x.Since != t.born {
		m.leave()
		return
	}
	if going := c.Going(seat); going != m.going {
		m.going = going
		m.unfit(protocol.Cause{Code: protocol.Closed, Peer: seat})
	}
	for _, g := range m.groups {
		m.fit(&g.view)
		g.adopt(now)
	}
	t.pull = pull{nonce: t.pull.nonce, carried: c.Number == 0, late: t.pull.late}
	m.question(now)
	for r := range m.asks {
		m.answer(now, protocol.Rank(r))
	}
	held := m.held
	m.held = nil
	for _, ev := range held {
		switch ev := ev.(type) {
		case protocol.Campaign:
			m.command(now, ev.Group, ev, (*group).onCampaign)
		case protocol.Resign:
			m.command(now, ev.Group, ev, (*group).onResign)
		}
	}
}

// grow makes room for so many ranks.
func (m *Machine) grow(n int) {
	t := &m.term
	m.cfg.Members = n
	m.cfg.Quorums, m.cfg.Leaders = protocol.MajorityOf(n, t.conf.Voters()), t.conf.Leaders()
	for len(t.since) < n {
		t.since = append(t.since, 0)
	}
	if m.links != nil {
		m.links.Grow(n, m.absent())
	}
	for _, g := range m.groups {
		g.grow(n)
	}
}

// absent are the ranks that no member has.
func (m *Machine) absent() protocol.Set {
	if m.term.conf == nil {
		return protocol.Set{}
	}
	return protocol.Everyone(m.cfg.Members).Minus(m.term.present)
}

func (g *group) grow(n int) {
	for r := len(g.peers); r < n; r++ {
		g.peers = append(g.peers, newPeer(protocol.Rank(r)))
		g.invites = append(g.invites, Topic{})
		g.stay.heard = append(g.stay.heard, 0)
	}
	for _, t := range g.topics {
		t.grow(n)
	}
}

// vacate forgets what was known of the member that had a seat. Views that name the seat mean that member (holds).
func (m *Machine) vacate(now protocol.Time, r protocol.Rank) {
	if m.links != nil {
		m.links.Vacate(now, r)
	}
	if int(r) < len(m.asks) {
		m.asks[r] = Ask{}
	}
	for _, g := range m.groups {
		if int(r) < len(g.peers) {
			g.onLink(now, &link.Change{Peer: protocol.Ident{Rank: r, Inc: g.peers[r].ident.Inc}})
			g.peers[r].broke = false
		}
	}
}

// leave ends the part of a member that a configuration does not name: it is out of all groups. Its programs are asked to stop, and their leave
// to go on ends by itself.
func (m *Machine) leave() {
	m.closed = true
	for _, g := range m.groups {
		g.open = false
		switch g.phase {
		case Alive:
			g.die(protocol.Cause{Code: protocol.Closed, Peer: g.me})
		case Joining:
			g.enter(Out)
		}
	}
}

// leaves says whether the member is to lose its vote. A manager that leaves gives the lease up once its view is recovered, as it does when another member
// wants it: a change of the council waits until the member leads nothing.
func (m *Machine) leaves() bool { return m.term.conf != nil && m.term.conf.Leaving(m.cfg.Self) }

// unfit takes the member out of its groups if it is ill or to leave the council, and lets it take part again if it is neither.
func (m *Machine) unfit(cause protocol.Cause) {
	for _, g := range m.groups {
		switch {
		case m.ill || m.going:
			g.retire(cause)
		case g.phase == Out:
			g.enter(g.rest())
		}
	}
}

func (g *group) adopt(now protocol.Time) {
	g.again = true
	g.pending.has = protocol.Set{}
	g.reading = reading{}
	clear(g.stay.heard)
	if g.phase == Alive {
		g.stay.born, g.stay.due = now-g.stay.zero, now
	}
	for r := range g.peers {
		g.repeat(now, protocol.Rank(r))
		g.askAgain(protocol.Rank(r))
	}
}

// askAgain repeats to a peer the questions that it has not confirmed: while it was in another configuration it may not have known
// which member they were about.
func (g *group) askAgain(r protocol.Rank) {
	for _, t := range g.topics {
		if t.candTo[r] != 0 && t.accFrom[r] != t.candTo[r] {
			g.send(r, &Cand{Topic: g.on(t, t.candTo[r])})
		}
	}
}

// caughtUp follows the word of a peer that it is in this member's configuration now: what it was asked in another one did not count.
func (g *group) caughtUp(now protocol.Time, r protocol.Rank) {
	g.again = true
	g.repeat(now, r)
	g.askAgain(r)
	if g.reading.under(g) && !g.reading.answered.Has(r) {
		g.send(r, &Query{Group: g.name, Token: g.lease.token})
	}
}

// is says whether a rank was, in the configuration with a number, that of its present member.
func (m *Machine) is(r protocol.Rank, number uint64) bool {
	return m.term.conf == nil || m.term.present.Has(r) && int(r) < len(m.term.since) && m.term.since[r] <= number
}

// here says whether a rank is that of a member at all.
func (m *Machine) here(r protocol.Rank) bool { return m.term.conf == nil || m.term.present.Has(r) }

// holds says whether a present member is of a view. The view means the members that had their seats when it was decided.
func (m *Machine) holds(v *View, r protocol.Rank) bool { return v.Members.Has(r) && m.is(r, v.Epoch) }

// names says whether the member knows whom a view names: a view of a later configuration may name a newcomer that it has not heard of. The
// program gets such a view once the member has adopted that configuration.
func (m *Machine) names(v *View) bool { return m.term.conf == nil || v.Epoch <= m.term.number }

// fit makes room for all that a view names, which may be of a later configuration.
func (m *Machine) fit(v *View) {
	if !m.changing() || m.term.conf == nil {
		return
	}
	n := m.cfg.Members
	for r := range v.everyone().All() {
		n = max(n, int(r)+1)
	}
	if n > m.cfg.Members {
		m.grow(n)
	}
}

func (v *View) everyone() protocol.Set {
	all := v.Members.Union(v.Failed).Union(v.Joined).With(v.Manager)
	for i := range v.Unfinished {
		all = all.Union(v.Unfinished[i].Members)
	}
	return all
}

// question asks all that are linked what they know, as long as something may be missing here.
func (m *Machine) question(now protocol.Time) {
	p := &m.term.pull
	if m.term.conf == nil || m.sender == nil || p.carried && m.remembers {
		p.nonce++ // what is on its way answers another question
		m.tellNumber()
		return
	}
	p.nonce++
	p.waited = now >= p.late
	p.answered, p.known, p.settled = protocol.Set{}, protocol.Set{}, protocol.Set{}
	m.tellNumber()
	m.learn()
}

// tellNumber sends the present number to all that are linked, with the question.
func (m *Machine) tellNumber() {
	if m.term.conf == nil || m.sender == nil {
		return
	}
	for r := range m.term.present.Without(m.cfg.Self).All() {
		m.sender.Send(r, &Ask{Number: m.term.number, Nonce: m.term.pull.nonce})
	}
}

// onAsk takes a peer's word on its number, and answers in the same number: with all views, and then with what they are worth. A member that
// is behind answers when it has adopted the configuration; the asker repeats the question if it is behind itself.
func (m *Machine) onAsk(now protocol.Time, from protocol.Rank, a *Ask) {
	for len(m.asks) <= int(from) {
		m.asks = append(m.asks, Ask{})
	}
	m.asks[from] = Ask{Number: a.Number, Nonce: a.Nonce}
	m.answer(now, from)
}

// answer answers the last question of a peer, once.
func (m *Machine) answer(now protocol.Time, to protocol.Rank) {
	if int(to) >= len(m.asks) || m.term.conf == nil || m.sender == nil || m.asks[to].Nonce == 0 || m.asks[to].Number != m.term.number {
		return
	}
	told := &Told{Number: m.term.number, Nonce: m.asks[to].Nonce, Known: m.remembers, Settled: m.cfg.Council.Settled()}
	m.asks[to].Nonce = 0
	for _, g := range m.groups {
		g.tell(to)
		g.caughtUp(now, to)
	}
	m.sender.Send(to, told)
}

func (m *Machine) onTold(from protocol.Rank, a *Told) {
	p := &m.term.pull
	if m.term.conf == nil || a.Number != m.term.number || a.Nonce != p.nonce {
		return
	}
	p.answered.Add(from)
	if a.Known {
		p.known.Add(from)
		if a.Settled {
			p.settled.Add(from)
		}
	}
	m.learn()
}

// learn looks whether the answers are enough.
func (m *Machine) learn() {
	t := &m.term
	p := &t.pull
	self, others := protocol.NewSet(m.cfg.Self), t.present.Without(m.cfg.Self)
	all := p.answered.Contains(others)
	if !p.carried {
		by := p.known
		if m.remembers {
			by = by.Union(self)
		}
		if all || !p.settled.Empty() || meets(t.before, by) {
			p.carried = true
			m.queue = append(m.queue, protocol.Tick{}) // the council may settle now
		}
	}
	if m.remembers || !p.waited {
		return
	}
	voters, known := t.conf.Voters(), p.known
	mine := voters.Minus(known).Union(voters.Intersect(self))
	enough := 2*mine.Len() <= voters.Len() && (!p.settled.Empty() || meets(t.before.Union(self.Intersect(t.before)), known))
	if all || enough {
		m.remembers = true
		m.note()
		t.noted = m.asked
		for _, g := range m.groups {
			g.known, g.again = true, true
		}
	}
}

// remembered states the views that a member found out when it asked what it had forgotten, once they are on disk.
func (m *Machine) remembered() {
	if m.term.noted == 0 || m.durable < m.term.noted {
		return
	}
	m.term.noted = 0
	for _, g := range m.groups {
		if g.view.Number != (Number{}) {
			g.stateView("remembered")
		}
	}
}

// meets says whether some have a member in every majority of the voters.
func meets(voters, some protocol.Set) bool {
	rest := voters.Minus(some)
	return 2*rest.Len() <= voters.Len()
}

// remind asks again once no manager counts any more what the member acknowledged before it started, and says when that is.
func (m *Machine) remind(now protocol.Time) protocol.Time {
	p := &m.term.pull
	switch {
	case m.remembers || m.term.conf == nil || m.links == nil || p.waited:
		return protocol.Never
	case now >= p.late:
		m.question(now)
		return protocol.Never
	}
	return p.late
}

// hasAll says, for a council that changes, whether a reading has found every view that programs have received. See the package doc.
func (r *reading) hasAll(m *Machine) bool {
	voters := m.term.conf.Voters()
	switch {
	case m.old(&r.best) && !r.answered.Contains(m.survivors()):
		return false // nothing was agreed on in this council, and what was before, any survivor may know
	case r.answered.Contains(m.term.present):
		return true
	case !m.cfg.Quorums.In(r.answered) || !meets(voters, r.known):
		return false
	}
	return r.settled || m.term.number == 0 || meets(m.term.before, r.known)
}

// hold keeps a command for when the member has a seat, and says whether it did.
func (m *Machine) hold(ev protocol.Event) bool {
	if !m.changing() || m.term.conf != nil {
		return false
	}
	switch ev.(type) {
	case protocol.Campaign, protocol.Resign:
		m.held = append(slices.Clip(m.held), ev)
	}
	return true
}

// Proved returns until when proofs may be believed that the machine below has given.
func (m *Machine) Proved() protocol.Time {
	if m.below == nil {
		return 0
	}
	return m.below.Proved()
}

package nerio

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// Clone implements protocol.Explorable. The copy is for use after a Step, not within one.
func (m *Machine) Clone() protocol.Machine {
	c := &Machine{cfg: m.cfg, lcfg: m.lcfg, terms: m.terms, reach: m.reach, now: m.now, start: m.start, disk: m.disk, trusted: m.trusted, lapsed: m.lapsed,
		voters: m.voters, leaders: m.leaders, withheld: m.withheld, held: m.held, yields: m.yields, ill: m.ill, barred: m.barred, prefer: m.prefer, balance: m.balance,
		failed: m.failed, counted: m.counted, unfit: m.unfit, asks: m.asks, tells: m.tells, closing: m.closing, swept: m.swept}
	pcg := *m.pcg
	c.pcg = &pcg
	c.rng = rand.New(c.pcg)
	c.grantor = m.grantor.Clone(&c.lcfg, (*policy)(c), &c.terms, &c.reach)
	c.holder = m.holder.Clone(&c.lcfg, (*policy)(c), &c.terms, c.grantor)
	c.keep = c.keeps
	c.start.answers, c.start.peers = slices.Clone(m.start.answers), slices.Clone(m.start.peers)
	c.prefer.links = slices.Clone(m.prefer.links)
	c.balance.since = slices.Clone(m.balance.since)
	c.disk.pending = slices.Clone(m.disk.pending)
	c.asks.open, c.asks.transfers = slices.Clone(m.asks.open), slices.Clone(m.asks.transfers)
	for i := range c.asks.open {
		c.asks.open[i].said = slices.Clone(c.asks.open[i].said)
	}
	c.groups = make(map[protocol.Group]*groupState, len(m.groups))
	// order does not matter: the agenda has an order of its own.
	for g, s := range m.groups {
		x := *s
		c.groups[g] = &x
		if x.due != protocol.Never {
			c.agenda.Add(x.due, x.group, &x)
		}
	}
	mine := func(list []*groupState) []*groupState {
		out := make([]*groupState, len(list))
		for i, s := range list {
			out[i] = c.groups[s.group]
		}
		return out
	}
	c.balance.moving = slices.Clone(m.balance.moving)
	for i := range c.balance.moving {
		c.balance.moving[i].group = c.groups[m.balance.moving[i].group.group]
	}
	c.wishes = slices.Clone(m.wishes)
	c.wanted, c.tells.queue, c.tells.flying = mine(m.wanted), mine(m.tells.queue), mine(m.tells.flying)
	c.tells.yes = slices.Clone(m.tells.yes)
	c.values = m.values.clone(c.groups)
	for _, s := range m.queue {
		if x := c.groups[s.group]; x != nil && s.candidate {
			c.queue = append(c.queue, x) // what is no longer wanted is passed over anyway
		}
	}
	return c
}

// AppendState implements protocol.Explorable. Instants are encoded relative to the last Step.
func (m *Machine) AppendState(b []byte) []byte {
	s := lease.State{B: b, Now: m.now}
	// A free group matters until the last member's turn; an attempt that failed until it counts apart from the next.
	for range m.lcfg.Members + 2 {
		s.Past += m.lcfg.Rho.WaitAtLeast(m.cfg.RoundTrip)
	}
	s.Past = max(s.Past, m.lcfg.LongestPromise(m.cfg.Longest))
	m.appendStart(&s)
	m.grantor.AppendState(&s)
	m.holder.AppendState(&s)
	s.Uint(uint64(m.trusted))
	s.Uint(uint64(m.lapsed))
	s.Bool(m.ill)
	s.Bool(m.withheld)
	s.Future(m.yields)
	s.Future(m.held)
	s.Set(m.barred)
	m.appendPreference(&s)
	m.appendBalance(&s)
	s.Uint(uint64(len(m.queue)))
	for _, x := range m.queue {
		s.Text(string(x.group))
	}
	s.Int(int64(m.failed))
	s.Instant(m.counted)
	s.Bool(m.unfit)
	s.Bool(m.closing.on)
	s.Bool(m.closing.quiet)
	s.Future(m.closing.patience)
	s.Future(m.closing.due)
	s.Bool(m.closing.noted)
	s.Bool(m.closing.done)
	m.appendGroups(&s)
	m.appendAsks(&s)
	m.appendValues(&s)
	state, err := m.pcg.MarshalBinary()
	if err != nil {
		panic("nerio: the state of a PCG always marshals: " + err.Error())
	}
	return append(s.B, state...)
}

func (m *Machine) appendStart(s *lease.State) {
	st := &m.start
	s.Uint(uint64(st.phase))
	s.Uint(uint64(st.inc))
	s.Uint(st.nonce)
	s.Set(st.got)
	s.Future(st.reached.Add(m.lcfg.LongestPromise(m.disk.record.Longest)))
	s.Future(st.waited)
	s.Future(st.listened)
	s.Bool(st.asked)
	s.Future(st.due)
	s.Bool(st.begun)
	s.Bool(st.recorded)
	s.Int(int64(st.promised))
	s.Bool(st.clean)
	s.Int(int64(st.stands))
	s.Set(st.introduced)
	s.Future(st.settled)
	for i := range st.peers {
		p := &st.peers[i]
		s.Uint(uint64(p.life.Inc))
		s.B = append(append(s.B, p.life.Start[:]...), p.life.Tag[:]...)
		if p.life.Inc != 0 {
			s.Future(p.heard.Add(m.disk.record.Longest / 2))
			s.Future(p.heard.Add(m.lcfg.LongestPromise(m.disk.record.Longest)))
		}
		s.Future(p.accused)
	}
	if st.phase == lost {
		for r := range st.got.All() {
			k := &st.answers[r]
			s.Uint(uint64(k.State))
			s.Bool(k.Bootstrap)
			s.Uint(k.Highest)
			s.Int(int64(k.Longest))
			s.Int(int64(k.Lock))
			s.Uint(uint64(k.Heard.Inc))
			s.Bool(m.proves(k.Heard))
			s.Bool(m.lives(k))
			s.Bool(m.binds(k))
		}
	}
	s.B = m.disk.record.Append(s.B)
	s.Bool(m.disk.had)
	s.Uint(uint64(len(m.disk.pending)))
	for _, p := range m.disk.pending {
		s.Uint(uint64(p.inc))
		s.Uint(p.ceiling)
		s.Int(int64(p.promised))
	}
	s.Bool(m.disk.raised)
	s.Future(m.writeDue())
}

func (m *Machine) appendGroups(s *lease.State) {
	list := slices.SortedFunc(maps.Values(m.groups), func(a, b *groupState) int { return cmp.Compare(a.group, b.group) })
	s.Uint(uint64(len(list)))
	for _, x := range list {
		s.Text(string(x.group))
		s.Bool(x.candidate)
		s.Int(int64(x.length))
		s.Future(x.backoff)
		s.Int(int64(x.tries))
		s.Future(x.due)
		s.Bool(x.telling)
		s.Ident(x.view.Leader)
		s.Uint(x.view.Term)
		s.Uint(x.view.Tenure)
		s.Future(x.view.Until)
		s.Bool(x.view.Stop)
		s.Bool(x.published)
		s.Text(x.announces)
		s.Bool(x.value != nil)
		if x.value != nil {
			s.Uint(x.value.Token)
			s.Uint(x.value.Version)
			s.Text(x.value.Text)
			s.Set(x.missing)
		}
		if m.prefer.links != nil {
			s.Instant(x.since)
		}
		if m.balanced() {
			s.Bool(x.known)
			s.Bool(x.joined)
			s.Future(x.joinedUntil)
		}
	}
}

func (m *Machine) appendAsks(s *lease.State) {
	s.Uint(uint64(len(m.asks.open)))
	for i := range m.asks.open {
		a := &m.asks.open[i]
		s.Uint(a.id)
		s.Uint(a.nonce)
		s.Text(string(a.group))
		s.Bool(a.verify)
		s.Ident(a.to)
		s.Instant(a.start)
		s.Set(a.answered)
		s.Bool(a.all)
		for _, x := range a.said { // as many as have answered, if all are waited for
			s.Uint(uint64(x.By))
			s.Ident(x.Leader)
			s.Uint(x.Term)
		}
	}
	s.Uint(uint64(len(m.asks.transfers)))
	for _, t := range m.asks.transfers {
		s.Uint(t.id)
		s.Uint(uint64(t.to))
		s.Text(string(t.group))
		s.Future(t.until)
	}
	s.Uint(uint64(len(m.tells.queue)))
	s.Uint(uint64(len(m.tells.flying)))
	for i, x := range m.tells.flying {
		s.Text(string(x.group))
		s.Bool(m.tells.yes[i])
	}
	s.Uint(uint64(m.tells.to))
	s.Uint(m.tells.seq)
	s.Uint(m.tells.flight)
	s.Future(m.tells.due)
}

package rain

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
)

// Gamma is the paper's first protocol, for study: some members wake up as candidates, each tries to capture all others, and who has all leads.
// Nothing fails in it: a link that goes down and comes back is only asked again.
type Gamma struct {
	cfg   Config
	links *link.Links
	out   *protocol.Effects // of the present Step
	group protocol.Group
	// woken says that the member has become a candidate, or has heard of one: then it will not become one.
	woken, candidate bool
	accepted         protocol.Set // who has confirmed this member's candidacy
	asks             []uint64     // who is a candidate, by its attempt
	answered         []bool
	leader           protocol.Rank
}

// NewGamma returns one member.
func NewGamma(cfg Config) (*Gamma, error) {
	if err := cfg.check(false); err != nil {
		return nil, err
	}
	links, err := link.New(cfg.links(cfg.Inc))
	if err != nil {
		return nil, err
	}
	return &Gamma{cfg: cfg, links: links, leader: protocol.Nobody, asks: make([]uint64, cfg.Members), answered: make([]bool, cfg.Members)}, nil
}

// Step implements protocol.Machine.
func (m *Gamma) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	m.changed(m.links.Tick(now))
	switch ev := ev.(type) {
	case protocol.Campaign:
		m.onCampaign(ev.Group)
	case *protocol.Receive:
		changes, messages := m.links.Receive(now, ev)
		m.changed(changes)
		for _, msg := range messages {
			m.deliver(ev.From.Rank, msg)
		}
	}
	m.accept()
	m.links.Flush(now, out)
	out.Facts = m.links.Facts(out.Facts)
	out.Wake = m.links.Wake()
}

// changed sends members that can be reached again all that they may have missed.
func (m *Gamma) changed(changes []link.Change) {
	for _, c := range changes {
		r := c.Peer.Rank
		switch m.answered[r] = false; {
		case !c.Up:
		case m.leader == m.cfg.Self:
			m.links.Send(r, &Install{Group: m.group, View: m.view()})
		case m.candidate && !m.accepted.Has(r):
			m.ask(r)
		}
	}
}

// onCampaign wakes the member up.
func (m *Gamma) onCampaign(g protocol.Group) {
	if m.woken {
		return
	}
	m.woken, m.candidate, m.group = true, true, g
	m.state("candidate")
	m.accepted.Add(m.cfg.Self)
	for r := range protocol.Rank(m.cfg.Members) {
		m.ask(r)
	}
	m.lead()
}

func (m *Gamma) ask(r protocol.Rank) {
	if r != m.cfg.Self {
		m.links.Send(r, &Cand{Topic: Topic{Group: m.group, About: m.cfg.Self, Attempt: 1}})
	}
}

func (m *Gamma) deliver(from protocol.Rank, msg link.Message) {
	m.woken = true
	switch msg := msg.(type) {
	case *Cand:
		m.group, m.asks[from], m.answered[from] = msg.Group, msg.Attempt, false
	case *Accept:
		m.accepted.Add(from)
		m.lead()
	case *Install:
		if m.leader == protocol.Nobody && msg.View.Manager == from {
			m.group = msg.Group
			m.follow(from)
		}
	}
}

// accept answers candidates, but for those that are ranked below this one, if it is one itself.
func (m *Gamma) accept() {
	for r := range m.asks {
		s := protocol.Rank(r)
		if m.asks[s] == 0 || m.answered[s] || m.candidate && m.cfg.Self < s {
			continue
		}
		m.answered[s] = m.links.Send(s, &Accept{Topic: Topic{Group: m.group, About: s, Attempt: m.asks[s]}})
	}
}

// lead declares the member leader if it has captured all others.
func (m *Gamma) lead() {
	if m.leader != protocol.Nobody || m.accepted != protocol.Everyone(m.cfg.Members) {
		return
	}
	m.follow(m.cfg.Self)
	for r := range protocol.Rank(m.cfg.Members) {
		m.links.Send(r, &Install{Group: m.group, View: m.view()})
	}
}

func (m *Gamma) view() View {
	return View{Number: Number{Vid: 1}, Members: protocol.Everyone(m.cfg.Members), Manager: m.cfg.Self}
}

// follow makes known who leads.
func (m *Gamma) follow(leader protocol.Rank) {
	m.leader = leader
	is := "alive"
	if leader == m.cfg.Self {
		is = "manager"
	}
	m.state(is)
	m.out.Views = append(m.out.Views, protocol.View{
		Group: m.group, Domain: protocol.Consistent, Leader: protocol.Ident{Rank: leader}, Until: protocol.Never,
		Support: protocol.Everyone(m.cfg.Members), Cause: protocol.Cause{Code: protocol.AllAgree, Peer: leader},
		Agreed: &protocol.Agreed{Vid: 1, Stalled: protocol.Nobody},
	})
}

func (m *Gamma) state(is string) {
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvNode, Dom: protocol.Consistent, Group: m.group, Why: is})
}

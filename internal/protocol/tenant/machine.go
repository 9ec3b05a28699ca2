package tenant

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// A Config is what the machine needs to know.
type Config struct {
	// Length is that of leases, and Retry how long it waits after a campaign that failed.
	Length, Retry time.Duration
}

// A phase is how far a group has come here.
type phase uint8

const (
	idle    phase = iota
	trying        // a campaign is under way
	leading       // a program here leads, or may
)

// A group is what the machine knows of one.
type group struct {
	name  protocol.Group
	phase phase
	// want says that a program here campaigns, and value what it announces.
	want  bool
	value string
	// try numbers the attempt that is under way; again is when the next one may begin.
	try   uint64
	again protocol.Time

	// The rest counts while it leads.

	token uint64
	until protocol.Time
	// ending says that the end does not move any more; stop that the program was asked to stop, and why.
	ending, stop bool
	why          protocol.Cause
	announced    *protocol.Value

	// sight is what was last seen of other leaders.
	sight Sight
}

// A Machine is a member on an engine. It is an Incarnate one, with one incarnation: it starts to take part at once.
type Machine struct {
	cfg     Config
	groups  map[protocol.Group]*group
	order   []*group // in the order in which they were first heard of
	tries   uint64
	health  protocol.Health
	closing bool
	out     *protocol.Effects
}

// New returns a machine.
func New(c Config) *Machine {
	return &Machine{cfg: c, groups: make(map[protocol.Group]*group), health: protocol.Health{OK: true}}
}

func (m *Machine) Incarnation() protocol.Inc { return 1 }
func (m *Machine) Votes() protocol.Time      { return 0 }

// Closed says that nothing is led here any more, and nothing tried.
func (m *Machine) Closed() bool {
	return m.closing && !slices.ContainsFunc(m.order, func(g *group) bool { return g.phase != idle })
}

func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	for _, g := range m.order {
		m.expire(now, g)
	}
	switch ev := ev.(type) {
	case *protocol.Receive:
		m.receive(now, ev)
	case protocol.Campaign:
		m.onCampaign(now, ev)
	case protocol.Resign:
		m.onResign(now, m.group(ev.Group), ev.Why)
	case protocol.Stopped:
		m.onStopped(m.group(ev.Group))
	case protocol.Lapse:
		m.onLapse(m.group(ev.Group), ev)
	case protocol.Announce:
		m.onAnnounce(m.group(ev.Group), ev)
	case protocol.Health:
		m.onHealth(now, ev)
	case protocol.Restored: // what was led before the snapshot may be led elsewhere by now
		for _, g := range m.order {
			if g.phase == leading {
				m.lost(g, protocol.Cause{Code: protocol.Restarted, Peer: Self})
			}
		}
	case protocol.Close:
		m.closing = true
		for _, g := range m.order {
			m.stopAll(g, protocol.Closed)
		}
	case protocol.Transfer:
		m.answer(protocol.Answer{ID: ev.ID, Group: ev.Group, Why: protocol.NoCandidate})
	case protocol.Verify:
		m.onVerify(m.group(ev.Group), ev)
	case protocol.Find:
		m.answer(protocol.Answer{ID: ev.ID, Group: ev.Group})
	}
	out.Wake = protocol.Never
	for _, g := range m.order {
		m.attempt(now, g)
		switch {
		case g.phase == leading:
			out.Wake = min(out.Wake, g.until)
		case g.phase == idle && m.eager(g):
			out.Wake = min(out.Wake, g.again)
		}
	}
}

func (m *Machine) group(name protocol.Group) *group {
	g := m.groups[name]
	if g == nil {
		g = &group{name: name, sight: Sight{Group: name, Leader: protocol.Nobody}}
		m.groups[name] = g
		m.order = append(m.order, g)
	}
	return g
}

func (m *Machine) answer(a protocol.Answer) {
	if a.ID != 0 {
		m.out.Answers = append(m.out.Answers, a)
	}
}

func (m *Machine) ask(g *group, a Action, value string) {
	m.out.Send = append(m.out.Send, protocol.Envelope{To: Engine, Message: &Request{Action: a, Group: g.name, Try: g.try, Value: value}})
}

// eager says whether a campaign should be under way.
func (m *Machine) eager(g *group) bool { return g.want && m.health.Fit() && !m.closing }

// attempt begins a campaign if one should be under way.
func (m *Machine) attempt(now protocol.Time, g *group) {
	if g.phase != idle || !m.eager(g) || now < g.again {
		return
	}
	m.tries++
	g.phase, g.try = trying, m.tries
	m.ask(g, Try, g.value)
}

func (m *Machine) onCampaign(now protocol.Time, ev protocol.Campaign) {
	g := m.group(ev.Group)
	if ev.Length != 0 && ev.Length != m.cfg.Length {
		m.answer(protocol.Answer{ID: ev.ID, Group: ev.Group, Why: protocol.LeaseTooShort})
		return
	}
	m.answer(protocol.Answer{ID: ev.ID, Group: ev.Group, OK: true})
	if g.phase == trying && g.value != ev.Value {
		m.cancel(g)
	}
	g.want, g.value = true, ev.Value
	g.again = min(g.again, now)
}

// cancel ends a campaign.
func (m *Machine) cancel(g *group) {
	m.ask(g, Cancel, "")
	g.phase = idle
}

// stopAll ends a campaign, or asks the program that leads to stop.
func (m *Machine) stopAll(g *group, code protocol.CauseCode) {
	switch g.phase {
	case trying:
		m.cancel(g)
	case leading:
		m.askToStop(g, protocol.Cause{Code: code, Peer: Self})
	}
}

func (m *Machine) onResign(_ protocol.Time, g *group, code protocol.CauseCode) {
	if code == protocol.Unexplained {
		code = protocol.Resigned
	}
	g.want = false
	m.stopAll(g, code)
}

// askToStop asks the program to stop. The lease is renewed meanwhile.
func (m *Machine) askToStop(g *group, why protocol.Cause) {
	if g.stop {
		return
	}
	g.stop, g.why = true, why
	m.publish(g, why)
}

// onStopped releases a leadership whose program has stopped.
func (m *Machine) onStopped(g *group) {
	if g.phase != leading {
		return
	}
	why := g.why
	if !g.stop {
		why = protocol.Cause{Code: protocol.Resigned, Peer: Self}
	}
	m.over(g, why)
}

// over publishes that nobody leads, and then gives back what is left.
func (m *Machine) over(g *group, why protocol.Cause) {
	g.phase = idle
	m.publish(g, why)
	m.ask(g, Release, "")
}

// expire ends a leadership whose end has passed.
func (m *Machine) expire(now protocol.Time, g *group) {
	if g.phase == leading && now >= g.until {
		m.lost(g, protocol.Cause{Code: protocol.LeaseExpired, Peer: Self})
	}
}

// lost ends a leadership that is over, whatever its program does. It is not given back: the program may still act.
func (m *Machine) lost(g *group, why protocol.Cause) {
	if g.stop {
		why = g.why
	}
	if !g.ending {
		m.ask(g, LetRunOut, "")
	}
	g.phase = idle
	m.publish(g, why)
}

func (m *Machine) onLapse(g *group, ev protocol.Lapse) {
	if g.phase != leading || g.try != ev.Tenure || g.ending {
		return
	}
	g.ending = true
	m.ask(g, LetRunOut, "")
	m.askToStop(g, protocol.Cause{Code: ev.Why, Peer: Self})
}

func (m *Machine) onAnnounce(g *group, ev protocol.Announce) {
	if g.phase != leading || g.try != ev.Tenure {
		return
	}
	version := uint64(1)
	if g.announced != nil {
		version = g.announced.Version + 1
	}
	g.announced = &protocol.Value{Token: g.token, Version: version, Text: ev.Value}
	m.ask(g, Announce, ev.Value)
	m.publish(g, protocol.Cause{Code: protocol.Announced, Peer: Self})
}

// onVerify proves the leadership of this member only, until its lease ends as it stands.
func (m *Machine) onVerify(g *group, ev protocol.Verify) {
	a := protocol.Answer{ID: ev.ID, Group: ev.Group, Leader: protocol.NoIdent}
	switch {
	case g.phase == leading && !g.stop:
		a.OK, a.Leader, a.Term, a.Until, a.Value = true, me, g.token, g.until, g.announced
	case g.sight.Leader != protocol.Nobody:
		a.Leader, a.Term = protocol.Ident{Rank: g.sight.Leader}, g.sight.Token
	}
	m.answer(a)
}

func (m *Machine) onHealth(now protocol.Time, h protocol.Health) {
	m.health = h
	for _, g := range m.order {
		if h.Fit() {
			g.again = min(g.again, now)
			continue
		}
		m.stopAll(g, h.Cause())
	}
}

// receive takes what the engine reports.
func (m *Machine) receive(now protocol.Time, r *protocol.Receive) {
	switch msg := r.Message.(type) {
	case *Report:
		if g := m.group(msg.Group); msg.Try == g.try {
			m.onReport(now, g, msg)
		}
	case *Sight:
		m.onSight(m.group(msg.Group), msg)
	}
}

func (m *Machine) onReport(now protocol.Time, g *group, r *Report) {
	switch {
	case r.Kind == Won && g.phase == trying && now < r.Until:
		g.phase, g.token, g.until = leading, r.Token, r.Until
		g.stop, g.ending, g.why, g.announced = false, false, protocol.Cause{}, nil
		if g.value != "" {
			g.announced = &protocol.Value{Token: g.token, Version: 1, Text: g.value}
		}
		m.out.Horizons = append(m.out.Horizons, protocol.Horizon{ID: protocol.HorizonID(g.try), Until: g.until})
		m.publish(g, protocol.Cause{Code: protocol.Elected, Peer: Self})
	case r.Kind == Won: // nothing has acted under it
		m.ask(g, Release, "")
		if g.phase == trying {
			g.phase = idle
		}
	case r.Kind == Moved && g.phase == leading && !g.ending && r.Until > g.until:
		g.until = r.Until
		m.out.Horizons = append(m.out.Horizons, protocol.Horizon{ID: protocol.HorizonID(g.try), Until: g.until})
	case r.Kind == Lost && g.phase == leading:
		g.ending = true
		m.lost(g, protocol.Cause{Code: protocol.Doubted, Peer: protocol.Nobody})
	case r.Kind == Failed && g.phase == trying:
		g.phase, g.again = idle, now.Add(m.cfg.Retry)
	}
}

// onSight takes what the engine knows of other leaders.
func (m *Machine) onSight(g *group, s *Sight) {
	before := g.sight
	g.sight = *s
	if s.Leader == Self { // what this member leads it learns from the report
		g.sight = Sight{Group: s.Group, Leader: protocol.Nobody}
	}
	s = &g.sight
	if g.phase == leading || *s == before {
		return
	}
	why := protocol.Cause{Code: protocol.Elected, Peer: s.Leader}
	switch {
	case s.Leader == protocol.Nobody && before.Leader == protocol.Nobody:
		return
	case s.Leader == protocol.Nobody:
		why = protocol.Cause{Code: protocol.LeaseExpired, Peer: before.Leader}
		if s.Free {
			why.Code = protocol.Resigned
		}
	case s.Leader == before.Leader && s.Token == before.Token:
		why.Code = protocol.Announced
	}
	m.publish(g, why)
}

// me is this member as a leader.
var me = protocol.Ident{Rank: Self, Inc: 1}

// publish shows the group as it is.
func (m *Machine) publish(g *group, why protocol.Cause) {
	v := protocol.View{Group: g.name, Domain: protocol.Quorum, Leader: protocol.NoIdent, Until: protocol.Never, Cause: why}
	switch {
	case g.phase == leading:
		v.Leader, v.Term, v.Tenure, v.Horizon, v.Length, v.Stop = me, g.token, g.try, protocol.HorizonID(g.try), m.cfg.Length, g.stop
		v.Value = g.announced
		// Stamps of different tokens are ordered by the token alone.
		v.Quorum = stamp.Quorum{{Voter: uint16(Self), Inc: g.token}}
		if g.ending {
			v.Until = g.until
		}
	case g.sight.Leader != protocol.Nobody:
		v.Leader, v.Term, v.Length = protocol.Ident{Rank: g.sight.Leader, Inc: 1}, g.sight.Token, g.sight.Length
		if g.sight.Value != "" {
			v.Value = &protocol.Value{Token: g.sight.Token, Version: 1, Text: g.sight.Value}
		}
	}
	m.out.Views = append(m.out.Views, v)
}

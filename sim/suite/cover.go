package suite

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// A Cover watches one run and notes which rows it covered.
type Cover struct {
	protocol *Protocol
	truth    check.Truth
	rows     map[string]bool
	own      sim.Observer
	members  []covered
}

// covered is what a Cover knows of one member.
type covered struct {
	views []memberView
	fell  *leaderCrash // how it led when it crashed, until it is back
}

// A memberView is the member that another one sees leading a group.
type memberView struct {
	dom    protocol.Domain
	group  protocol.Group
	leader protocol.Rank
	last   protocol.Rank // the last leader that was somebody
	until  protocol.Time // the end of the lease if the member leads with one
}

// A leaderCrash is the crash of a leader.
type leaderCrash struct {
	at    sim.Real
	until protocol.Time // of its longest lease; 0 if it had none
}

// NewCover returns the observer that counts what a run of p covers.
func NewCover(p *Protocol, t check.Truth) *Cover {
	c := &Cover{protocol: p, truth: t, rows: make(map[string]bool), members: make([]covered, t.Members())}
	if p.Watch != nil {
		c.own = p.Watch(t, c.Hit)
	}
	return c
}

// Hit notes that the run covered a row.
func (c *Cover) Hit(row string) { c.rows[row] = true }

// Covered says whether the run covered a row.
func (c *Cover) Covered(row string) bool { return c.rows[row] }

// Notice counts what befell a message. It is a sim.Config.OnNotice.
func (c *Cover) Notice(n sim.Notice, _ protocol.Ident, _ protocol.Rank, m protocol.Message) {
	if m == nil || !c.protocol.matters(m.Name()) {
		return
	}
	switch n {
	case sim.NoticeLost:
		c.Hit(MessageLost)
	case sim.NoticeLate:
		c.Hit(MessageLate)
	case sim.NoticeDuplicate:
		c.Hit(MessageTwice)
	}
}

// Clocks counts the clocks that a run begins with.
func (c *Cover) Clocks(specs []sim.ClockSpec) {
	for _, s := range specs {
		c.rate(s.Rate)
	}
}

func (c *Cover) rate(ppb int64) {
	switch ppb {
	case int64(c.protocol.Rho):
		c.Hit(ClockFast)
	case -int64(c.protocol.Rho):
		c.Hit(ClockSlow)
	}
}

// Observe follows who leads, and counts what happens to it.
func (c *Cover) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvView:
		c.onView(r)
	case protocol.EvLease:
		if s := c.members[r.Node].view(r.Dom, r.Group); s != nil {
			s.until = max(s.until, r.Until)
		}
	case sim.EvCrash, sim.EvClose:
		c.onCrash(r)
	case sim.EvRestart:
		c.onRestart(r)
	case sim.EvFault:
		c.onFault(r.Detail.(sim.Fault))
	}
	if c.own != nil {
		return c.own.Observe(r)
	}
	return nil
}

func (m *covered) view(d protocol.Domain, g protocol.Group) *memberView {
	for i := range m.views {
		if s := &m.views[i]; s.dom == d && s.group == g {
			return s
		}
	}
	return nil
}

// onView notes the member that another one sees leading now.
func (c *Cover) onView(r *sim.Record) {
	m := &c.members[r.Node]
	s := m.view(r.Dom, r.Group)
	if s == nil {
		m.views = append(m.views, memberView{dom: r.Dom, group: r.Group, leader: protocol.Nobody, last: protocol.Nobody})
		s = &m.views[len(m.views)-1]
	}
	if s.leader != r.Peer.Rank {
		s.leader, s.until = r.Peer.Rank, 0
	}
	if s.leader == protocol.Nobody {
		return
	}
	if s.last != protocol.Nobody && s.last != s.leader {
		c.Hit(LeaderChanged)
	}
	s.last = s.leader
	if s.leader == r.Node && r.Dom == protocol.Elector {
		for other := range c.members {
			if o := c.members[other].view(r.Dom, r.Group); o != nil && other != int(r.Node) && o.leader == protocol.Rank(other) {
				c.Hit(TwoCandidates)
			}
		}
	}
}

// leads says whether a member is a leader.
func (c *Cover) leads(r protocol.Rank) bool {
	if int(r) >= len(c.members) {
		return false
	}
	for _, s := range c.members[r].views {
		if s.leader == r && (s.dom != protocol.Elector || c.named(r)) {
			return true
		}
	}
	return false
}

// named says whether another member sees r leading.
func (c *Cover) named(r protocol.Rank) bool {
	for other := range c.members {
		if other == int(r) {
			continue
		}
		for _, s := range c.members[other].views {
			if s.leader == r {
				return true
			}
		}
	}
	return false
}

func (c *Cover) onCrash(r *sim.Record) {
	m := &c.members[r.Node]
	m.fell = nil
	if c.leads(r.Node) && r.Ev == sim.EvCrash {
		c.Hit(LeaderCrashed)
		m.fell = &leaderCrash{at: r.T}
		for _, s := range m.views {
			if s.leader == r.Node {
				m.fell.until = max(m.fell.until, s.until)
			}
		}
	}
	m.views = m.views[:0]
}

// onRestart notices a leader that is back before its lease would have ended or, where there is no lease, before everybody
// has noticed.
func (c *Cover) onRestart(r *sim.Record) {
	f := c.members[r.Node].fell
	c.members[r.Node].fell = nil
	if f == nil {
		return
	}
	within := c.named(r.Node)
	if f.until != 0 {
		within = r.T < c.truth.Clock(r.Node).Reach(f.at, f.until)
	}
	if within {
		c.Hit(LeaderRestarted)
	}
}

func (c *Cover) onFault(f sim.Fault) {
	switch f.Kind {
	case sim.Pause, sim.Suspend, sim.Halt:
		if c.leads(f.A) {
			c.Hit(LeaderSuspended)
		}
	case sim.Cut:
		if (c.leads(f.A) || c.leads(f.B)) && !c.bothWays(f.A, f.B) {
			c.Hit(LeaderCut)
		}
	case sim.Rate:
		c.rate(f.Amount)
	}
}

// bothWays says whether the way back is cut as well.
func (c *Cover) bothWays(a, b protocol.Rank) bool {
	n := protocol.Rank(len(c.members))
	return a < n && b < n && c.truth.Cut(b, a)
}

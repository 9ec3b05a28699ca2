package core

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/protocol"
)

// A leadership is what a program leads by: a lease of a quorum, a turn under the leadership of its host, or the membership of its host in a
// consistent group.
type leadership interface {
	// Token is zero in groups that hosts lead, and on an engine that offers no tokens.
	Token() uint64
	Valid() bool
	Remaining() time.Duration
	Done() <-chan struct{}
	Cause() regent.Cause
	Resign(ctx context.Context) error
}

// awaitLeadership returns what the program leads by: a lease, a turn, or a membership.
func (c *Candidate) awaitLeadership() (leadership, error) {
	m, err := c.agent.AwaitMember(c.campaigning)
	if err != nil {
		return nil, err
	}
	if s := c.agent.seats[c.Group]; s != nil {
		return asLeadership(s.campaign(c.campaigning, c.guard()+c.Margin))
	}
	if c.Mode == regent.Consistent {
		return asLeadership(c.takePart(m))
	}
	g, err := m.Group(c.Group)
	if err != nil {
		return nil, err
	}
	return asLeadership(g.Announcing(c.Value).WithLease(c.Lease).Campaign(c.hold.Into(c.campaigning)))
}

// LeaseLength returns the length of the leases that the program gets: in a local group that of its host.
func (c *Candidate) LeaseLength() time.Duration {
	if c.Mode == regent.Local {
		return c.agent.InForce().LocalLease()
	}
	return cmp.Or(c.Lease, c.agent.InForce().Lease)
}

// longestLease bounds the leases that the program gets: those of an agent whose programs lead many groups are longer.
func (c *Candidate) longestLease() time.Duration {
	t := c.agent.InForce()
	return min(t.LongestLease, c.LeaseLength()+time.Duration(c.agent.Config().Limits.Groups)*t.PerGroup)
}

// fixLease settles the length of the leases for the whole candidacy: a reload of the configuration changes later ones only. A runner that reads the page
// may be silent for two leases, and one that holds addresses for one.
func (c *Candidate) fixLease() {
	if c.Lease == 0 && c.agent.ModeOf(c.Group) == regent.Quorum {
		c.Lease = c.agent.leaseOf(c.Group)
	}
	switch {
	case c.Tree == nil || c.Heartbeat == 0:
	case len(c.addresses()) > 0: // nothing is lost with a holder of addresses, but time until another host has them
		c.Heartbeat = c.LeaseLength()
	default:
		c.Heartbeat = max(c.Heartbeat, 2*c.LeaseLength())
	}
}

// checkGuard returns why a runner's guard time leaves no room to renew leases of a quorum.
func (c *Candidate) checkGuard() error {
	if c.Tree == nil || cmp.Or(c.Mode, regent.Quorum) != regent.Quorum {
		return nil
	}
	t := c.agent.InForce()
	if err := t.CheckLease(c.LeaseLength()); err != nil { // whatever the guard time is
		return api.Errorf(http.StatusConflict, "group %.40q: %w", c.Group, err)
	}
	t.Guard = c.Tree.Guard + c.Margin
	if err := t.CheckLease(c.LeaseLength()); err != nil {
		return api.Errorf(http.StatusConflict, "group %.40q: guard %v does not fit leases of %v (give a shorter --guard, or a longer --lease): %w", c.Group, c.Tree.Guard, c.LeaseLength(), err)
	}
	return nil
}

// asLeadership keeps a nil pointer out of the interface.
func asLeadership[L leadership](l L, err error) (leadership, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// guard is how long before its end the program is asked to stop, or killed.
func (c *Candidate) guard() time.Duration {
	if c.Tree != nil {
		return c.Tree.Guard
	}
	return c.agent.Timing.Guard
}

// longestGuard returns the longest guard time that a program can have in a group that hosts lead.
func (a *Agent) longestGuard(c *Candidate, mode regent.Mode) time.Duration {
	t := a.InForce()
	longest := t.LongestLocalGuard()
	if mode == regent.Eventual {
		longest = t.Lease - t.Renew
	}
	return max(0, longest-c.Margin)
}

// numberOf returns what tells a leadership of the candidate from others of the group at this agent: the token, the number that stands for one, or that of the turn.
func (c *Candidate) numberOf(l leadership) uint64 {
	if t, ok := l.(*turn); ok {
		return t.number
	}
	return c.noted(l)
}

// noted returns the number of a leadership in the history of its group, which is the token where there is one; zero: others learn nothing of it.
func (c *Candidate) noted(l leadership) uint64 {
	if _, ok := l.(*regent.Lease); ok {
		return c.hold.Number
	}
	return l.Token()
}

// Number returns that of the leadership in the history of the group; zero before there is one, and in groups that hosts lead.
func (c *Candidate) Number() uint64 {
	if l := c.held(); l != nil {
		return c.noted(l)
	}
	return 0
}

// LeaseEnd returns the end of the program's leadership as it stands; zero while the program waits.
func (c *Candidate) LeaseEnd() protocol.Time {
	now := c.agent.Now() // first: what passes until the next line makes the end earlier
	switch l := c.held().(type) {
	case nil:
		return 0
	case *turn, *membership:
		return now.Add(l.Remaining())
	}
	return c.hold.Until()
}

// CurrentLease returns the lease, nil while the program waits, and in groups of other modes than quorum.
func (c *Candidate) CurrentLease() *regent.Lease {
	l, _ := c.held().(*regent.Lease)
	return l
}

// held returns what the program leads by, nil while it waits.
func (c *Candidate) held() leadership {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease
}

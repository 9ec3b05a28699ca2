package core

import (
	"context"
	"sync"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
)

// consistentGroups returns the consistent groups that a configuration lists.
func consistentGroups(f *config.File) map[string]bool {
	all := make(map[string]bool)
	for _, g := range f.Groups {
		if g.Mode == regent.Consistent {
			all[g.Name] = true
		}
	}
	return all
}

// A membership is one membership of this host in a consistent group, held for one program. The host leaves the group when the program has stopped.
type membership struct {
	*regent.Membership
	leave context.CancelFunc
	// stopped is closed when the program has stopped, and left when the host has left the group.
	stopped, left chan struct{}
	once          sync.Once
}

// takePart waits until this host is in a consistent group for the program.
func (c *Candidate) takePart(m *regent.Member) (*membership, error) {
	g, err := m.ConsistentGroup(c.Group)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(c.campaigning)
	l := &membership{leave: cancel, stopped: make(chan struct{}), left: make(chan struct{})}
	in := make(chan struct{})
	var failure error // set before left is closed
	go func() {
		defer close(l.left)
		failure = g.TakePart(ctx, func(_ context.Context, taken *regent.Membership) error {
			l.Membership = taken
			close(in) // once: ctx has ended before the program has stopped
			<-l.stopped
			return nil
		})
	}()
	select {
	case <-in:
		return l, nil
	case <-l.left:
		cancel()
		if failure == nil {
			failure = context.Cause(ctx)
		}
		return nil, failure
	}
}

// end takes note that the program has stopped. It does not wait for the host to leave the group.
func (l *membership) end() {
	l.once.Do(func() {
		l.leave() // first: the host is not to be taken in again for this program
		close(l.stopped)
	})
}

// Resign takes note that the program has stopped, and waits until the host has left the group.
func (l *membership) Resign(ctx context.Context) error {
	l.end()
	select {
	case <-l.left:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// passAgreements has the program learn of every agreement while it is in the group.
func (c *Candidate) passAgreements(l *membership) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.Ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for v := range l.Views(ctx) {
		c.Notifier.Agreed(c, v)
	}
}

// Recovered takes the program's report that it has recovered what the agreement with that token and number asks for. The member decides whether it counts.
func (c *Candidate) Recovered(ctx context.Context, token, number uint64) error {
	l, ok := c.held().(*membership)
	if !ok || !c.LeadsNow() {
		return regent.ErrNotLeader
	}
	return l.Membership.Recovered(ctx, regent.View{Token: token, Agreement: &regent.Agreement{Number: number, Recover: true}})
}

// FirstAgreement returns the agreement that took this host in; nil in groups of other modes.
func (c *Candidate) FirstAgreement() *regent.View {
	l, ok := c.held().(*membership)
	if !ok {
		return nil
	}
	v := l.First()
	return &v
}

package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
)

// Dial connects to the agent that listens at the path.
func Dial(ctx context.Context, path string) (Agent, error) {
	c, err := session.Dial(ctx, path)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, path: path}, nil
}

// connection is a session with an agent.
type connection struct {
	*session.Conn
	path string
}

func (c *connection) Terms() Terms {
	h := c.Greeting()
	return Terms{Member: h.Member, Socket: c.path, Lease: h.Lease, Renew: h.Renew, RoundTrip: h.RoundTrip, Guard: h.Guard, Priority: h.Priority}
}

func (c *connection) Campaign(ctx context.Context, group string, t tree.Ref, grace, guard time.Duration) (Lease, error) {
	of := session.Tree(t.Claim())
	l, err := c.Conn.Campaign(ctx, session.Candidate{Group: group, Name: "regent run", Grace: grace, Guard: guard, Tree: &of})
	if errors.Is(err, session.ErrStopping) || errors.Is(err, session.ErrGone) {
		return nil, fmt.Errorf("%w: %w", errAgain, err)
	}
	if err != nil {
		return nil, err
	}
	return sessionLease{l}, nil
}

func (c *connection) Watch(ctx context.Context, group string, f func(leader, why string)) error {
	return c.Conn.Watch(ctx, group, func(raw json.RawMessage) bool {
		var v regent.View
		if json.Unmarshal(raw, &v) == nil {
			f(v.Leader, v.Cause.String())
		}
		return true
	})
}

// sessionLease is a leadership through an agent.
type sessionLease struct{ *session.Lease }

func (l sessionLease) Done() <-chan struct{} { return l.Told() }

func (l sessionLease) Cause() string {
	c := l.Lease.Cause()
	return regent.Cause{Why: c.Why, Member: c.Member, Bound: c.Bound}.String()
}

func (l sessionLease) Stopped(ctx context.Context) error { return l.Resign(ctx) }

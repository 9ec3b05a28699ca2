package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
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
	return Terms{Member: h.Member, Self: c.Self(), Socket: c.path, Lease: h.Lease, Guard: h.Guard, Priority: h.Priority, Ordinary: h.Ordinary}
}

func (c *connection) Campaign(o session.Candidate, take func(Notice)) (Upper, error) {
	k, err := c.Enter(o, func(e *session.Event) { c.pass(e, take) })
	if errors.Is(err, session.ErrGone) {
		return nil, fmt.Errorf("%w: %w", errAgain, err)
	}
	if err != nil {
		return nil, err
	}
	return &upper{conn: c.Conn, candidacy: k}, nil
}

// pass turns a line of the agent into a notice.
func (c *connection) pass(e *session.Event, take func(Notice)) {
	at, until := c.Instants(e)
	switch e.Event {
	case session.Waiting:
		if e.Lease > 0 {
			take(Notice{Lease: e.Lease})
		}
	case session.Leads:
		take(Notice{Event: tenure.Event{Kind: tenure.Elected, Token: e.Number(), At: at, Until: until}, NoToken: e.Token == 0})
	case session.Until:
		take(Notice{Event: tenure.Event{Kind: tenure.Extended, Until: until}})
	case session.Stop:
		take(Notice{Event: tenure.Event{Kind: tenure.Extended, Until: until}})
		take(Notice{Event: tenure.Event{Kind: tenure.Stop, Cause: c.Of(e.Cause)}})
	case session.Healed:
		take(Notice{Healed: true})
	case session.Gone:
		take(Notice{Event: tenure.Event{Kind: tenure.UpperGone}})
	case session.Over:
		n := Notice{Event: tenure.Event{Kind: tenure.Lost, Cause: c.Of(e.Cause)}}
		if e.Cause != nil && e.Cause.Why == why.Closed {
			n.Err = fmt.Errorf("%w: %w", errAgain, session.ErrStopping)
		}
		take(n)
	case session.Failed:
		n := Notice{Event: tenure.Event{Kind: tenure.Lost, Cause: c.Of(e.Cause)}, Err: errors.New(e.Error)}
		if e.Cause != nil && e.Cause.Why == why.Closed {
			n.Err = fmt.Errorf("%w: %w", errAgain, session.ErrStopping)
		}
		take(n)
	}
}

func (c *connection) Explain(cause protocol.Cause) string {
	return c.CauseOf(cause).String()
}

func (c *connection) Watch(ctx context.Context, group string, f func(leader, why string)) error {
	return c.Conn.Watch(ctx, group, func(v regent.View) bool {
		f(v.Leader, v.Cause.String())
		return true
	})
}

// upper is a candidacy at an agent.
type upper struct {
	conn      *session.Conn
	candidacy *session.Candidacy
}

func (u *upper) Started(first int) {
	go func() { _ = u.candidacy.Started(first) }()
}

func (u *upper) Stopped(cause protocol.Cause) {
	go func() { _ = u.candidacy.Stopped(u.conn.CauseOf(cause)) }()
}

func (u *upper) Freeze(cause protocol.Cause) {
	go func() { _ = u.candidacy.Freeze(u.conn.CauseOf(cause)) }()
}

func (u *upper) Duplicates(all map[string]string) {
	go func() { _ = u.candidacy.Duplicates(all) }()
}

func (u *upper) Shown() (protocol.Time, bool) { return u.candidacy.Shown() }

func (u *upper) Leave() { u.candidacy.Leave() }

func (u *upper) Unread() bool { return u.conn.Unread() }

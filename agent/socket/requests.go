package socket

import (
	"context"
	"errors"
	"net/http"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// awaitGivenUp answers a program that has stopped when the group was given up.
func (c *conn) awaitGivenUp(r *session.Request, k *core.Candidate, o *core.Order) {
	select {
	case <-o.Outcome:
	case <-k.Ended:
	}
	c.send(&session.Event{Event: session.Done, ID: r.ID})
}

// cause returns the cause that a request bears, as machines know it.
func (c *conn) cause(r *session.Request) protocol.Cause {
	if r.Cause == nil {
		return protocol.Cause{Peer: protocol.Nobody}
	}
	return c.agent.core.CauseFor(*r.Cause)
}

// transfer takes the program's word that it has stopped, in favour of another member.
func (c *conn) transfer(r *session.Request, k *core.Candidate) {
	l := k.CurrentLease()
	if l == nil {
		c.fail(r, regent.ErrNotLeader)
		return
	}
	if r.Ask {
		ctx, cancel := context.WithTimeout(context.Background(), core.OrderTimeout)
		defer cancel()
		if err := l.CanTransfer(ctx, r.To); err != nil {
			c.fail(r, err)
			return
		}
		c.send(&session.Event{Event: session.Done, ID: r.ID})
		return
	}
	o := core.NewOrder(regent.Cause{Why: why.Transferred, Member: r.To}, r.To)
	var err error
	k.HandOver(o)
	select {
	case err = <-o.Outcome:
	case <-k.Ended:
		select {
		case err = <-o.Outcome:
		default:
		}
	}
	var t *core.TransferError
	switch {
	case errors.As(err, &t) && t.Err == nil:
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	case t != nil:
		c.send(&session.Event{Event: session.Failed, ID: r.ID, Error: t.Error(), Begun: t.Begun})
	case err == nil:
		err = regent.ErrNotLeader
		fallthrough
	default:
		c.send(&session.Event{Event: session.Failed, ID: r.ID, Error: err.Error(), Begun: true})
	}
}

// announce changes the value of a leadership.
func (c *conn) announce(r *session.Request, k *core.Candidate) {
	if err := k.SetValue(r.Value); err != nil {
		c.fail(r, err)
		return
	}
	c.send(&session.Event{Event: session.Done, ID: r.ID})
}

// isRefusal says whether asking again for a proof cannot help.
func isRefusal(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Status == http.StatusConflict
}

// verify proves who leads a group.
func (c *conn) verify(r *session.Request) {
	p, err := c.agent.core.Verify(c.closed, r.Group)
	if err != nil {
		c.send(&session.Event{Event: session.Failed, ID: r.ID, Error: err.Error(), NoLeader: !isRefusal(err)})
		return
	}
	now := c.agent.core.Now() // first: what passes makes the end earlier
	end := now.Add(p.Remaining() - session.Skew)
	c.send(c.agent.withEnd(&session.Event{Event: session.Proof, ID: r.ID, Group: r.Group, Leader: p.Leader, Token: p.Token, Value: p.Value}, end))
}

package socket

import (
	"context"
	"errors"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// watch sends the program every change of a group.
func (c *conn) watch(r *session.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inUse(r.ID) || len(c.watches) >= MaxWatches {
		c.fail(r, errors.New("the id is in use, or there are too many watches"))
		return
	}
	ctx, cancel := context.WithCancel(c.closed)
	c.watches[r.ID] = cancel
	c.tasks.Go(func() {
		defer func() {
			cancel()
			c.mu.Lock()
			delete(c.watches, r.ID)
			c.mu.Unlock()
		}()
		c.forwardChanges(ctx, r)
	})
}

// forwardChanges passes changes on as fast as the program takes them.
func (c *conn) forwardChanges(ctx context.Context, r *session.Request) {
	w, present := c.agent.core.Known().Watch(r.Group, core.WatchDepth)
	defer c.agent.core.Known().Unwatch(w)
	put := func(v regent.View) bool {
		return c.out.awaitRoom(ctx, core.WatchDepth) && c.out.put(&session.Event{Event: session.Saw, ID: r.ID, View: &v})
	}
	if len(present) == 0 && !put(c.agent.view(r.Group)) {
		return
	}
	for _, ch := range present {
		if !put(ch.View) {
			return
		}
	}
	for {
		select {
		case ch := <-w.C:
			v := ch.View
			v.Missed += w.TakeLost()
			if !put(v) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// view returns what is known about a group.
func (a *Server) view(group string) regent.View {
	if c, _ := a.core.Known().Group(group); c != nil {
		return c.View
	}
	return regent.View{Group: group, Mode: a.core.ModeOf(group), Cause: regent.Cause{Why: why.Started}}
}

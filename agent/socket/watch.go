package socket

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// watch tells the program of every change of a group.
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
	w, present := c.agent.core.ChangeLog.Watch(r.Group, core.WatchDepth)
	defer c.agent.core.ChangeLog.Unwatch(w)
	put := func(view json.RawMessage) bool {
		return c.out.awaitRoom(ctx, core.WatchDepth) && c.out.put(&session.Event{Event: session.Saw, ID: r.ID, View: view})
	}
	if len(present) == 0 && !put(c.agent.viewJSON(r.Group)) {
		return
	}
	for _, ch := range present {
		if !put(viewJSON(ch.View)) {
			return
		}
	}
	for {
		select {
		case ch := <-w.C:
			v := ch.View
			v.Missed += w.TakeLost()
			if !put(viewJSON(v)) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// viewJSON returns what is known about a group.
func (a *Server) viewJSON(group string) json.RawMessage {
	if c, _ := a.core.ChangeLog.Group(group); c != nil {
		return viewJSON(c.View)
	}
	return viewJSON(regent.View{Group: group, Mode: a.core.ModeOf(group), Cause: regent.Cause{Why: why.Started}})
}

func viewJSON(v regent.View) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("agent: a view has no JSON: " + err.Error())
	}
	return b
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

// How long to wait before another try to reach an agent that has gone: at first, and at most.
const (
	watchSoon = 50 * time.Millisecond
	watchLate = time.Second
)

// follow shows what a stream says. If the agent goes, it goes on when there is one again.
func (w *watchView) follow(ctx context.Context, cl *client, path string) error {
	take := w.take
	if w.asJSON || w.since != "" {
		take = w.withPast(ctx, cl)
	}
	err := cl.events(ctx, path, take)
	for errors.Is(err, errHungUp) && ctx.Err() == nil {
		w.lose(cl.socket)
		err = w.again(ctx, cl, path)
	}
	return err
}

// again tries until there is an agent, and shows what it says until it goes as well.
func (w *watchView) again(ctx context.Context, cl *client, path string) error {
	for pause := watchSoon; ; pause = min(2*pause, watchLate) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := cl.events(ctx, path, w.take); !absent(err) {
			return err
		}
	}
}

// absent says that there is no agent, or one that does not take part yet.
func absent(err error) bool {
	var e *cli.Exit
	if errors.As(err, &e) {
		return e.Status == cli.NoAgent && !errors.Is(err, errHungUp)
	}
	var r *refusal
	return errors.As(err, &r) && r.status == http.StatusServiceUnavailable
}

// lose says that the agent has gone.
func (w *watchView) lose(socket string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for group := range w.seen {
		w.stale[group] = true
	}
	clear(w.past) // another agent counts changes anew
	w.councilShown = 0
	if w.lost {
		return
	}
	w.lost = true
	fmt.Fprintf(w.warn, "regent watch: the agent at %s has gone: trying again until it is back\n", socket)
	if w.groups != nil { // the table begins anew, below what was said
		clear(w.groups)
		clear(w.trackers)
		w.drawn = 0
	}
}

// found says that the agent is back, if it had gone.
func (w *watchView) found() {
	if w.lost {
		w.lost = false
		fmt.Fprintln(w.warn, "regent watch: the agent is back")
	}
}

// known says that what is said of a group is what was shown before the agent went, and remembers what is shown.
func (w *watchView) known(g *api.GroupInfo) bool {
	is := shown{g.Leader, g.Value, g.Token, g.Stopping, strings.Join(g.Support, " ")}
	same := w.stale[g.Group] && w.seen[g.Group] == is
	delete(w.stale, g.Group)
	w.seen[g.Group] = is
	return same
}

// shown is what of a group is compared.
type shown struct {
	leader   string
	value    string
	token    uint64
	stopping bool
	support  string
}

// withPast returns what takes events, after it has read what happened before. It reads the history when the stream has begun, so that no change is
// between the two. Changes that are in both have the same serial.
func (w *watchView) withPast(ctx context.Context, cl *client) func(event) (bool, error) {
	read := false
	return func(e event) (bool, error) {
		if !read {
			read = true
			h, err := readHistory(ctx, cl, w.one())
			var r *refusal
			if errors.As(err, &r) && r.status == http.StatusNotFound { // no program has campaigned for it yet
				h, err = &api.History{}, nil
			}
			if err != nil {
				return false, err
			}
			if err := w.takePast(h); err != nil || w.full {
				return false, err
			}
		}
		return w.take(e)
	}
}

// takePast takes note of what happened before, and shows what --since asks for.
func (w *watchView) takePast(h *api.History) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	type line struct {
		at    time.Time
		print func() error
	}
	var lines []line
	for i := range h.Changes {
		c := &h.Changes[i]
		w.past[c.Group] = c
		if t := w.tracker(c.Group).Add(&c.View, c.Ended); t != nil && w.lets(c.Group) {
			lines = append(lines, line{t.At, func() error { return w.write(c, t, t.String()+w.details(c)) }})
		}
	}
	for group, c := range w.past {
		if t := w.trackers[group].Open(); t != nil && w.lets(group) {
			lines = append(lines, line{t.At, func() error { return w.write(c, t, t.String()) }})
			w.missing[group] = time.NewTimer(0) // it is reported
		}
	}
	for i := range h.Council {
		c := &h.Council[i]
		lines = append(lines, line{c.At, func() error { _, err := w.council(c); return err }})
	}
	slices.SortStableFunc(lines, func(x, y line) int { return x.at.Compare(y.at) })
	for _, l := range lines {
		if w.since == "" || w.full || l.at.Before(w.from) {
			continue
		}
		if err := l.print(); err != nil {
			return err
		}
	}
	return nil
}

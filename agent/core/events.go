package core

import (
	"context"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

// A Sink takes events: a stream over HTTP, or a watcher in this process.
type Sink interface {
	Put(event string, data any) error
	Flush() error
}

// Watch calls f with what GET /v1/events sends, until ctx ends or f fails.
func (a *Agent) Watch(ctx context.Context, f func(event string, e api.StreamEvent) error) error {
	return a.WatchAll(ctx, sinkFunc(f))
}

type sinkFunc func(event string, e api.StreamEvent) error

func (f sinkFunc) Put(event string, data any) error { return f(event, data.(api.StreamEvent)) }

func (f sinkFunc) Flush() error { return nil }

func (a *Agent) WatchAll(ctx context.Context, s Sink) error {
	watch, present := a.ChangeLog.Watch("", streamDepth)
	defer a.ChangeLog.Unwatch(watch)
	for _, c := range present {
		if err := s.Put("group", a.Event(c)); err != nil {
			return err
		}
	}
	if err := s.Put("synced", api.StreamEvent{}); err != nil {
		return err
	}
	beat := func() error {
		if err := s.Put("pulse", a.statusEvent()); err != nil {
			return err
		}
		return s.Flush()
	}
	if err := beat(); err != nil {
		return err
	}
	return a.Follow(ctx, s, watch, statusInterval, beat)
}

// Follow passes changes on until the reader goes or the agent ends.
func (a *Agent) Follow(ctx context.Context, s Sink, watch *Watcher, every time.Duration, beat func() error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		var err error
		select {
		case c := <-watch.C:
			err = s.Put("group", a.Event(c))
			for more := true; more && err == nil; { // what has come meanwhile goes out together
				select {
				case c := <-watch.C:
					err = s.Put("group", a.Event(c))
				default:
					more = false
				}
			}
			if n := watch.TakeLost(); n > 0 && err == nil {
				err = s.Put("missed", api.StreamEvent{Missed: n})
			}
			if err == nil {
				err = s.Flush()
			}
		case c := <-watch.Council:
			if err = s.Put("council", api.StreamEvent{Council: c}); err == nil {
				err = s.Flush()
			}
		case <-ticker.C:
			err = beat()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// Event shows a change.
func (a *Agent) Event(c *api.Change) api.StreamEvent {
	info := a.Info(c)
	return api.StreamEvent{GroupInfo: &info}
}

// statusEvent shows how things are.
func (a *Agent) statusEvent() api.StreamEvent {
	status := a.Status()
	e := api.StreamEvent{Status: &status, Members: a.Members()}
	for _, k := range a.Candidates() {
		if k.held() != nil {
			e.Leases = append(e.Leases, k.info())
		}
	}
	return e
}

// Unheard is what is known about a group that nobody has heard of.
func (a *Agent) Unheard(group string) *api.Change {
	return &api.Change{View: regent.View{At: time.Now(), Mode: a.ModeOf(group), Group: group, Cause: regent.Cause{Why: why.Started}}}
}

const (
	// statusInterval is how often a stream of everything says how things are, and streamDepth how many changes may wait for its reader.
	statusInterval = time.Second
	streamDepth    = 4096
)

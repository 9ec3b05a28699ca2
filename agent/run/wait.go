package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/regentproject/regent/why"
)

// leaderLogDelay is how long nobody leads, or another program of this host does, before that is worth a line: while this host is
// being elected it looks like that too.
const leaderLogDelay = time.Second

// leaderLog says who leads while this host would.
type leaderLog struct {
	group, self string
	// hosts says that hosts lead the group, and programs have their turns.
	hosts bool
	log   func(format string, args ...any)

	mu sync.Mutex
	// now is how things are, and said how they were said to be.
	now, said string
	timer     *time.Timer
	ended     bool
}

// logLeaders says who leads, and when that changes, until end is called. Nobody has to wait for it.
func (r *runner) logLeaders(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	w := &leaderLog{group: r.Group, self: r.terms.Member, hosts: r.Mode != "", log: r.Log}
	go func(a Agent) { _ = a.Watch(ctx, w.group, w.update) }(r.agent)
	return func() {
		cancel()
		w.end()
	}
}

// unheard is the cause of an agent that has heard of no leader since it was started, or since the group was.
var unheard = why.Cause{Why: why.Started}.String()

// update takes what the agent believes.
func (w *leaderLog) update(leader, cause string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	switch {
	case leader == "" && cause == unheard:
		w.now = "no leader is known yet ('regent status' shows whether the agent takes part)"
	case leader == "":
		w.now = fmt.Sprintf("no member leads it now (%s)", cause)
	case leader == w.self:
		w.now = "another program of this host leads it now"
		if w.hosts {
			w.now = "this host leads it now, and its programs take turns"
		}
	default:
		w.now = leader + " leads it now"
		w.logOnce(w.now)
		return
	}
	text := w.now
	w.timer = time.AfterFunc(leaderLogDelay, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.logOnce(text)
	})
}

// logOnce says how things are, if they still are so and it was not said last. The mutex is held.
func (w *leaderLog) logOnce(text string) {
	if w.ended || text != w.now || text == w.said {
		return
	}
	w.said = text
	w.log("waits to lead %s: %s", w.group, text)
}

// end ends it: not a line more.
func (w *leaderLog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

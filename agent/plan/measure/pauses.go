package measure

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/plan"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/lateness"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// A watch is a thread that does nothing but wake up and see how late it is.
type watch struct {
	thread   plan.Thread
	load     plan.Load
	step     time.Duration
	late     lateness.Histogram
	watched  atomic.Int64 // nanoseconds
	realtime bool
}

func newWatch(thread plan.Thread, load plan.Load, step time.Duration) *watch {
	return &watch{thread: thread, load: load, step: step}
}

func (w *watch) elapsed() time.Duration { return time.Duration(w.watched.Load()) }

// run watches until the context ends, on a thread that waits as the loop of a member does.
func (w *watch) run(ctx context.Context, realtime bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		waiter, err := runtime.NewPollWaiter()
		if err != nil {
			waiter = runtime.NewChanWaiter()
		}
		defer waiter.Close()
		if waiter.Precise() {
			got, _ := thread.Claim(realtime) // never unlocked: the thread ends with this goroutine
			w.realtime = got == thread.Realtime
		}
		w.loop(ctx, func(d time.Duration) { waiter.Wait(d, 0) }, time.Now)
	}()
	<-done
}

// loop waits and looks at the clock, again and again. A wait that ends early is no pause.
func (w *watch) loop(ctx context.Context, wait func(time.Duration), now func() time.Time) {
	start := now()
	for ctx.Err() == nil {
		due := now().Add(w.step)
		wait(w.step)
		at := now()
		w.late.Add(protocol.Time(at.Sub(start)), max(0, at.Sub(due)))
		w.watched.Store(int64(at.Sub(start)))
	}
}

func (w *watch) pauses() plan.Pauses {
	out := plan.Pauses{Thread: w.thread, Load: w.load, Realtime: w.realtime, For: w.elapsed(), Step: w.step, Longest: w.late.Longest()}
	w.late.Buckets(func(longest time.Duration, n uint64) {
		out.Buckets = append(out.Buckets, plan.Bucket{Upper: longest, Count: n})
	})
	return out
}

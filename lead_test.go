package regent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/why"
)

// A program that looks at its context after a long pause finds it ended at once, though nothing else of the process has run
// yet: the clock says so.
func TestContextAsksTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		l, err := must(m.Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := leadingContext(t.Context(), l.handle)
		defer cancel(nil)
		if ctx.Err() != nil {
			t.Fatal("it has ended already")
		}
		// The loop stands still, as all of a process does that is stopped.
		release := make(chan struct{})
		_ = m.loop.Do(func(protocol.Time) { <-release })
		time.Sleep(LAN.Lease - LAN.Guard + time.Millisecond)
		var done Cause
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.As(context.Cause(ctx), &done) || done.Why != why.LeaseExpired {
			t.Errorf("the context says %v, %v", ctx.Err(), context.Cause(ctx))
		}
		close(release)
		_ = l.Resign(t.Context())
	})
}

// A process was stopped past its lease. The leading function is the first to run again: it sees that its lease is over,
// and returns. That is a loss like any other, and Lead campaigns again.
func TestFunctionThatFindsOutFirstHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		turns := 0
		err := must(m.Group("g")).Lead(t.Context(), func(ctx context.Context, l *Lease) error {
			turns++
			if turns == 2 {
				return nil
			}
			release := make(chan struct{})
			_ = m.loop.Do(func(protocol.Time) { <-release }) // the loop stands still
			time.Sleep(2 * LAN.Lease)
			defer close(release)
			_, err := l.Edict(ctx)
			if !errors.Is(err, ErrNotLeader) {
				t.Errorf("an edict past the lease: %v", err)
			}
			return err
		})
		if err != nil || turns != 2 {
			t.Errorf("got %v after %d turns", err, turns)
		}
	})
}

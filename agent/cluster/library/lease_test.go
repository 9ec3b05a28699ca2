package library_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
)

// Who leaves in a hurry does not wait for who leaves in good order.
func TestLeaveInAHurryCutsCloseShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, three...).members["a"]
		l, err := must(m.Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- m.Leave(context.Background()) }()
		<-l.Done()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := m.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		if err := <-closed; err == nil || !strings.Contains(err.Error(), "have not stopped") {
			t.Errorf("who closed the member is told that it left in good order: %v", err)
		}
		if err := m.Leave(context.Background()); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
}

// The last changes of a member are those of its leaving, and come when whoever wants to know is busy with the ones before.
func TestLastChangesAreSeenByWhoIsSlow(t *testing.T) {
	for range 4 { // whether a fault is seen is a matter of luck
		synctest.Test(t, func(t *testing.T) {
			h := newInMemory(t, "a")
			c := h.config("a")
			var told, seen regent.View
			c.OnChange = func(v regent.View) { told = v; time.Sleep(10 * time.Second) }
			m, err := h.Join(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			l, err := must(m.Group("g")).Campaign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var watcher sync.WaitGroup
			watcher.Go(func() {
				for seen = range must(m.Group("g")).Watch(t.Context()) {
					time.Sleep(10 * time.Second)
				}
			})
			time.Sleep(time.Second)
			go func() { <-l.Done(); _ = l.Resign(t.Context()) }()
			if err := m.Leave(context.Background()); err != nil {
				t.Error(err)
			}
			watcher.Wait()
			if last := view(must(m.Group("g"))); told.String() != last.String() || seen.String() != last.String() || last.Leader != "" {
				t.Errorf("the last view is %v; OnChange got %v, and Watch %v", last, told, seen)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// A health check that is under way when the member is closed did not fail.
func TestMemberThatIsClosedIsNotIll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) {
			c.Health = func(ctx context.Context) error {
				select {
				case <-time.After(regent.LAN.Heartbeat / 2):
				case <-ctx.Done():
				}
				return nil
			}
		}, "a")
		m := h.members["a"]
		time.Sleep(10*regent.LAN.Heartbeat + regent.LAN.Heartbeat/4)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = m.Leave(ctx)
		if ill := m.Status().HealthProblem; ill != "" || strings.Contains(h.Logs(), "not fit to lead") {
			t.Errorf("it is ill: %q", ill)
		}
	})
}

// A sequence may be ranged over by several at once.
func TestWatchersMayShareASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, "a").members["a"]
		l, err := must(m.Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		views := must(m.Group("g")).Watch(t.Context())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for v := range views {
					if !v.Mine {
						t.Errorf("got %v first", v)
					}
					break
				}
			})
		}
		all.Wait()
		_ = l.Resign(t.Context())
	})
}

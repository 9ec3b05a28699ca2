package regent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A fakeLease is a leadership of which a test says whether its guard time has begun.
type fakeLease struct {
	hostedHolding
	inTime, resigned atomic.Bool
}

func (l *fakeLease) held() (holding, *atomic.Bool) { return l, new(atomic.Bool) }
func (l *fakeLease) group() string                 { return "g" }
func (l *fakeLease) holder() string                { return "a" }
func (l *fakeLease) guarded() bool                 { return l.inTime.Load() }
func (l *fakeLease) onTold(func())                 {}
func (l *fakeLease) cause() Cause                  { return Cause{} }
func (l *fakeLease) Resign(context.Context) error  { l.resigned.Store(true); return nil }

// A function that asks its context in the guard time is told to stop. If a renewal comes then, before the member itself has
// looked, the function has stopped all the same, and did not do so by itself.
func TestFunctionThatWasToldHasLostThoughARenewalCame(t *testing.T) {
	var leases []*fakeLease
	campaign := func(context.Context) (*fakeLease, error) {
		l := new(fakeLease)
		l.inTime.Store(true)
		leases = append(leases, l)
		return l, nil
	}
	err := lead(t.Context(), campaign, func(ctx context.Context, l *fakeLease) error {
		if len(leases) == 2 {
			return nil
		}
		l.inTime.Store(false)
		err := ctx.Err()
		l.inTime.Store(true)
		return err
	}, func() bool { return false })
	if err != nil || len(leases) != 2 {
		t.Errorf("got %v after %d leaderships", err, len(leases))
	}
	for i, l := range leases {
		if !l.resigned.Load() {
			t.Errorf("leadership %d was not given up", i)
		}
	}
}

// The same in a consistent group.
func TestFunctionThatWasToldIsOutThoughARenewalCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		m := h.members["a"]
		delete(h.members, "a")
		h.takePart(t.Context(), "shards")
		h.members["a"] = m
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g, err := m.ConsistentGroup("shards")
		h.must("", err)
		turns := 0
		err = g.TakePart(ctx, func(ctx context.Context, l *ConsistentLease) error {
			turns++
			if turns == 2 {
				return nil
			}
			release, renewed := make(chan struct{}), make(chan struct{})
			_ = m.loop.Do(func(now protocol.Time) { // the loop stands still, and then takes a renewal
				<-release
				horizon := protocol.HorizonID(g.group.Latest().Tenure)
				m.board.Horizon(now, protocol.Horizon{ID: horizon, Until: now.Add(time.Minute)})
				close(renewed)
				time.Sleep(time.Millisecond) // the function returns meanwhile
			})
			time.Sleep(l.Remaining() - LAN.Guard + time.Millisecond)
			err := ctx.Err()
			close(release)
			<-renewed
			if err == nil || !l.Valid() {
				t.Errorf("the context says %v, and the lease is valid: %v", err, l.Valid())
			}
			return err
		})
		if err != nil || turns != 2 {
			t.Errorf("got %v after %d turns", err, turns)
		}
	})
}

// Who leaves in a hurry does not wait for who leaves in good order.
func TestLeaveInAHurryCutsCloseShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, three...).members["a"]
		l, err := m.Group("g").Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- m.Close() }()
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
		if err := m.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
}

// The last changes of a member are those of its leaving, and come when whoever wants to know is busy with the ones before.
func TestLastChangesAreSeenByWhoIsSlow(t *testing.T) {
	for range 4 { // whether a fault is seen is a matter of luck
		synctest.Test(t, func(t *testing.T) {
			h := newChamber(t, "a")
			c := h.config("a")
			var told, seen View
			c.OnChange = func(v View) { told = v; time.Sleep(10 * time.Second) }
			m, err := join(t.Context(), c, h.world("a"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := m.Group("g").Campaign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var watcher sync.WaitGroup
			watcher.Go(func() {
				for seen = range m.Group("g").Watch(t.Context()) {
					time.Sleep(10 * time.Second)
				}
			})
			time.Sleep(time.Second)
			go func() { <-l.Done(); _ = l.Resign(t.Context()) }()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			watcher.Wait()
			if last := m.Group("g").View(); told != last || seen != last || last.Leader != "" {
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
		h := assembleWith(t, func(c *Config) {
			c.Health = func(ctx context.Context) error {
				select {
				case <-time.After(LAN.Heartbeat / 2):
				case <-ctx.Done():
				}
				return nil
			}
		}, "a")
		m := h.members["a"]
		time.Sleep(10*LAN.Heartbeat + LAN.Heartbeat/4)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = m.Leave(ctx)
		if ill := m.Status().HealthProblem; ill != "" || strings.Contains(h.log(), "not fit to lead") {
			t.Errorf("it is ill: %q", ill)
		}
	})
}

// A sequence may be ranged over by several at once.
func TestWatchersMayShareASequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, "a").members["a"]
		l, err := m.Group("g").Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		views := m.Group("g").Watch(t.Context())
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

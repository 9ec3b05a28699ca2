package regent

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A fakeHandle is a leadership of which a test says whether its guard time has begun.
type fakeHandle struct {
	handle
	inTime, resigned atomic.Bool
}

func (h *fakeHandle) Group() string                { return "g" }
func (h *fakeHandle) Member() string               { return "a" }
func (h *fakeHandle) Guarded() bool                { return h.inTime.Load() }
func (h *fakeHandle) OnDone(func())                {}
func (h *fakeHandle) Cause() Cause                 { return Cause{} }
func (h *fakeHandle) Resign(context.Context) error { h.resigned.Store(true); return nil }

// A function that asks its context in the guard time must stop. If a renewal comes then, before the member itself has
// looked, the function has stopped all the same, and did not do so by itself.
func TestFunctionThatHadToStopHasLostThoughARenewalCame(t *testing.T) {
	for _, continued := range []bool{false, true} {
		var handles []*fakeHandle
		campaign := func(context.Context) (*Lease, error) {
			h := new(fakeHandle)
			h.inTime.Store(true)
			handles = append(handles, h)
			return &Lease{leadership{handle: h, continued: continued}}, nil
		}
		err := lead(t.Context(), campaign, func(ctx context.Context, l *Lease) error {
			if len(handles) == 2 {
				return nil
			}
			h := handles[0]
			h.inTime.Store(false)
			err := ctx.Err()
			h.inTime.Store(true)
			return err
		}, func() bool { return false })
		if err != nil || len(handles) != 2 {
			t.Fatalf("got %v after %d leaderships", err, len(handles))
		}
		// One that the next takes over from is not given up in between.
		if first, last := handles[0].resigned.Load(), handles[1].resigned.Load(); first == continued || !last {
			t.Errorf("continued %v: given up were the first: %v, the last: %v", continued, first, last)
		}
	}
}

// A program that resigns within its function has stopped by itself, in all modes.
func TestFunctionThatResignedHasNotLost(t *testing.T) {
	calls := 0
	err := lead(t.Context(), func(context.Context) (*Membership, error) {
		return &Membership{leadership{handle: new(fakeHandle), continued: true}}, nil
	}, func(ctx context.Context, l *Membership) error {
		calls++
		return l.Resign(ctx)
	}, func() bool { return false })
	if err != nil || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// The same in a consistent group.
func TestFunctionThatHadToStopIsOutThoughARenewalCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := assemble(t, func(c *Config) { c.Consistent = true }, "a", "b", "c")
		for _, n := range []string{"b", "c"} {
			g, err := members[n].ConsistentGroup("shards")
			if err != nil {
				t.Fatal(err)
			}
			go g.TakePart(t.Context(), func(ctx context.Context, l *Membership) error {
				for v := range l.Views(ctx) {
					if v.Agreement.Recover {
						_ = l.Recovered(ctx, v)
					}
				}
				<-ctx.Done()
				return nil
			})
		}
		m := members["a"]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g, err := m.ConsistentGroup("shards")
		if err != nil {
			t.Fatal(err)
		}
		turns := 0
		err = g.TakePart(ctx, func(ctx context.Context, l *Membership) error {
			turns++
			if turns == 2 {
				return nil
			}
			release, renewed := make(chan struct{}), make(chan struct{})
			_ = m.loop.Do(func(now protocol.Time) { // the loop stands still, and then takes a renewal
				<-release
				horizon := protocol.HorizonID(g.election.(*hostedGroup).group.Latest().Tenure)
				m.groupTable.Horizon(now, protocol.Horizon{ID: horizon, Until: now.Add(time.Minute)})
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

package regent

import (
	"context"
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
func (l *fakeLease) onDone(func())                 {}
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
		members := assemble(t, func(c *Config) { c.Consistent = true }, "a", "b", "c")
		for _, n := range []string{"b", "c"} {
			g, err := members[n].ConsistentGroup("shards")
			if err != nil {
				t.Fatal(err)
			}
			go g.TakePart(t.Context(), func(ctx context.Context, l *Membership) error {
				for v := range l.Views(ctx) {
					if v.Agreement.Recover {
						_ = l.Recovered(v)
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
				horizon := protocol.HorizonID(g.election.(*hostedConsistent).group.Latest().Tenure)
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

package party

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// watched returns parties that lead until a shared end, which they look at by themselves, with a guard time of a fifth of a second.
func watched(t *testing.T, n int, end *atomic.Int64) ([]*Party, []*effects, *atomic.Int64) {
	t.Helper()
	c, guard := clock.Package(), 200*time.Millisecond
	end.Store(int64(c.Now().Add(time.Second)))
	w := NewWatch(func() time.Duration { return protocol.Time(end.Load()).Sub(c.Now()) - guard })
	looks := new(atomic.Int64)
	var parties []*Party
	var all []*effects
	for range n {
		f := new(effects)
		p := New(Options{Clock: c, Do: f.do, Config: tenure.Config{Lower: tenure.Program, Shown: true, Guard: guard, Grace: time.Hour},
			Shown: func() (protocol.Time, bool) { looks.Add(1); return protocol.Time(end.Load()), true },
			Fix:   func() protocol.Time { return protocol.Time(end.Load()) }, Watch: func() *Watch { return w }})
		p.Give(tenure.Event{Kind: tenure.Elected, Token: 1, At: c.Now(), Until: protocol.Time(end.Load())})
		parties, all = append(parties, p), append(all, f)
	}
	return parties, all, looks
}

func TestRenewalsOfAWatchCostItsPartiesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var end atomic.Int64
		parties, all, looks := watched(t, 10, &end)
		before := looks.Load()
		for range 100 {
			time.Sleep(250 * time.Millisecond)
			end.Add(int64(250 * time.Millisecond))
		}
		synctest.Wait()
		if n := looks.Load() - before; n != 0 {
			t.Errorf("the parties looked %d times although their lease was renewed in time", n)
		}
		time.Sleep(799 * time.Millisecond) // the end is a second off
		synctest.Wait()
		for _, f := range all {
			if f.has(tenure.Ask) {
				t.Fatal("asked before the guard time")
			}
		}
		time.Sleep(8 * time.Millisecond)
		synctest.Wait()
		for _, f := range all {
			if !f.has(tenure.Ask) {
				t.Fatal("not asked when the guard time has begun")
			}
		}
		for _, p := range parties {
			p.Give(tenure.Event{Kind: tenure.ProgramStopped})
		}
	})
}

// The deadline moves between the last look and the freeze: what the freeze finds counts, and before anything else is done.
func TestWhatWasShownAtTheFreezeCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Package()
		end := c.Now().Add(time.Second)
		var lapsed protocol.Time
		var p *Party
		f := new(effects)
		do := func(e tenure.Effect) {
			if e.Kind == tenure.Lapse {
				lapsed, _ = p.Announced()
			}
			f.do(e)
		}
		p = New(Options{Clock: c, Do: do, Config: tenure.Config{Lower: tenure.Program, Shown: true, Guard: 200 * time.Millisecond, Grace: time.Hour},
			Shown: func() (protocol.Time, bool) { return end, true }, Fix: func() protocol.Time { return end.Add(time.Second) }})
		p.Give(tenure.Event{Kind: tenure.Elected, Token: 1, At: c.Now(), Until: end})
		p.Give(tenure.Event{Kind: tenure.ConnectionLost})
		if lapsed != end.Add(time.Second) {
			t.Errorf("left to run out until %v, and a reader may have seen %v", lapsed, end.Add(time.Second))
		}
		time.Sleep(1999 * time.Millisecond)
		synctest.Wait()
		if f.has(tenure.Release) {
			t.Error("released before the deadline that a reader may have seen")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !f.has(tenure.Release) {
			t.Error("not released after the deadline")
		}
	})
}

package runtime

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestWatchersSeeEveryChangeOrLearnHowManyTheyMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, _ := startAuthority(t)
		g := b.Group("g")
		if g.Latest() != nil {
			t.Error("a group that nobody heard of has a view")
		}
		seen := make(chan uint64, 1000)
		go func() {
			var n uint64
			for {
				wake := g.Changed()
				changes, lost := g.After(n)
				if lost != 0 {
					t.Errorf("a watcher that keeps up lost %d", lost)
				}
				for _, c := range changes {
					if c.Number != n+1 {
						t.Errorf("change %d after %d", c.Number, n)
					}
					n = c.Number
					seen <- n
				}
				select {
				case <-wake:
				case <-t.Context().Done():
					return
				}
			}
		}()
		for range 20 {
			l := lead(t, g)
			synctest.Wait()
			_ = l.Resign(t.Context())
			synctest.Wait()
		}
		last := g.Latest().Number
		if last < 40 || uint64(len(seen)) != last {
			t.Errorf("%d changes, %d seen", last, len(seen))
		}
		changes, lost := g.After(3)
		if len(changes) != recentChanges || lost != last-recentChanges-3 || changes[len(changes)-1] != g.Latest() {
			t.Errorf("a slow watcher gets %d and misses %d of %d", len(changes), lost, last)
		}
	})
}

func TestCloseStopsTheProgramsThenLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		waiter := make(chan error, 1)
		go func() { _, err := b.Group("g").Campaign(t.Context()); waiter <- err }()
		synctest.Wait()
		if err := loop.Close(); err != nil {
			t.Fatal(err)
		}
		loop.Leave()
		<-l.Done()
		if l.Cause().Code != protocol.Closed {
			t.Errorf("cause is %v", l.Cause())
		}
		time.Sleep(time.Second)
		if isClosed(loop.Ended()) || !l.Valid() {
			t.Fatal("the member left under a program that runs")
		}
		_ = l.Resign(t.Context())
		<-loop.Ended()
		if m.groups["g"].tenure != 0 {
			t.Error("the group is still held")
		}
		if err := <-waiter; !errors.Is(err, ErrClosed) {
			t.Errorf("who waited got %v", err)
		}
		if _, err := b.Group("g").Campaign(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("who comes late got %v", err)
		}
	})
}

// A clock that cannot be believed ends leases as programs see them at once. What was granted runs out, and nothing is released under
// a program that has not stopped.
func TestClockFaultEndsLeasesAndReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		g := b.Group("g")
		l := lead(t, g)
		_ = loop.Do(func(protocol.Time) { loop.Fault(true) })
		<-l.Done()
		if l.Valid() || l.Cause().Code != protocol.ClockFault {
			t.Errorf("valid %v, cause %v", l.Valid(), l.Cause())
		}
		next := make(chan *Lease, 1)
		go func() { l, _ := g.Campaign(t.Context()); next <- l }()
		time.Sleep(time.Second)
		if l.Valid() || !isClosed(l.Over()) {
			t.Error("the lease came back, or is renewed")
		}
		if slices.Contains(m.events, "protocol.Stopped{g}") {
			t.Error("it was released under its program")
		}
		_ = l.Resign(t.Context())
		time.Sleep(time.Second)
		if len(next) != 0 {
			t.Fatal("a lease began on a clock that cannot be believed")
		}
		_ = loop.Do(func(protocol.Time) { loop.Fault(false) })
		if again := <-next; !again.Valid() || again.Token() <= l.Token() {
			t.Error("no lease begins once the clock is right again")
		}
	})
}

// No lease that was held before a suspend is used again, even if the clock says that it lasts.
func TestSuspendEndsAllLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		_, b, loop := startAuthorityWith(t, func(o *Options) { o.Suspended = func() time.Duration { return time.Duration(slept.Load()) } })
		g := b.Group("g")
		l := lead(t, g)
		slept.Store(int64(time.Millisecond))
		loop.Waiter.Wake()
		synctest.Wait()
		if l.Valid() || !isClosed(l.Done()) || l.Cause().Code != protocol.ClockFault {
			t.Errorf("valid %v, told %v, cause %v", l.Valid(), isClosed(l.Done()), l.Cause())
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Error(err)
		}
		if again := lead(t, g); !again.Valid() || again.Token() <= l.Token() {
			t.Error("nothing is led after the suspend")
		}
	})
}

func TestRestoredSnapshotEndsAllLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var restored atomic.Bool
		_, b, loop := startAuthorityWith(t, func(o *Options) {
			o.Restored = func(protocol.Time) (protocol.StartBits, bool) { return protocol.StartBits{1}, restored.Swap(false) }
		})
		l := lead(t, b.Group("g"))
		restored.Store(true)
		loop.Waiter.Wake()
		synctest.Wait()
		if l.Valid() || !isClosed(l.Done()) {
			t.Errorf("valid %v, told %v", l.Valid(), isClosed(l.Done()))
		}
	})
}

func TestHistoryKeepsTheLastChangesOfAllGroups(t *testing.T) {
	var h history
	if changes, lost := h.after(0); changes != nil || lost != 0 {
		t.Errorf("an empty history has %v, lost %d", changes, lost)
	}
	wake := h.changed.wait()
	for range 2*historyLength + 7 {
		c := new(Change)
		h.number(c)
		h.add(c)
	}
	if !isClosed(wake) || isClosed(h.changed.wait()) {
		t.Error("the signal was not raised, or stays raised")
	}
	last := uint64(2*historyLength + 7)
	for _, since := range []uint64{0, 1, last - historyLength - 1, last - historyLength, last - 1, last} {
		changes, lost := h.after(since)
		if uint64(len(changes))+lost != last-since || len(changes) > historyLength {
			t.Errorf("after %d: %d changes and %d lost of %d", since, len(changes), lost, last-since)
		}
		for i, c := range changes {
			if c.Serial != since+lost+uint64(i)+1 {
				t.Fatalf("after %d: change %d has number %d", since, i, c.Serial)
			}
		}
	}
}

// A machine of consistent groups that has asked a program to stop waits to hear that it has, also if the program never got to
// know that it was in the group.
func TestMembershipThatNoProgramSawIsSettled(t *testing.T) {
	in := protocol.View{Group: "g", Domain: protocol.Consistent, Horizon: 7, Until: protocol.Never, Agreed: &protocol.Agreed{Vid: 1}}
	out := protocol.View{Group: "g", Domain: protocol.Consistent, Leader: protocol.NoIdent, Stop: true}
	for name, course := range map[string]func(b *GroupTable, g *Group, c *candidate, now protocol.Time){
		"it was over before it was handed out": func(b *GroupTable, _ *Group, _ *candidate, now protocol.Time) {
			b.View(now, &out)
			b.Published(now)
		},
		"the program had given up": func(b *GroupTable, g *Group, c *candidate, now protocol.Time) {
			b.Published(now)
			b.View(now, &out)
			b.leave(now, g, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, b, loop := startAuthority(t)
				m.held = true
				onLoop(t, loop, func(now protocol.Time) {
					g, c := b.Group("g"), &candidate{lease: make(chan *Lease, 1), refused: make(chan error, 1)}
					if err := b.enter(now, g, c); err != nil {
						t.Error(err)
					}
					b.View(now, &in)
					b.Horizon(now, protocol.Horizon{ID: 7, Until: now.Add(time.Second)})
					course(b, g, c, now)
				})
				if !slices.Contains(m.events, "protocol.Stopped{g}") {
					t.Errorf("the machine was told %v", m.events)
				}
			})
		})
	}
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

func TestLeaseRenewsItselfUntilTheProgramStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, _ := startAuthority(t)
		g := b.Group("g")
		l := lead(t, g)
		for range 100 {
			time.Sleep(7 * time.Millisecond)
			if !l.Valid() || !l.Guarded() || isClosed(l.Done()) || l.Remaining() <= toyGuard {
				t.Fatalf("lease is not renewed: valid %v, remaining %v", l.Valid(), l.Remaining())
			}
		}
		if _, err := l.Edict(); err != nil {
			t.Error(err)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Error(err)
		}
		if l.Valid() || l.Guarded() || l.Remaining() != 0 || !isClosed(l.Done()) || !isClosed(l.Over()) {
			t.Error("the lease goes on")
		}
		if _, err := l.Edict(); !errors.Is(err, stamp.ErrNotLeader) {
			t.Errorf("edict of a lease that is over: %v", err)
		}
		if v := g.Latest(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Resigned {
			t.Errorf("view is %v", v)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Errorf("second time: %v", err)
		}
	})
}

func TestProgramIsToldAGuardTimeBeforeTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		change(loop, func() { m.silent = true })
		left := l.Remaining()
		time.Sleep(left - toyGuard - time.Millisecond)
		if isClosed(l.Done()) || !l.Guarded() {
			t.Fatal("told too early")
		}
		time.Sleep(time.Millisecond + time.Microsecond)
		synctest.Wait()
		if !isClosed(l.Done()) || l.Guarded() || !l.Valid() {
			t.Fatalf("at the guard time: told %v, guarded %v, valid %v", isClosed(l.Done()), l.Guarded(), l.Valid())
		}
		if l.Cause().Code != protocol.LeaseExpired {
			t.Errorf("cause is %v", l.Cause())
		}
		time.Sleep(toyGuard)
		synctest.Wait()
		if l.Valid() || !isClosed(l.Over()) {
			t.Error("the lease is not over")
		}
	})
}

// Asked means asked: a renewal that comes in the guard time does not bring the leadership back, it only keeps others out
// until the program has stopped.
func TestRenewalInTheGuardTimeIsNotANewLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		change(loop, func() { m.silent = true })
		<-l.Done()
		change(loop, func() { m.silent = false })
		time.Sleep(10 * toyLease)
		if !l.Valid() || l.Guarded() || isClosed(l.Over()) {
			t.Errorf("valid %v, guarded %v, over %v: want the lease held for a program that has not stopped",
				l.Valid(), l.Guarded(), isClosed(l.Over()))
		}
		if err := l.Resign(t.Context()); err != nil || l.Valid() {
			t.Errorf("after it stopped: %v, valid %v", err, l.Valid())
		}
	})
}

// A program that ignores the request to stop is renewed for its grace. Then its lease runs out, and nothing is released under it.
func TestProgramThatNeverStopsIsRenewedForItsGraceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		_ = loop.Do(func(protocol.Time) { loop.instances[Council].Post(protocol.Resign{Group: "g"}) })
		<-l.Done()
		time.Sleep(toyGrace - time.Millisecond)
		if !l.Valid() || isClosed(l.Over()) {
			t.Fatal("the lease was not renewed for the grace")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		end := l.Until()
		time.Sleep(2 * toyRenew)
		if end != l.Until() {
			t.Errorf("a renewal moved the end from %v to %v after the grace", end, l.Until())
		}
		time.Sleep(toyLease)
		synctest.Wait()
		if l.Valid() || !isClosed(l.Over()) {
			t.Errorf("valid %v, over %v, a lease after the grace", l.Valid(), isClosed(l.Over()))
		}
		if slices.Contains(m.events, "protocol.Stopped{g}") {
			t.Error("the protocol was told that the program has stopped")
		}
	})
}

// Renewals that the protocol makes before it has learnt that the grace is over do not move the deadline of the program.
func TestRenewalAfterTheGraceMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		change(loop, func() { m.mute = true })
		_ = loop.Do(func(protocol.Time) { loop.instances[Council].Post(protocol.Resign{Group: "g"}) })
		<-l.Done()
		time.Sleep(toyGrace + toyLease)
		synctest.Wait()
		if l.Valid() || isClosed(l.Over()) {
			t.Errorf("valid %v, over %v: want a lease that the protocol holds, and that the program cannot use", l.Valid(), isClosed(l.Over()))
		}
	})
}

// An agent under whose lease something may be left has it run out: nothing renews it, and nothing is released before its end.
func TestLeaseThatLapsesIsNeitherRenewedNorReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		time.Sleep(2 * toyRenew)
		synctest.Wait()
		end := l.Until()
		if err := l.Lapse(protocol.Cause{Code: protocol.Unhealthy, Peer: loop.Self}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !isClosed(l.Done()) || l.Cause().Code != protocol.Unhealthy || l.Until() != end {
			t.Errorf("told %v, cause %v, end %v instead of %v", isClosed(l.Done()), l.Cause(), l.Until(), end)
		}
		time.Sleep(end.Sub(loop.Clock()) - time.Millisecond)
		synctest.Wait()
		if !l.Valid() || isClosed(l.Over()) {
			t.Errorf("valid %v, over %v, before its end", l.Valid(), isClosed(l.Over()))
		}
		time.Sleep(toyRenew + time.Millisecond) // when the protocol looks again
		synctest.Wait()
		if l.Valid() || !isClosed(l.Over()) {
			t.Errorf("valid %v, over %v, after its end", l.Valid(), isClosed(l.Over()))
		}
		if slices.Contains(m.events, "protocol.Stopped{g}") {
			t.Error("the protocol was told that the program has stopped")
		}
	})
}

func TestProgramsOfOneMemberTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, _ := startAuthority(t)
		g := b.Group("g")
		first := lead(t, g)
		type result struct {
			n int
			l *Lease
		}
		got := make(chan result, 3)
		for n := range 3 {
			go func() { l, _ := g.Campaign(t.Context()); got <- result{n, l} }()
			synctest.Wait()
		}
		if len(got) != 0 {
			t.Fatal("two programs lead at once")
		}
		last := first
		for n := range 3 {
			if err := last.Resign(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := <-got
			if r.n != n || r.l.Token() <= last.Token() {
				t.Errorf("turn %d went to %d with token %d after %d", n, r.n, r.l.Token(), last.Token())
			}
			last = r.l
		}
	})
}

func TestCandidateThatGivesUpLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		change(loop, func() { m.held = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if l, err := b.Group("g").Campaign(ctx); l != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, %v", l, err)
		}
		synctest.Wait()
		if m.groups["g"].candidate {
			t.Error("the machine still has a candidate")
		}
		change(loop, func() { m.held = false })
		if v := b.Group("g").Latest(); v != nil && v.Tenure != 0 {
			t.Errorf("nobody wants to lead, and yet %v", v)
		}
	})
}

// The lease arrives when the candidate has just gone: it must be given back, or nobody would ever lead again.
func TestLeaseThatNobodyTakesIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		g := b.Group("g")
		c := &candidate{lease: make(chan *Lease, 1)}
		_ = loop.Do(func(now protocol.Time) { _ = b.enter(now, g, c) })
		synctest.Wait()
		if len(c.lease) != 1 {
			t.Fatal("the candidate was not elected")
		}
		_ = loop.Do(func(now protocol.Time) { b.leave(now, g, c) })
		synctest.Wait()
		if m.groups["g"].tenure != 0 || m.groups["g"].candidate {
			t.Error("the group is still held")
		}
		lead(t, g)
	})
}

func TestTenureLostAndWonAgainIsAnotherLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		g := b.Group("g")
		l := lead(t, g)
		change(loop, func() { m.silent = true })
		<-l.Over()
		change(loop, func() { m.silent = false })
		if v := g.Latest(); v.Tenure != 0 {
			t.Fatalf("nobody asked, and yet %v", v)
		}
		again := lead(t, g)
		if l.Valid() || !again.Valid() || again.Token() <= l.Token() {
			t.Errorf("old %v (token %d), new %v (token %d)", l.Valid(), l.Token(), again.Valid(), again.Token())
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Error(err)
		}
		if !again.Valid() {
			t.Error("the old program's stop ended the new tenure")
		}
	})
}

func TestTransferSaysWhatCameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, _ := startAuthority(t)
		l := lead(t, b.Group("g"))
		a, begun, err := l.Transfer(t.Context(), 2)
		if err != nil || !begun || !a.OK || a.Leader.Rank != 2 {
			t.Errorf("got %v, %v, %v", a, begun, err)
		}
		if l.Valid() {
			t.Error("the lease goes on")
		}
		if _, _, err := l.Transfer(t.Context(), 2); !errors.Is(err, stamp.ErrNotLeader) {
			t.Errorf("second time: %v", err)
		}
	})
}

func TestManyGroupsLieBehindOneHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		var leases []*Lease
		for i := range 200 {
			leases = append(leases, lead(t, b.Group(protocol.Group(fmt.Sprint(i)))))
		}
		for i, l := range leases {
			if i%3 == 0 {
				if err := l.Resign(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Second)
		for i, l := range leases {
			if l.Valid() != (i%3 != 0) {
				t.Fatalf("lease %d: valid is %v", i, l.Valid())
			}
		}
		change(loop, func() { m.silent = true })
		time.Sleep(toyLease)
		synctest.Wait()
		for i, l := range leases {
			if l.Valid() || !isClosed(l.Over()) {
				t.Fatalf("lease %d goes on", i)
			}
		}
	})
}

// A lease that moves behind another horizon has, at every moment, the end that it had or the end that it gets.
func TestLeaseThatMovesToAnotherHorizonIsNeverInterrupted(t *testing.T) {
	now := func() protocol.Time { return 50 }
	b := NewGroupTable(GroupTableOptions{Clock: now, Late: now})
	b.loop = new(Loop)
	g, c := b.Group("g"), &candidate{lease: make(chan *Lease, 1)}
	g.waiting = []*candidate{c}
	v := protocol.View{Group: "g", Domain: protocol.Quorum, Tenure: 1, Term: 1, Horizon: 1, Until: protocol.Never}
	b.View(50, &v)
	b.Horizon(50, protocol.Horizon{ID: 1, Until: 100})
	b.Published(50)
	l := <-c.lease
	ends := func(want protocol.Time, when string) {
		t.Helper()
		if _, err := l.Edict(); err != nil || l.Until() != want {
			t.Errorf("%s: until %d, want %d; %v", when, l.Until(), want, err)
		}
	}
	ends(100, "at first")
	v.Horizon = 2
	b.View(50, &v)
	ends(100, "before the end of the new horizon is known")
	b.Horizon(50, protocol.Horizon{ID: 1, Until: 500})
	ends(100, "after the old horizon moved on")
	b.Horizon(50, protocol.Horizon{ID: 2, Until: 200})
	b.Published(50)
	ends(200, "behind the new horizon")
	b.Horizon(50, protocol.Horizon{ID: 2, Until: 300})
	ends(300, "after the new horizon moved on")
}

func TestWatchersSeeEveryChangeOrAreToldHowManyTheyMissed(t *testing.T) {
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

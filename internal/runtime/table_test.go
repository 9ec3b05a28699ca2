package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func TestProgramIsAskedAGuardTimeBeforeTheLeaseEnds(t *testing.T) {
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
	b := NewGroupTable(GroupTableOptions{Late: now})
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

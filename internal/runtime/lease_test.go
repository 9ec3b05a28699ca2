package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A gate is a store whose writes wait until it is opened.
type gate chan struct{}

func (g gate) Write([]byte) error { <-g; return nil }

// A loop that ends takes no more calls, but does not say so before its last record is written. A program that says in the
// meantime that it has stopped must not wait for an answer.
func TestProgramThatStopsWhileTheLoopEndsDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := make(gate)
		_, b, loop := startAuthorityWith(t, func(o *Options) { o.Store = disk })
		l, still := lead(t, b.Group("g")), lead(t, b.Group("h"))
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		onLoop(t, loop, func(protocol.Time) { loop.disk.put([]byte("record")) })
		loop.Stop()
		synctest.Wait()
		if isClosed(loop.Ended()) {
			t.Fatal("the loop has ended before its record is written")
		}
		over, held := make(chan error, 1), make(chan error, 1)
		go func() { over <- l.Resign(t.Context()) }()
		go func() { held <- still.Resign(t.Context()) }()
		synctest.Wait()
		close(disk)
		<-loop.Ended()
		time.Sleep(time.Second)
		if len(over) != 1 || len(held) != 1 {
			t.Fatal("a program still waits to be told that it no longer leads")
		}
		if err := <-over; err != nil {
			t.Errorf("a lease that was over: %v", err)
		}
		if err := <-held; !errors.Is(err, ErrClosed) {
			t.Errorf("a lease that was not: %v", err)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Errorf("a lease that was over, when the loop has ended: %v", err)
		}
	})
}

// A loop that ends without having asked the programs to stop does that last: nobody else ever would.
func TestProgramIsAskedWhenTheLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		loop.Stop()
		<-loop.Ended()
		if !isClosed(l.Done()) || l.Cause() == nil || l.Cause().Code != protocol.Closed {
			t.Errorf("told is %v, cause is %v", isClosed(l.Done()), l.Cause())
		}
		if !l.Valid() || isClosed(l.Over()) {
			t.Error("the lease was given up under its program")
		}
	})
}

// A program that hands its group over has stopped until Transfer returns, and not for an instant longer.
func TestTransferThatWasNotBegunReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b, loop := startAuthority(t)
		l := lead(t, b.Group("g"))
		change(loop, func() { m.mute = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := make(chan bool, 1)
		go func() {
			_, yes, err := l.Transfer(ctx, 2)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			begun <- yes
		}()
		synctest.Wait()
		// When the program's patience ends the loop is busy, and then finds that the machine is asked for the group.
		busy := make(chan struct{})
		time.Sleep(time.Second - time.Millisecond)
		_ = loop.Do(func(protocol.Time) {
			<-busy
			loop.instances[Council].Post(protocol.Resign{Group: "g"})
		})
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		early := len(begun) == 1
		close(busy)
		synctest.Wait()
		if yes := <-begun; yes != isClosed(l.Over()) {
			t.Errorf("begun is %v, over is %v; it returned while the loop was busy: %v", yes, isClosed(l.Over()), early)
		}
	})
}

// What ends a lease says why before it is over, so that whoever finds it over can say why.
func TestLeaseThatIsOverHasACause(t *testing.T) {
	now := func() protocol.Time { return 50 }
	for name, end := range map[string]func(*GroupTable, []protocol.View){
		"the tenure ended": func(b *GroupTable, views []protocol.View) {
			for i := range views {
				views[i].Tenure, views[i].Cause.Code = 0, protocol.Excluded
				b.View(50, &views[i])
			}
		},
		"the clock failed": func(b *GroupTable, _ []protocol.View) { b.fault(true) },
	} {
		t.Run(name, func(t *testing.T) {
			b := NewGroupTable(GroupTableOptions{Late: now})
			b.loop = &Loop{Options: Options{Clock: now}}
			views, leases := make([]protocol.View, 2000), make([]*Lease, 2000)
			for i := range views {
				v := protocol.View{Group: protocol.Group(fmt.Sprint(i)), Domain: protocol.Quorum, Tenure: 1, Term: 1, Horizon: 1, Until: protocol.Never}
				c := &candidate{lease: make(chan *Lease, 1)}
				b.Group(v.Group).waiting = []*candidate{c}
				b.View(50, &v)
				b.Horizon(50, protocol.Horizon{ID: 1, Until: 100})
				b.Published(50)
				views[i], leases[i] = v, <-c.lease
			}
			looking, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				close(looking)
				for i, l := range leases {
					for l.Valid() {
					}
					if l.Cause() == nil {
						t.Errorf("lease %d was over, and nobody had said why", i)
						return
					}
				}
			}()
			<-looking
			end(b, views)
			<-done
		})
	}
}

// Whoever is told of a change and looks must not find what was before it.
func TestChangeIsNewsOnlyOnceItIsToBeSeen(t *testing.T) {
	g := &Group{Name: "g", history: new(history)}
	const changes = 20000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for last := uint64(0); last < changes; runtime.Gosched() {
			now := g.history.last.Load()
			if now == last {
				continue
			}
			last = now
			if g.Latest() == nil || g.Latest().Serial < last {
				t.Errorf("change %d is news, and yet the view is %v", last, g.Latest())
				return
			}
		}
	}()
	for n := range uint64(changes) {
		g.publish(0, &protocol.View{Term: n + 1})
	}
	<-done
}

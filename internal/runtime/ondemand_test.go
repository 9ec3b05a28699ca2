package runtime

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
)

const toyLinger = 50 * time.Millisecond

// newToyOnDemand sets up an on-demand machine, a toy authority, beside a council, and keeps the machines that it has made.
func newToyOnDemand(t *testing.T, unless *Group, loop *Loop) (*OnDemand, *[]*toyAuthority) {
	t.Helper()
	c := clock.Package()
	made := new([]*toyAuthority)
	s := NewOnDemand(loop, OnDemandOptions{Channel: 5, Name: "the group g", Group: "g", Linger: toyLinger, Unless: unless,
		Make: func(_, renamed protocol.Time, _ protocol.Inc) (protocol.Machine, error) {
			m := &toyAuthority{groups: make(map[protocol.Group]*toyGroup), renamed: renamed}
			*made = append(*made, m)
			return m, nil
		},
		Table: &GroupTableOptions{Guard: toyGuard, Grace: toyGrace, Late: c.Late}})
	loop.stats.inc.Store(1)
	return s, made
}

func open(t *testing.T, l *Loop) (n int) {
	t.Helper()
	onLoop(t, l, func(protocol.Time) { n = l.Open() - 1 })
	return n
}

func TestSiteIsOpenWhileSomebodyUsesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		s, made := newToyOnDemand(t, nil, loop)
		if open(t, loop) != 0 {
			t.Fatal("it is open before anybody has come")
		}
		l := lead(t, s.Group("g"))
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * toyLinger)
		if open(t, loop) != 1 {
			t.Error("it was closed under somebody")
		}
		s.Exit()
		time.Sleep(toyLinger / 2)
		if open(t, loop) != 1 {
			t.Error("what it promised is not over yet")
		}
		again := lead(t, s.Group("g")) // somebody comes back in time
		time.Sleep(2 * toyLinger)
		if !again.Valid() || len(*made) != 1 {
			t.Errorf("valid %v; %d machines were made", again.Valid(), len(*made))
		}
		if err := again.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * toyLinger)
		if open(t, loop) != 0 || len(loop.onDemand) != 0 {
			t.Error("nobody uses it, and it is still there")
		}
		lead(t, s.Group("g"))
		if len(*made) != 2 {
			t.Errorf("%d machines were made", len(*made))
		}
	})
}

func TestCandidateThatGivesUpLeavesTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		s, made := newToyOnDemand(t, nil, loop)
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		(*made)[0].held = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Group("g").Campaign(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		s.Exit()
		time.Sleep(2 * toyLinger)
		if open(t, loop) != 0 {
			t.Error("it is still open")
		}
	})
}

// A lease that comes when nothing may be led any more goes to nobody, and nobody leaves by its end.
func TestLeaseThatNobodyGotClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		s, made := newToyOnDemand(t, nil, loop)
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		(*made)[0].held = true
		next := make(chan *Lease, 1)
		go func() {
			if l, err := s.Group("g").Campaign(t.Context()); err == nil {
				next <- l
			}
		}()
		synctest.Wait()
		s.Exit()
		onLoop(t, loop, func(protocol.Time) {
			(*made)[0].held = false
			s.instance.Post(protocol.Tick{})
			loop.Health(protocol.Health{}) // it is told to resign only when it has led
		})
		if tenure := (*made)[0].tenure; tenure != 1 {
			t.Fatalf("%d tenures", tenure)
		}
		time.Sleep(2 * toyLinger)
		if open(t, loop) != 1 {
			t.Error("it was closed under a candidate")
		}
		onLoop(t, loop, func(protocol.Time) { loop.Health(protocol.Health{OK: true}) })
		if len(next) != 1 {
			t.Error("the candidate does not lead though nothing bars it")
		}
	})
}

// A member that is leaving waits for the programs that lead, and not for one that comes then.
func TestNothingIsOpenedWhileTheMemberLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, council, loop := startAuthority(t)
		s, made := newToyOnDemand(t, nil, loop)
		l := lead(t, council.Group("real"))
		if err := loop.Close(); err != nil {
			t.Fatal(err)
		}
		loop.Leave()
		if err := s.Enter(); !errors.Is(err, ErrClosed) {
			t.Errorf("entered: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Group("g").Campaign(ctx); !errors.Is(err, ErrClosed) {
			t.Errorf("campaigned: %v", err)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !isClosed(loop.Ended()) || len(*made) != 0 {
			t.Errorf("the loop has not ended; %d machines were made", len(*made))
		}
	})
}

func TestMachineThatCannotBeMadeIsSaidToTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		s, _ := newToyOnDemand(t, nil, loop)
		wrong := errors.New("no such elector")
		s.make = func(_, _ protocol.Time, _ protocol.Inc) (protocol.Machine, error) { return nil, wrong }
		if _, err := s.Group("g").Campaign(t.Context()); !errors.Is(err, wrong) {
			t.Errorf("got %v", err)
		}
		if err := s.Enter(); !errors.Is(err, wrong) {
			t.Errorf("got %v", err)
		}
	})
}

// Machines belong to an incarnation. When the member speaks as another, the old ones have crashed as far as others can see.
func TestNewIncarnationGetsNewMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		s, made := newToyOnDemand(t, nil, loop)
		l := lead(t, s.Group("g"))
		if err := s.Enter(); err != nil { // as Lead does
			t.Fatal(err)
		}
		onLoop(t, loop, func(now protocol.Time) { loop.rename(now, 0) })
		if l.Valid() || l.Cause() == nil || l.Cause().Code != protocol.Restarted || open(t, loop) != 0 {
			t.Errorf("valid %v, cause %v, %d open", l.Valid(), l.Cause(), open(t, loop))
		}
		if c := s.Group("g").Latest(); c.Leader != protocol.NoIdent {
			t.Errorf("the view still names %v", c.Leader)
		}
		next := make(chan *Lease, 1)
		go func() {
			if l, err := s.Group("g").Campaign(t.Context()); err == nil {
				next <- l
			}
		}()
		synctest.Wait()
		if len(next) != 0 {
			t.Fatal("led by a member that does not know who it is")
		}
		onLoop(t, loop, func(now protocol.Time) { loop.rename(now, 2) })
		if got := <-next; !got.Valid() || len(*made) != 2 {
			t.Errorf("valid %v; %d machines were made", got.Valid(), len(*made))
		}
		if (*made)[0].renamed != 0 || (*made)[1].renamed == 0 || (*made)[1].renamed > loop.Clock() {
			t.Errorf("told of promises that were lost at %v and %v", (*made)[0].renamed, (*made)[1].renamed)
		}
		for _, e := range (*made)[0].events {
			if e == "protocol.Stopped{g}" {
				t.Error("the old machine was told that the program has stopped, and may have released something")
			}
		}
	})
}

// What a machine of the incarnation before sends would bear the new one. It takes no event that waits when the member is renamed.
func TestMachineOfTheIncarnationBeforeTakesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		s, made := newToyOnDemand(t, nil, loop)
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		onLoop(t, loop, func(now protocol.Time) {
			s.instance.Post(protocol.Transfer{Group: "waits"})
			loop.rename(now, 2)
		})
		for _, e := range (*made)[0].events {
			if strings.Contains(e, "waits") {
				t.Errorf("it took %s", e)
			}
		}
		if len(*made) != 2 || open(t, loop) != 1 {
			t.Errorf("%d machines were made", len(*made))
		}
	})
}

func TestNothingIsLedWhileTheOtherGroupHasALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, council, loop := startAuthority(t)
		s, _ := newToyOnDemand(t, council.Group("real"), loop)
		l := lead(t, s.Group("g"))
		real := lead(t, council.Group("real"))
		<-l.Done()
		if l.Cause().Code != protocol.Elected || l.Cause().Peer != 0 {
			t.Errorf("told to stop because of %v", l.Cause())
		}
		if !l.Valid() {
			t.Error("it was taken away before the program had stopped")
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Group("g").Campaign(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("led beside the other: %v", err)
		}
		if err := real.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		lead(t, s.Group("g"))
	})
}

func TestHealthAndClockBlockEveryTable(t *testing.T) {
	for name, block := range map[string]func(l *Loop, on bool){
		"unhealthy": func(l *Loop, on bool) { l.Health(protocol.Health{OK: !on}) },
		"drained":   func(l *Loop, on bool) { l.Health(protocol.Health{OK: true, Drained: on}) },
		"clock":     (*Loop).Fault,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, _, loop := startAuthority(t)
				s, _ := newToyOnDemand(t, nil, loop)
				l := lead(t, s.Group("g"))
				onLoop(t, loop, func(protocol.Time) { block(loop, true) })
				<-l.Done()
				want := map[string]protocol.CauseCode{"unhealthy": protocol.Unhealthy, "drained": protocol.Drained, "clock": protocol.ClockFault}[name]
				if l.Cause().Code != want {
					t.Errorf("told to stop because of %v", l.Cause())
				}
				_ = l.Resign(t.Context())
				time.Sleep(2 * toyLinger) // the machine has been closed; one that is opened now is blocked as well
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := s.Group("g").Campaign(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("led all the same: %v", err)
				}
				onLoop(t, loop, func(protocol.Time) { block(loop, false) })
				lead(t, s.Group("g"))
			})
		})
	}
}

func TestWatchOnlyGroupShowsEveryView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, loop := startAuthority(t)
		loop.stats.inc.Store(1)
		m := &toy{}
		said := 0
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Campaign": func(protocol.Time) protocol.Effects {
				said++
				return protocol.Effects{Views: []protocol.View{{Group: "g", Leader: protocol.Ident{Rank: 1, Inc: 1}, Support: protocol.NewSet(0, 1),
					Cause: protocol.Cause{Code: protocol.NoQuorum, Bound: time.Duration(said) * time.Second}}}}
			},
		}
		s := NewOnDemand(loop, OnDemandOptions{Channel: 5, Name: "the group g", Group: "g",
			Make: func(_, _ protocol.Time, _ protocol.Inc) (protocol.Machine, error) { return m, nil }})
		if err := s.Enter(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the same leader, for another length of time
			onLoop(t, loop, func(protocol.Time) { s.instance.Post(protocol.Campaign{}) })
		}
		c := s.Group("g").Latest()
		if c == nil || c.Number != 2 || c.Cause.Bound != 2*time.Second || c.Support.Len() != 2 {
			t.Errorf("the last change is %+v", c)
		}
		s.Exit()
		synctest.Wait()
		if open(t, loop) != 0 {
			t.Error("it is still open")
		}
	})
}

package core

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// newSeat returns the seat of an eventual group.
func newSeat() *seat {
	return &seat{agent: &Agent{Name: "a", Timing: regent.LAN}, changed: make(chan struct{})}
}

// begin has a program campaign, and returns where its turn comes.
func (s *seat) begin(ctx context.Context) <-chan *turn {
	out := make(chan *turn, 1)
	go func() {
		if t, err := s.campaign(ctx, 0); err == nil {
			out <- t
		}
	}()
	synctest.Wait() // so that programs come in order
	return out
}

// now returns the turn that has come; nil: none has.
func now(turns <-chan *turn) *turn {
	synctest.Wait()
	select {
	case t := <-turns:
		return t
	default:
		return nil
	}
}

func TestProgramsTakeTurnsInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeat()
		gone, leave := context.WithCancel(t.Context())
		first, left, third := s.begin(t.Context()), s.begin(gone), s.begin(t.Context())
		if now(first) != nil {
			t.Fatal("a program leads on a host that does not")
		}
		s.lead(nil)
		x := now(first)
		if x == nil || !x.Valid() || now(left) != nil || now(third) != nil {
			t.Fatal("the first program alone is to lead")
		}
		leave()
		if now(third) != nil {
			t.Fatal("two lead")
		}
		_ = x.Resign(t.Context())
		y := now(third)
		if y == nil || x.Valid() || y.number == x.number {
			t.Fatal("the turn of the next program is to follow")
		}
		_ = x.Resign(t.Context()) // again: it is not about the turn of the other
		if !y.Valid() {
			t.Error("a program ended the turn of another")
		}
	})
}

func TestALocalLeadershipIsGivenUpWhenItsProgramHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeat()
		s.lead(nil)
		x := now(s.begin(t.Context()))
		cause := regent.Cause{Why: why.Suspected, Member: "b"}
		s.lose(cause)
		<-x.Done()
		if x.Cause() != cause {
			t.Errorf("it is to stop for %v", x.Cause())
		}
		vacant := make(chan struct{})
		go func() {
			s.vacant(t.Context())
			close(vacant)
		}()
		s.lead(nil) // again: that changes nothing for the program that must stop
		next := s.begin(t.Context())
		if now(next) != nil {
			t.Error("another program leads, and the first has not stopped")
		}
		select {
		case <-vacant:
			t.Error("the host gives the leadership up, and the program has not stopped")
		default:
		}
		_ = x.Resign(t.Context())
		y := now(next)
		if y == nil {
			t.Fatal("the next program does not lead")
		}
		_ = y.Resign(t.Context())
		<-vacant
	})
}

func TestCampaignsEndWithTheSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeat()
		s.lead(nil)
		x := now(s.begin(t.Context()))
		waits := make(chan error, 1)
		go func() {
			_, err := s.campaign(t.Context(), 0)
			waits <- err
		}()
		synctest.Wait()
		s.close(regent.ErrClosed)
		synctest.Wait()
		select {
		case err := <-waits:
			if !errors.Is(err, regent.ErrClosed) {
				t.Errorf("the campaign ends with %v", err)
			}
		default:
			t.Fatal("a program waits in a seat in which no turn begins any more")
		}
		if !x.Valid() {
			t.Error("the turn ended before its program has stopped")
		}
		_ = x.Resign(t.Context())
		if _, err := s.campaign(t.Context(), 0); !errors.Is(err, regent.ErrClosed) {
			t.Errorf("a campaign in a closed seat ends with %v", err)
		}
	})
}

// A view of an eventual group that nothing is known of has no cause.
func TestATurnStopsOnceWhateverTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeat()
		s.lead(nil)
		x := now(s.begin(t.Context()))
		s.lose(regent.Cause{})
		<-x.Done()
		s.lose(regent.Cause{Why: why.Suspected, Member: "b"})
		_ = x.Resign(t.Context())
		if x.Cause() != (regent.Cause{}) {
			t.Errorf("a later cause replaced the first: %v", x.Cause())
		}
	})
}

// A program that needs more of the lease than is left does not hold up those behind it.
func TestAProgramThatDoesNotFitIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeat()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		go func() {
			if _, err := s.campaign(ctx, regent.LAN.Lease); err == nil {
				t.Error("a turn began that ends at once")
			}
		}()
		synctest.Wait()
		next := s.begin(t.Context())
		s.lead(nil)
		if now(next) == nil {
			t.Error("the next program does not lead")
		}
	})
}

// A program that nothing can kill does not keep the agent.
func TestAProgramThatDoesNotStopIsWaitedForUntilTheMemberHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeat()
		s.lead(nil)
		if now(s.begin(t.Context())) == nil {
			t.Fatal("the program does not lead")
		}
		s.lose(regent.Cause{Why: why.Closed, Member: "a"})
		present, left := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			s.vacant(present)
			close(over)
		}()
		time.Sleep(time.Hour)
		select {
		case <-over:
			t.Error("the leadership is given up while the member is there and the program has not stopped")
		default:
		}
		left()
		synctest.Wait()
		select {
		case <-over:
		default:
			t.Error("it is waited for although the member has left")
			s.mu.Lock()
			s.state.Leave(s.turn.number) // so that the test ends
			s.change()
			s.mu.Unlock()
		}
	})
}

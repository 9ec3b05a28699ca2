package tenure

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestASeatIsTakenOnlyWhileTheHostLeads(t *testing.T) {
	var s Seat
	if _, ok := s.Take(time.Second, 0); ok {
		t.Error("it is taken before the host leads")
	}
	s.Lead()
	if _, ok := s.Take(time.Millisecond, time.Millisecond); ok {
		t.Error("a turn begins that would end at once")
	}
	turn, ok := s.Take(time.Second, time.Millisecond)
	if !ok || turn == 0 {
		t.Fatal("it cannot be taken")
	}
	s.Leave(turn)
	s.Lose()
	if _, ok := s.Take(time.Second, 0); ok {
		t.Error("it is taken after the host has lost")
	}
}

func TestAProgramMustStopWhenItsHostLeadsNoMore(t *testing.T) {
	var s Seat
	s.Lead()
	if s.Lose() != 0 {
		t.Error("somebody must stop, and nobody has begun")
	}
	s.Lead()
	turn, _ := s.Take(time.Second, 0)
	if s.Lose() != turn {
		t.Error("the program need not stop")
	}
}

// All programs of a host that come and go in any order: never do two have the seat, and no number comes twice.
func TestTurnsNeverOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s Seat
	var holder, last uint64
	leads := false
	for range 10_000 {
		switch r.IntN(4) {
		case 0:
			s.Lead()
			leads = true
		case 1:
			if turn := s.Lose(); turn != holder {
				t.Fatalf("turn %d must stop, and turn %d is under way", turn, holder)
			}
			leads = false
		case 2:
			turn, ok := s.Take(time.Second, 0)
			if ok != (leads && holder == 0) || ok && turn <= last {
				t.Fatalf("turn %d (%v) after %d, while %d is under way and leads is %v", turn, ok, last, holder, leads)
			}
			if ok {
				holder, last = turn, turn
			}
		case 3:
			s.Leave(last + 1) // which has not begun
			if s.Leave(holder); holder != 0 {
				s.Leave(holder)
			}
			holder = 0
		}
		if s.Taken() != (holder != 0) {
			t.Fatalf("taken: %v, and turn %d is under way", s.Taken(), holder)
		}
	}
}

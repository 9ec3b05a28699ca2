package core

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// A seat lets programs have their turns in a group that hosts lead, in the order in which they came. It drives a machine of internal/tenure,
// which decides whose turn it is.
type seat struct {
	agent *Agent

	mu    sync.Mutex
	state tenure.Seat
	// host is the lease of the host, in a local group; nil: it has none.
	host *regent.LocalLease
	turn *turn // under way; nil: none is
	// line are those that wait, the first one first. changed is closed when one may be next, or the seat is free.
	line    []*waiter
	changed chan struct{}
	// closed is why no turn begins any more; nil: turns may begin.
	closed error
}

// A waiter is a campaign of a program. need is what the program gives up of the time that it could lead.
type waiter struct{ need time.Duration }

// newSeats returns a seat for each group that hosts lead.
func newSeats(a *Agent) map[string]*seat {
	all := make(map[string]*seat)
	for _, g := range a.Config().Groups {
		if mode := regent.Mode(g.Mode); mode == regent.Local || mode == regent.Eventual {
			all[g.Name] = &seat{agent: a, changed: make(chan struct{})}
		}
	}
	return all
}

// change has those that wait look again. It is called with mu held.
func (s *seat) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// lead takes note that the host leads, by a lease if it has one.
func (s *seat) lead(host *regent.LocalLease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = host
	s.state.Lead()
	s.change()
}

// lose takes note that the host leads no more, for a cause.
func (s *seat) lose(cause regent.Cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Lose() != 0 {
		s.turn.stop(cause)
	}
}

// close ends the campaigns of programs that wait, now and later, with an error. It leaves a turn that is under way alone.
func (s *seat) close(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = err
	s.change()
}

// vacant waits until no program has a turn, or ctx ends: a program may have processes that nothing can kill.
func (s *seat) vacant(ctx context.Context) {
	for {
		s.mu.Lock()
		taken, changed := s.state.Taken(), s.changed
		s.mu.Unlock()
		if !taken {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// campaign waits for a turn of a program, which gives up need of the time that it could lead.
func (s *seat) campaign(ctx context.Context, need time.Duration) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{need}
	s.line = append(s.line, w)
	defer func() {
		s.line = slices.DeleteFunc(s.line, func(x *waiter) bool { return x == w })
		s.change()
	}()
	for {
		if s.closed != nil {
			return nil, s.closed
		}
		if left := s.left(s.host); s.next(left) == w {
			if number, ok := s.state.Take(left, need); ok {
				s.turn = &turn{seat: s, number: number, host: s.host, done: make(chan struct{})}
				return s.turn, nil
			}
		}
		changed := s.changed
		s.mu.Unlock()
		err := s.agent.awaitChange(ctx, changed)
		s.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
}

// next returns the first that waits and needs less than what is left; nil: none does. It is called with mu held.
func (s *seat) next(left time.Duration) *waiter {
	for _, w := range s.line {
		if w.need < left {
			return w
		}
	}
	return nil
}

// left returns how long a program may lead without a further look: as long as the lease of the host, or for the length of a lease if hosts have
// none, so that no program outlives its agent for longer.
func (s *seat) left(host *regent.LocalLease) time.Duration {
	if host != nil {
		return host.Remaining()
	}
	return s.agent.Timing.Lease
}

// A turn is one leadership of one program in a group that hosts lead.
type turn struct {
	seat   *seat
	number uint64
	host   *regent.LocalLease
	// done is closed when the program must stop, for the cause, which may be zero. seat.mu guards stopped and cause.
	done    chan struct{}
	stopped bool
	cause   regent.Cause
}

// stop has the program stop, for the first cause. It is called with seat.mu held.
func (t *turn) stop(cause regent.Cause) {
	if t.stopped {
		return
	}
	t.stopped, t.cause = true, cause
	close(t.done)
}

func (t *turn) Token() uint64         { return 0 }
func (t *turn) Done() <-chan struct{} { return t.done }

// Valid says whether the turn has not ended, and the lease of the host runs if there is one.
func (t *turn) Valid() bool { return t.Remaining() > 0 }

func (t *turn) Remaining() time.Duration {
	t.seat.mu.Lock()
	under := t.seat.turn == t
	t.seat.mu.Unlock()
	if !under {
		return 0
	}
	return t.seat.left(t.host)
}

func (t *turn) Cause() regent.Cause {
	t.seat.mu.Lock()
	defer t.seat.mu.Unlock()
	return t.cause
}

// Resign ends the turn: the program has stopped. The host leads on.
func (t *turn) Resign(context.Context) error {
	s := t.seat
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t {
		return nil
	}
	t.stop(regent.Cause{Why: why.Resigned, Member: s.agent.Name})
	s.turn = nil
	s.state.Leave(t.number)
	s.change()
	return nil
}

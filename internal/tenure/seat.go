package tenure

import "time"

// A Seat is the place of one program under the leadership of its host, in a group that hosts lead: a local or an eventual one. Each turn
// of a program is the upper side of one tenure. The zero value is empty, at a host that does not lead.
//
//   - A turn begins only while the host leads, and while no other turn is under way.
//   - When the host leads no more, the program must stop. It must stop even if the host leads again before it has.
//   - A turn ends when its tenure is over, and not when the leadership of the host is.
type Seat struct {
	leads bool
	// last is the number of the last turn, holder that of the turn under way; zero: none is.
	last, holder uint64
}

// Lead takes note that the host leads.
func (s *Seat) Lead() { s.leads = true }

// Lose takes note that the host leads no more, and returns the turn whose program must stop; zero: no program has one.
func (s *Seat) Lose() (turn uint64) {
	s.leads = false
	return s.holder
}

// Take begins a turn, and returns its number, unless the seat is taken or the host does not lead. left is how long the program could lead by
// what is known now, and need what it gives up of that: a turn that would end at once does not begin.
func (s *Seat) Take(left, need time.Duration) (turn uint64, ok bool) {
	if !s.leads || s.holder != 0 || left <= need {
		return 0, false
	}
	s.last++
	s.holder = s.last
	return s.holder, true
}

// Leave ends a turn. It does nothing if the turn has ended before.
func (s *Seat) Leave(turn uint64) {
	if s.holder == turn {
		s.holder = 0
	}
}

// Taken says whether a turn is under way.
func (s *Seat) Taken() bool { return s.holder != 0 }

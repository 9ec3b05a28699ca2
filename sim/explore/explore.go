// Package explore visits all states that a small council can reach, through the same machines that run everywhere else.
//
// Where the simulator draws one run from a seed, the explorer takes every turn: any order of messages, a message twice, a
// crash, a restart and a resignation at any point. What it can afford is a few members, a few faults and a few leases of
// time, in steps of a quarter of a lease; all clocks are exact, so that every boundary is hit on the spot.
//
//	explore.go     the search           world.go   states and what can happen in them
//	invariants.go  the invariants       encode.go  when two states are the same
//	nerio.go       councils of quorum leases                council.go a council that changes
//	                                                       heirs.go   a council that is given up
//
// A state is remembered by 128 bits of its hash; only the states on the way to the present one are kept whole, and
// machines that did not move are shared between them.
package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Options say what may happen, and how far to go.
type Options struct {
	Members int
	// Spawn makes a machine, which must be Explorable. Boot.Record is what the member's last incarnation left.
	Spawn sim.Spawn
	Group protocol.Group
	// Candidates campaign when the exploration begins, at the same instant. Before that the council is given the time to
	// start, in good order.
	Candidates []protocol.Rank
	// Length is that of the leases that the last of the candidates wants, and any that campaigns again. Beside, if not empty,
	// is another group, which the first candidate wants with leases of that length, too; nothing of it is checked.
	Length time.Duration
	Beside protocol.Group
	// Quorums decides what backs a lease.
	Quorums protocol.Quorums
	// Change, if not nil, is what the first member is asked when the exploration begins: a change of the council. Then C-ONE and C-MONO are
	// checked, and N-14 is not, because quorums differ from member to member.
	Change protocol.Event
	// Gone are members that are lost for good, a while before the exploration begins.
	Gone protocol.Set
	// Realm, if not nil, returns the council of a member. What one member sends does not open at a member of another council, unless Open returns true.
	Realm func(protocol.Machine) protocol.CouncilID
	Open  func(protocol.Message) bool
	// Cut lists pairs of members that cannot talk to each other once the exploration has begun.
	Cut [][2]protocol.Rank
	// Quarter is the step of time, and Quarters how many of them there are.
	Quarter  protocol.Time
	Quarters int

	// Free lets messages arrive in any order, and time pass while they are on their way. Otherwise they arrive in the
	// order in which they were sent, before time passes, unless they are held.
	Free bool
	// Holds is how many messages may be held back; a held message arrives later, at any time, or never. Holdable says which;
	// nil: any.
	Holds    int
	Holdable func(protocol.Message) bool
	// Duplicates is how many messages may arrive twice.
	Duplicates int
	// Crashes, Resignations and Campaigns is how often each of them happens, to whomever. A crashed member may come back.
	Crashes, Resignations, Campaigns int
	// Lost is how many of the members that come back have lost their disks.
	Lost int
	// Died, if not nil, makes the report of a guardian. One to each member, the dead one among them once it is back, arrives after a crash: at any time, or never.
	Died func() protocol.Message
	// Slow is how many programs take their time to stop.
	Slow int
	// Coarse lets crashes, restarts, resignations, campaigns and late messages happen only when nothing else is left to do at
	// an instant.
	Coarse bool

	// States is how many distinct states to visit at most; zero: all.
	States int
	// Progress, if not nil, is called every so often.
	Progress func(states int)
}

// A Result is what came of an exploration.
type Result struct {
	// States counts the distinct states that were visited, Steps the turns taken, Depth the longest way to a state.
	States, Steps, Depth int
	// Steps of the council: the highest number that was chosen on any way, and the states in which a member has lost its disk and takes
	// part again.
	Number    uint64
	Recovered int
	// Stopped counts the states in which a member has agreed to give its council up, and waits, and GivenUp those in which a council of survivors is led.
	Stopped, GivenUp int
	// Led counts the states in which somebody leads, Changed those in which not for the first time.
	Led, Changed int
	// Complete says that there are no others.
	Complete bool
	// Violation is what the last state on the way broke, nil if nothing was ever broken; Way is how it came to that.
	Violation error
	Way       []string
}

// String shows the result, and the way to a violation.
func (r *Result) String() string {
	what := "all of them"
	if !r.Complete {
		what = "more are left"
	}
	s := fmt.Sprintf("%d distinct states (%s), %d turns, depth %d; led in %d, by another than at first in %d",
		r.States, what, r.Steps, r.Depth, r.Led, r.Changed)
	if r.Number > 0 {
		s += fmt.Sprintf("; up to configuration %d, with a member that lost its disk and takes part again in %d", r.Number, r.Recovered)
	}
	if r.Stopped > 0 {
		s += fmt.Sprintf("; a survivor waits in %d, a council of survivors is led in %d", r.Stopped, r.GivenUp)
	}
	if r.Violation != nil {
		s += fmt.Sprintf("\n%v\n  %s", r.Violation, strings.Join(r.Way, "\n  "))
	}
	return s
}

// A search goes down every way, the first turn first, and turns round where it has been before.
type search struct {
	options *Options
	seen    map[key]struct{}
	result  Result
	way     []frame
}

// A frame is a state on the way, with the turns that can be taken there and the next one to take.
type frame struct {
	at    *world
	turns []turn
	next  int
}

// Run explores.
func Run(o Options) (Result, error) {
	start, err := begin(&o)
	if err != nil {
		return Result{}, err
	}
	s := &search{options: &o, seen: make(map[key]struct{}, 1024)}
	s.visit(start)
	for len(s.way) > 0 && s.result.Violation == nil && (o.States == 0 || s.result.States < o.States) {
		f := &s.way[len(s.way)-1]
		if f.next == len(f.turns) {
			s.way = s.way[:len(s.way)-1]
			continue
		}
		f.next++
		if err := s.turn(f.at, f.turns[f.next-1]); err != nil {
			return s.result, err
		}
	}
	s.result.Complete = len(s.way) == 0
	return s.result, nil
}

// turn takes one turn from a state.
func (s *search) turn(from *world, t turn) error {
	s.result.Steps++
	to, err := from.take(t)
	if err != nil {
		return err
	}
	if to.broken != nil {
		s.result.Violation = to.broken
		for _, f := range s.way {
			s.result.Way = append(s.result.Way, f.at.describe(f.turns[f.next-1]))
		}
		return nil
	}
	s.visit(to)
	return nil
}

// visit goes on from a state, unless it was seen before.
func (s *search) visit(w *world) {
	k := w.key()
	if _, ok := s.seen[k]; ok {
		return
	}
	s.seen[k] = struct{}{}
	s.result.States++
	s.result.Number = max(s.result.Number, w.ledger.number())
	if w.ledger.recovered {
		s.result.Recovered++
	}
	if !w.ledger.stopped.Empty() {
		s.result.Stopped++
	}
	if w.ledger.led(w.now()) {
		s.result.Led++
		if w.ledger.heir {
			s.result.GivenUp++
		}
		if w.ledger.tenures > 1 {
			s.result.Changed++
		}
	}
	if p := s.options.Progress; p != nil && s.result.States%100_000 == 0 {
		p(s.result.States)
	}
	s.way = append(s.way, frame{at: w, turns: w.turns()})
	s.result.Depth = max(s.result.Depth, len(s.way))
}

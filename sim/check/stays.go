package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Stays is S-kSTAB: a member that all trust, and that has been accessible for so long (kδ), is trusted by all until it no
// longer is. A member is accessible while it is up and all links to and from it are good, whatever the others are like.
//
// Crashes are for good in the paper, so it does not say when one that comes back counts among all. Here it does once it
// has been up for that time itself, and trusts somebody. Reliable links cannot be had with members that come back, or come
// late, for what was sent to them meanwhile is lost: where they are assumed nothing is judged after that.
type Stays struct {
	opinions opinions
	access   access
	window   time.Duration
	leader   protocol.Ident
	again    sim.Real // when somebody counts who did not before
	void     bool     // what is assumed does not hold any more
}

// NewStays returns the checker for a window of kδ. It needs the records of messages.
func NewStays(t Truth, l Links, window time.Duration) *Stays {
	return &Stays{opinions: newOpinions(t), access: newAccess(t, l), window: window, leader: protocol.NoIdent, again: sim.Forever}
}

// Name returns S-kSTAB.
func (s *Stays) Name() string { return "S-kSTAB" }

// Observe looks at every end of a leadership.
func (s *Stays) Observe(r *sim.Record) error {
	if s.access.links.Reliable && (r.Ev == sim.EvRestart || r.Ev == sim.EvStart && r.T > 0) {
		s.void = true
	}
	if s.void {
		return nil
	}
	s.access.follow(r)
	if !s.opinions.follow(r) && r.T < s.again {
		return nil
	}
	was := s.leader
	s.leader = s.opinions.leader(r.T, s.window)
	s.again = s.opinions.next(r.T, s.window)
	if was.Rank == protocol.Nobody || s.leader == was {
		return nil
	}
	if since := s.access.accessible(was.Rank, r.T); r.T.Sub(since) > s.window {
		return Violatedf(s.Name(), r.T, "%v, whom all trusted and who has been accessible since %v, no longer leads: %v is trusted by %v",
			was, since, s.opinions.of[r.Node].trusts, r.Node)
	}
	return nil
}

// Finish has nothing to add: every end of a leadership was looked at.
func (s *Stays) Finish() error { return nil }

package host

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// acts says whether the program of a campaign acts, by its own reading of its deadline.
func (s *candidacy) acts() bool {
	a := s.client
	return a.acts.runs && !a.p.dead && a.m.Leads(a.now())
}

// seated looks at a turn that begins.
func (c *checker) seated(r *room, o *occupant, turn uint64) {
	switch {
	case !r.leads:
		c.fail("S-LEADS", "turn %d begins on a host that does not lead", turn)
	case turn <= r.last:
		c.fail("S-NUMBER", "turn %d begins after turn %d", turn, r.last)
	case r.left() <= o.need:
		c.fail("S-FIT", "turn %d begins with %v left, of which its program gives up %v", turn, r.left(), o.need)
	}
}

// givenUp looks at a local leadership that is given up, so that another host may lead.
func (c *checker) givenUp(r *room) {
	if r.now != nil && r.now.acts() && c.w.now < r.until {
		c.fail("S-HOST", "the leadership is given up while the program of turn %d acts", r.now.turn)
	}
}

// stopWithin is how long a program may act after its host has lost: it is renewed for its grace, and then heeds its deadline.
const stopWithin = agentGrace + leaseTime + 2*reaction

// idleWithin is how long a seat may be free while the host leads and a program waits.
const idleWithin = 500 * time.Millisecond

// look looks at a room again and again.
func (r *room) look() {
	c, w := &r.h.w.check, r.h.w
	w.after(2*ms, r.look)
	var acting *candidacy
	for _, p := range r.programs {
		if p == nil {
			continue
		}
		for _, a := range p.party {
			s := a.candidacy
			if s.top.p != r.agent || !s.acts() {
				continue // the programs of an earlier agent stop by the deadline that it announced
			}
			if acting != nil && acting != s {
				c.fail("S-ONE", "the programs of turns %d and %d act", acting.life.token, s.life.token)
			}
			acting = s
		}
	}
	if o := r.now; o != nil && o.acts() && w.now > o.lost.Add(stopWithin) {
		c.fail("S-STOP", "the program of turn %d acts, and its host has led no more since %v", o.turn, o.lost)
	}
	waits := r.leads && len(r.line) > 0 && r.now == nil && w.calm && r.h.agent != nil && r.h.runs(r.h.agent)
	switch {
	case !waits:
		r.idle = protocol.Never
	case r.idle == protocol.Never:
		r.idle = w.now
	case w.now > r.idle.Add(idleWithin):
		c.fail("S-LIVE", "the host leads, a program waits, and none has had a turn since %v", r.idle)
	}
}

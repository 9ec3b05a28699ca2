package lease

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// adopt puts the next configuration in force at some members: without the seats in absent, and with the votes of the others.
func (c *council) adopt(who, absent protocol.Set, floor uint64) []envelope {
	var out []envelope
	for r := range who.All() {
		out = append(out, c.do(r, func(h *half) {
			vacated := absent.Minus(h.cfg.Absent)
			h.cfg.Epoch++
			h.cfg.Absent, h.n = absent, h.cfg.Members-absent.Len()
			h.grantor.Adopt()
			h.grantor.Raise(floor)
			h.holder.Adopt(c.now, vacated, protocol.Cause{})
		})...)
	}
	return out
}

// D dropassign: a voter that forgot an assignment would give the group away under a lease.
func TestAdoptionKeepsLeasesAndAssignments(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.pump(c.do(0, func(h *half) { h.holder.Try(c.now, "long", 300*ms) }))
	c.try(0, "g")
	before, long := c.led(0, "g"), c.led(0, "long")
	c.now = c.now.Add(10 * ms)
	c.pump(c.adopt(protocol.Everyone(3), protocol.Set{}, 100))
	l := c.led(0, "g")
	if l.Token != before.Token || l.Tenure != before.Tenure || l.Epoch != before.Epoch || l.End < before.End || l.Backers != before.Backers {
		t.Errorf("lease %+v, want it as before: %+v", l, before)
	}
	if x := c.led(0, "long"); x.Token != long.Token || x.End < long.End {
		t.Errorf("lease %+v, want it as before: %+v", x, long)
	}
	for r := range protocol.Rank(3) {
		for _, g := range []protocol.Group{"g", "long"} {
			if s := c.members[r].grantor.Status(c.now, g); s.Holder != c.ident(0) {
				t.Errorf("D dropassign: %v has %s assigned to %v", r, g, s.Holder)
			}
		}
	}
	c.try(1, "g")
	if _, ok := c.lease(1, "g"); ok {
		t.Error("D dropassign: a second member leads")
	}
	c.tick(time.Second)
	c.led(0, "g")
}

// The longest promise becomes shorter than a lease that is led. The lease goes on, with promises of the longest, each time renewed in time.
func TestLeaseThatIsLongerThanTheNewLongestGoesOn(t *testing.T) {
	c := newCouncil(t, mixed(3))
	c.pump(c.do(0, func(h *half) { h.holder.Try(c.now, "long", 2*time.Second) }))
	before := c.led(0, "long")
	for _, h := range c.members {
		h.cfg.Longest = 300 * ms
	}
	c.sent = nil
	c.pump(c.adopt(protocol.Everyone(3), protocol.Set{}, 0))
	c.tick(10 * time.Second)
	if l := c.led(0, "long"); l.Token != before.Token || l.Tenure != before.Tenure || l.End.Sub(c.now) > c.cfg.hold(300*ms) {
		t.Errorf("lease %+v at %v, before %+v", l, c.now, before)
	}
	for _, e := range c.sent {
		if r, ok := e.msg.(*Request); ok && (r.Delta > 300*ms || len(r.More) != 1 || r.More[0].Delta > 300*ms) {
			t.Errorf("asked for %+v", r)
		}
	}
	c.mute, c.deaf = protocol.NewSet(0), protocol.NewSet(0)
	c.tick(c.cfg.Rho.WaitAtLeast(300 * ms))
	c.pump(c.do(1, func(h *half) { h.holder.Try(c.now, "long", 300*ms) }))
	c.led(1, "long")
}

// The floor of a configuration holds for groups that are led, too.
func TestAdoptionRaisesTerms(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.pump(c.adopt(protocol.Everyone(3), protocol.Set{}, 100))
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) }))
	c.try(1, "g")
	if l := c.led(1, "g"); l.Token <= 100 || l.Epoch != 4 {
		t.Errorf("D nofloor: token %d of epoch %d", l.Token, l.Epoch)
	}
	c = newCouncil(t, plain(3))
	c.try(0, "g")
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) }))
	c.members[1].grantor.Raise(100)
	if r := c.claim(1, 2, 1, Claim{Group: "g", Tenure: 1, Term: 50}); r.Code != Low {
		t.Errorf("D nofloor: a term below the floor is %v", r.Code)
	}
}

// D oldok: a voter judges requests of its own configuration only.
func TestRequestsOfAnotherConfigurationAreRefused(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.adopt(protocol.NewSet(1), protocol.Set{}, 0)
	if n, ok := c.request(1, 0, Request{Seq: 1}).(*Nack); !ok || n.Why != WhyEpoch {
		t.Error("D oldok: a request of an earlier configuration is granted")
	}
	c.members[1].cfg.Epoch -= 2
	if n, ok := c.request(1, 0, Request{Seq: 1}).(*Nack); !ok || n.Why != WhyEpoch {
		t.Error("D oldok: a request of a later configuration is granted")
	}
}

// D oldbasis: two of five have left. A lease ends with a majority of those that are left.
func TestEndsMoveByTheMembersThatAreLeft(t *testing.T) {
	c := newCouncil(t, plain(5))
	c.try(0, "g")
	before := c.led(0, "g")
	c.now = c.now.Add(60 * ms)
	gone := protocol.NewSet(3, 4)
	out := c.adopt(protocol.NewSet(0, 1, 2), gone, 0)
	if l := c.led(0, "g"); l.End != before.End || l.Backers != protocol.NewSet(0, 1, 2) {
		t.Errorf("D oldbasis: until %v by %v, want %v", l.End, l.Backers, before.End)
	}
	for _, e := range out {
		if gone.Has(e.to) {
			t.Errorf("%v is still asked", e.to)
		}
	}
	c.deaf = protocol.NewSet(1, 2)
	c.pump(out)
	if l := c.led(0, "g"); l.End != before.End {
		t.Error("D oldbasis: one of three has moved the end")
	}
	c.deaf = protocol.NewSet(2)
	c.tick(60 * ms)
	if l := c.led(0, "g"); l.End <= before.End {
		t.Error("two of three have not moved the end")
	}
}

// D keepattempt: acknowledgements of two configurations do not add up to a leadership.
func TestAttemptsBeginAnew(t *testing.T) {
	c := newCouncil(t, plain(3))
	claims := c.do(0, func(h *half) { h.holder.Try(c.now, "g", 0) })
	var answers []envelope
	for _, e := range claims {
		answers = append(answers, c.deliver(e)...)
	}
	c.adopt(protocol.NewSet(0), protocol.Set{}, 0)
	c.pump(answers)
	if _, ok := c.lease(0, "g"); ok {
		t.Error("D keepattempt: an attempt of the configuration before has succeeded")
	}
	if c.members[0].holder.Active() {
		t.Error("D keepattempt: the attempt goes on")
	}
}

// R8: a voter waits for the longest of its promises, of whatever length.
func TestPromisedIsTheEndOfTheLastPromise(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	short := c.members[1].grantor.Promised()
	c.pump(c.do(2, func(h *half) { h.holder.Try(c.now, "long", 300*ms) }))
	if long := c.members[1].grantor.Promised(); long != c.now.Add(c.cfg.Rho.WaitAtLeast(300*ms)) || long <= short {
		t.Errorf("D renewed: it has promised until %v, before the long one until %v", long, short)
	}
	c.restart(1, c.now.Add(time.Hour))
	if at := c.members[1].grantor.Promised(); at != c.now.Add(time.Hour) {
		t.Errorf("D renewed: after a restart it has promised until %v", at)
	}
}

// A newcomer learns who leads: claims go to every member.
func TestNewcomerGetsTheClaims(t *testing.T) {
	cfg := plain(4)
	cfg.Absent = protocol.NewSet(3)
	c := newCouncil(t, cfg)
	for _, h := range c.members {
		h.n = 3
	}
	c.try(0, "g")
	c.tick(200 * ms)
	c.pump(c.adopt(protocol.Everyone(4), protocol.Set{}, 0))
	if s := c.members[3].grantor.Status(c.now, "g"); s.Holder != c.ident(0) || !s.Leads() {
		t.Errorf("the newcomer knows %+v", s)
	}
	if l := c.led(0, "g"); l.Backers != protocol.Everyone(4) {
		t.Errorf("%v back it", l.Backers)
	}
}

// An answer counts with the drift that held when it was asked for.
func TestAnswerCountsWithTheDriftOfItsRequest(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.now = c.now.Add(50 * ms)
	start := c.now
	asked := c.do(0, func(*half) {})
	c.members[0].cfg.Rho = 0
	c.pump(asked)
	if l := c.led(0, "g"); l.End != start.Add(c.cfg.Rho.WaitAtMost(c.cfg.Lease)) {
		t.Errorf("R6: until %v", l.End.Sub(start))
	}
}

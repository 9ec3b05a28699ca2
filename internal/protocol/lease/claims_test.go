package lease

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestGroupsWithTheSameBackersShareAHorizon(t *testing.T) {
	c := newCouncil(t, plain(3))
	for i := range 100 {
		c.try(0, protocol.Group(fmt.Sprint(i)))
	}
	c.tick(200 * ms)
	h := c.members[0].holder
	if len(h.classes) > manyClasses {
		t.Errorf("%d classes for groups that all back alike", len(h.classes))
	}
	c.now = h.renew
	asked := c.do(0, func(*half) {})
	moves := 0
	for _, l := range asked {
		for _, a := range c.deliver(l) {
			c.deliver(a)
			moves += len(c.members[0].out.Horizons)
			if n := len(c.members[0].outcomes); n > 1000 {
				t.Fatalf("%d outcomes", n)
			}
		}
	}
	if moves == 0 || moves > 2*len(h.classes) {
		t.Errorf("a renewal moved horizons %d times with %d classes", moves, len(h.classes))
	}
}

// Whoever joins a class must neither lose what it had nor gain what nobody promised it.
func TestJoiningAClassNeitherShortensNorLengthens(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.tick(200 * ms)
	c.deaf = protocol.NewSet(1)
	c.now = c.now.Add(10 * ms)
	start := c.now
	c.try(0, "h") // backed by 0 and 2 only; g by all three
	g, h := c.led(0, "g"), c.led(0, "h")
	if want := start.Add(c.cfg.Rho.WaitAtMost(c.cfg.Lease)); h.End != want || g.End != want {
		t.Errorf("g until %v, h until %v, want both until %v", g.End, h.End, want)
	}
	if h.Horizon == g.Horizon {
		t.Error("both lie behind one horizon though other voters back them")
	}
}

func TestRequestsCarryABoundedNumberOfClaims(t *testing.T) {
	c := newCouncil(t, plain(3))
	name := strings.Repeat("x", 40)
	out := c.do(0, func(h *half) {
		for i := range 500 {
			h.holder.Try(c.now, protocol.Group(fmt.Sprintf("%s-%d", name, i)), 0)
		}
	})
	perVoter := make(map[protocol.Rank]int)
	for _, l := range out {
		r := l.msg.(*Request)
		perVoter[l.to]++
		size := 0
		for _, cl := range r.Claims {
			size += len(cl.Group) + partSize
		}
		if len(r.Claims) > maxParts || size > maxBytes+len(name)+partSize+4 {
			t.Errorf("a request with %d claims of %d bytes", len(r.Claims), size)
		}
	}
	if perVoter[1] != window {
		t.Errorf("%d requests to one voter at once, want %d", perVoter[1], window)
	}
	c.pump(out)
	for i := range 500 {
		c.led(0, protocol.Group(fmt.Sprintf("%s-%d", name, i)))
	}
}

func TestStaleRefusalSendsItsClaimsAgain(t *testing.T) {
	c := newCouncil(t, plain(3))
	first := c.do(0, func(h *half) { h.holder.Try(c.now, "g", 0) })
	second := c.do(0, func(h *half) { h.holder.Try(c.now, "h", 0) })
	c.pump(second) // overtakes the first
	c.pump(first)
	c.led(0, "g")
	c.led(0, "h")
}

func TestSilentVoterIsAskedOncePerRenewal(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.deaf = protocol.NewSet(2)
	for i := range 200 {
		c.try(0, protocol.Group(fmt.Sprint(i)))
	}
	c.tick(100 * ms)
	before := 0
	for _, l := range c.sent {
		if l.to == 2 {
			before++
		}
	}
	c.tick(500 * ms)
	after := -before
	for _, l := range c.sent {
		if l.to == 2 {
			after++
		}
	}
	if after != 10 {
		t.Errorf("%d requests to a silent voter in ten renewals", after)
	}
}

func TestLeaseLengthFollowsTheMeasuredRoundTrips(t *testing.T) {
	cfg := plain(3)
	cfg.Adapt, cfg.Lease, cfg.Longest = true, 2*time.Second, 2*time.Second
	c := newCouncil(t, cfg)
	h := c.members[0].holder
	if d := h.delta(h.lengths[0]); d != cfg.Lease {
		t.Errorf("before anything was measured: %v, want %v", d, cfg.Lease)
	}
	for i, trip := range []time.Duration{0, 10 * ms, 900 * ms} {
		h.voters[i].rtt.add(c.now, trip)
	}
	if d, want := h.delta(h.lengths[0]), cfg.Rho.RealAtMost(150*ms+cfg.Rho.WaitAtLeast(10*ms)); d != want {
		t.Errorf("a quorum answers in 10ms: %v, want %v", d, want)
	}
	h.voters[1].rtt.add(c.now, 5*time.Second)
	h.voters[2].rtt.add(c.now, 5*time.Second)
	if d := h.delta(h.lengths[0]); d != cfg.Lease {
		t.Errorf("round trips of seconds: %v, want no more than %v", d, cfg.Lease)
	}
	for range 2 * manyTrips {
		h.voters[1].rtt.add(c.now, 10*ms)
	}
	if d := h.voters[1].rtt.slowest(); d != 10*ms {
		t.Errorf("a slow round trip is remembered for ever: %v", d)
	}
}

func TestManyGroupsAskForLongerUpToTheLongest(t *testing.T) {
	cfg := plain(3)
	cfg.PerGroup, cfg.Longest = ms, cfg.Lease+20*ms
	c := newCouncil(t, cfg)
	h := c.members[0].holder
	h.Begin(c.now, &protocol.Effects{})
	for i := range 30 {
		if d, want := h.delta(h.lengths[0]), cfg.Lease+time.Duration(min(i, 20))*ms; d != want {
			t.Errorf("with %d groups: %v, want %v", i, d, want)
		}
		h.Try(c.now, protocol.Group(fmt.Sprint("g", i)), 0)
	}
	cfg.PerGroup = -1
	if err := cfg.Check(); err == nil {
		t.Error("a negative length was accepted")
	}
}

func TestInconsistentConstantsAreRefusedWithTheInequality(t *testing.T) {
	for _, x := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Lease = 40 * ms }, "must exceed twice the round trip 20ms"},
		{func(c *Config) { c.Renew = 190 * ms }, "at least 210.2"},
		{func(c *Config) { c.Longest = 100 * ms }, "must be at least the lease 200ms"},
		{func(c *Config) { c.Me = 3 }, "only 3 members"},
		{func(c *Config) { c.Members = 0 }, "between 1 and"},
		{func(c *Config) { c.Rho = -1 }, "rho"},
		{func(c *Config) { c.RoundTrip = 0 }, "round trip 0s"},
		{func(c *Config) { c.Renew = 0 }, "interval 0s"},
	} {
		c := plain(3)
		x.change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("got %v, want %q", err, x.want)
		}
	}
}

func TestClassIsJoinedOnlyIfItsEndFits(t *testing.T) {
	c := newCouncil(t, plain(3))
	h := c.members[0].holder
	h.Begin(c.now, &protocol.Effects{})
	all := protocol.Everyone(3)
	for i := range h.voters {
		h.lengths[0].by[i].end = 100
	}
	in := func(name protocol.Group, had protocol.Time) *tenure {
		x := &tenure{group: name, length: h.lengths[0], token: 1, until: protocol.Never}
		h.join(x, all, had)
		return x
	}
	a := in("a", 0)
	if b := in("b", 0); b.class != a.class || b.end() != 100 {
		t.Errorf("equal leases are apart: %v and %v", b.end(), a.end())
	}
	long := in("long", 150) // had more, from voters that are gone
	if long.end() != 150 || long.class == a.class {
		t.Errorf("a lease until 150 was cut to %v", long.end())
	}
	if short := in("short", 50); short.end() != 100 {
		t.Errorf("a lease that is entitled to 100 got %v", short.end())
	}
	for i := range h.voters {
		h.lengths[0].by[i].end = 120
		h.extend(protocol.Rank(i))
	}
	if x := in("new", 0); x.end() != 120 || x.class != a.class {
		t.Errorf("got %v, want the renewed end 120", x.end())
	}
}

package lease

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// requested returns the voters that the requests go to, but for the sender itself.
func requested(ls []envelope) (s protocol.Set) {
	for _, l := range ls {
		if _, is := l.msg.(*Request); is && l.to != l.from {
			s.Add(l.to)
		}
	}
	return s
}

// renew lets one interval pass and returns the voters that the leader asks then. They answer.
func (c *council) renew() protocol.Set {
	c.now = c.now.Add(c.cfg.Renew)
	ls := c.do(0, func(*half) {})
	c.pump(ls)
	return requested(ls)
}

func TestRoundAsksAQuorumAndEveryVoterInEverySecondRound(t *testing.T) {
	for n := 2; n <= 8; n++ {
		c := newCouncil(t, plain(n))
		c.try(0, "g")
		before := protocol.Everyone(n)
		for i := range 20 {
			now := c.renew()
			if all := before.Union(now).With(0); all != protocol.Everyone(n) {
				t.Fatalf("%d members, round %d: asks %v after %v", n, i, now, before)
			}
			if now.Len() != n/2 {
				t.Errorf("%d members, round %d: asks %v, which is not a quorum with the leader, or more than one", n, i, now)
			}
			if l, want := c.led(0, "g"), c.now.Add(c.cfg.hold(c.cfg.Lease)); l.End != want {
				t.Fatalf("%d members, round %d: until %v, want %v as when all are asked", n, i, l.End, want)
			}
			before = now
		}
	}
}

// A voter is not left out if its promise would end before it can be asked twice again.
func TestShortLeasesAreRenewedByAllInEveryRound(t *testing.T) {
	for _, x := range []struct {
		lease time.Duration
		all   bool
	}{{130 * ms, true}, {131 * ms, false}} { // two intervals and one and a half round trips
		cfg := plain(3)
		cfg.Lease = x.lease
		c := newCouncil(t, cfg)
		c.try(0, "g")
		for i := range 4 {
			if now := c.renew(); (now == protocol.NewSet(1, 2)) != x.all {
				t.Errorf("leases of %v, round %d: asks %v", x.lease, i, now)
			}
		}
	}
}

// The lease ends no later than it would if all were asked, and the one that is not there costs a round trip once.
func TestSilentVoterIsReplacedWithinARoundTrip(t *testing.T) {
	for _, n := range []int{3, 4, 5} {
		for dead := protocol.Rank(1); int(dead) < n; dead++ {
			c := newCouncil(t, plain(n))
			c.try(0, "g")
			for range 3 {
				c.renew()
			}
			c.deaf.Add(dead)
			least := c.cfg.Lease
			for end := c.now.Add(time.Second); c.now < end; c.tick(ms) {
				least = min(least, c.led(0, "g").End.Sub(c.now))
			}
			if want := c.cfg.hold(c.cfg.Lease) - c.cfg.Renew - c.members[0].cfg.patience(); least < want-ms {
				t.Errorf("%d members, without %v: %v were left of a lease, want %v", n, dead, least, want)
			}
		}
	}
}

func TestVoterThatRefusesIsReplacedAtOnce(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.renew()
	for c.renew() != protocol.NewSet(1) {
	}
	c.renew()
	c.members[1].grantor.Close() // it leaves
	if c.renew(); c.led(0, "g").End != c.now.Add(c.cfg.hold(c.cfg.Lease)) {
		t.Error("the voter that can renew the lease was not asked")
	}
}

func TestVoterThatBeginsAnewIsReplacedAtOnce(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	for c.renew() != protocol.NewSet(1) {
	}
	c.renew()
	c.restart(1, c.now) // a voter that had promised nothing for long
	c.now = c.now.Add(c.cfg.Renew)
	ls := c.do(0, func(*half) {})
	for i, asked := 0, false; i < len(ls); i++ { // what it is asked after that is lost
		if again := asked && ls[i].to == 1; !again {
			ls = append(ls, c.deliver(ls[i])...)
		}
		asked = asked || ls[i].to == 1
	}
	if got, want := c.led(0, "g").End, c.now.Add(c.cfg.hold(c.cfg.Lease)); got != want {
		t.Errorf("until %v, want %v: the other voter was not asked", got, want)
	}
}

func TestMemberWithManyGroupsAsksAll(t *testing.T) {
	c := newCouncil(t, plain(3))
	for i := range manyTenures {
		c.try(0, protocol.Group(fmt.Sprint(i)))
	}
	if got := c.renew(); got.Len() != 1 {
		t.Errorf("with %d groups: asks %v", manyTenures, got)
	}
	c.try(0, "one more")
	for range 2 {
		if got := c.renew(); got.Len() != 2 {
			t.Errorf("with %d groups: asks %v", manyTenures+1, got)
		}
	}
}

// A lease that not all back is renewed by a quorum of those that do, in every round.
func TestRoundAsksThoseThatBackTheLease(t *testing.T) {
	c := newCouncil(t, plain(5))
	c.members[1].refuse = true
	c.try(0, "g")
	c.members[1].refuse = false
	c.members[2].refuse = true
	c.try(0, "h")
	c.members[2].refuse = false
	for i := range c.members { // nothing is left to be claimed
		h := c.members[i].holder
		for j := range h.voters {
			h.voters[j].refused = nil
		}
	}
	for i := range 10 {
		c.renew()
		want := c.now.Add(c.cfg.hold(c.cfg.Lease))
		if g, h := c.led(0, "g"), c.led(0, "h"); g.End != want || h.End != want {
			t.Fatalf("round %d: until %v (backed by %v) and %v (%v), want %v", i, g.End, g.Backers, h.End, h.Backers, want)
		}
	}
}

// A voter that has lately not renewed a promise that it was asked for is not relied on.
func TestVoterThatOmitsAPromiseIsNotReliedOn(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	for range 4 {
		c.members[0].holder.voters[1].omitted = 1
		c.members[0].holder.voters[2].omitted = 0
		if now := c.renew(); !now.Has(2) {
			t.Errorf("asks %v only", now)
		}
	}
}

// Long leases are renewed less often, and by turns of their own.
func TestEachLengthHasItsTurns(t *testing.T) {
	for every := time.Duration(1); every <= 6; every++ {
		cfg := plain(3)
		cfg.Longest = 10 * cfg.Lease
		c := newCouncil(t, cfg)
		for _, h := range c.members {
			h.reach.Durable = cfg.Longest
		}
		c.try(0, "short")
		c.pump(c.do(0, func(h *half) { h.holder.Try(c.now, "long", every*cfg.Lease+ms) }))
		last := map[time.Duration]map[protocol.Rank]protocol.Time{0: {}, every*cfg.Lease + ms: {}}
		note := func(ls []envelope) {
			for _, l := range ls {
				if r, is := l.msg.(*Request); is && l.to != 0 {
					if r.Delta > 0 {
						last[0][l.to] = c.now
					}
					for _, a := range r.More {
						last[a.Length][l.to] = c.now
					}
				}
			}
		}
		for i := range 60 {
			c.now = c.now.Add(cfg.Renew)
			ls := c.do(0, func(*half) {})
			c.pump(ls)
			note(ls)
			for length, by := range last { // order does not matter: all have to hold
				interval := cfg.Renew
				if length > 0 {
					interval = every * cfg.Renew
				}
				for r, at := range by {
					if c.now.Sub(at) > 2*interval {
						t.Fatalf("%d rounds, leases of %v: %v was asked %v ago", i, length, r, c.now.Sub(at))
					}
				}
				if g := map[bool]protocol.Group{true: "short", false: "long"}[length == 0]; c.led(0, g).End.Sub(c.now) < 140*ms {
					t.Fatalf("%d rounds: %s ends in %v", i, g, c.led(0, g).End.Sub(c.now))
				}
			}
		}
	}
}

// A leader that has released a group votes for its successor, whatever a voter says that has not received the release.
func TestReleasedLeaderIsWaitedFor(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.deaf.Add(2)
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) }))
	c.deaf = protocol.Set{}
	ls := c.do(1, func(h *half) { h.holder.Try(c.now, "g", 0) })
	slices.SortStableFunc(ls, func(a, b envelope) int { return int(b.to) - int(a.to) }) // the refusal comes first
	for len(ls) > 0 {
		l := ls[0]
		ls = append(c.deliver(l), ls[1:]...)
	}
	c.led(1, "g")
}

// What members a new configuration has is learned by all at once.
func TestChangeIsReportedToAll(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.renew()
	h := c.members[0].holder
	ls := c.do(0, func(*half) { h.Adopt(c.now, protocol.Set{}, protocol.Cause{}) })
	if requested(ls) != protocol.NewSet(1, 2) {
		t.Errorf("asks %v", requested(ls))
	}
	c.pump(ls)
	c.now = c.now.Add(ms)
	if ls = c.do(0, func(*half) { h.CaughtUp(c.now) }); requested(ls) != protocol.NewSet(1, 2) {
		t.Errorf("after the word that one has caught up: asks %v", requested(ls))
	}
}

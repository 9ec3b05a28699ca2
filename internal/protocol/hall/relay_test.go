package hall_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
)

var first = protocol.Ident{Rank: 0, Inc: 1}

func relayed(request uint64, age time.Duration) *hall.Relay {
	return &hall.Relay{Root: first, Age: age, Election: *asked(request)}
}

// relays returns the members that the last Step sent a Relay to, and the last of those messages.
func (x *member) relays() (to protocol.Set, msg *hall.Relay) {
	for _, e := range x.Last.Send {
		if r, ok := e.Message.(*hall.Relay); ok {
			to.Add(e.To)
			msg = r
		}
	}
	return to, msg
}

// asks returns the members that the last Step sent an Election to, and the last of those messages.
func (x *member) asks() (to protocol.Set, msg *hall.Election) {
	for _, e := range x.Last.Send {
		if r, ok := e.Message.(*hall.Election); ok {
			to.Add(e.To)
			msg = r
		}
	}
	return to, msg
}

// rooted returns a leader of ten that is supported by all, at its next renewal with time for a whole round.
func rooted(t *testing.T) *member {
	x := inTree(t, 0)
	for x.sent < 10 {
		x.round(protocol.Everyone(10).Without(0))
		if to, msg := x.relays(); !to.Empty() && !msg.Election.Support.Empty() {
			return x
		}
	}
	t.Fatal("no renewal was relayed")
	return nil
}

// round has all of those support the present request, each directly, and goes on to the next one.
func (x *member) round(who protocol.Set) {
	request := x.sent
	x.loop()
	for r := range who.All() {
		x.hear(r, yes(request, x.cfg.Self, r))
	}
	for x.sent == request {
		x.at(x.Last.Wake)
	}
}

func TestLeaderSendsARenewalToTheTopOfItsTreeOnly(t *testing.T) {
	x := rooted(t)
	to, msg := x.relays()
	if to != protocol.NewSet(1, 2) || msg.Root != first || msg.Age != 0 || msg.Election.Request != x.sent {
		t.Errorf("relayed %+v to %v, want the request to its two children", msg, to)
	}
	if to, _ := x.asks(); to != protocol.NewSet(0) {
		t.Errorf("directly to %v, want to itself only", to)
	}
}

// TestCandidateSendsARequestDownTheTree follows a candidate from its start on. It knows nobody at first; its next request goes to
// its two children and to those that it has not met.
func TestCandidateSendsARequestDownTheTree(t *testing.T) {
	x := inTree(t, 0)
	if to, _ := x.asks(); to != protocol.Everyone(10) {
		t.Errorf("the first request goes directly to %v, want to all", to)
	}
	x.loop()
	x.hear(1, &hall.Reply{Request: 1, Yes: protocol.NewSet(1, 3, 4, 7, 8, 9)})
	for _, r := range []protocol.Rank{2, 3, 4, 5, 6} {
		x.hear(r, yes(1, 0, r))
	}
	for x.sent == 1 {
		x.at(x.Last.Wake)
	}
	to, msg := x.relays()
	direct, _ := x.asks()
	if nodes := protocol.NewSet(1, 2, 3, 4, 5, 6); to != protocol.NewSet(1, 2) || msg.Election.Nodes != nodes || !msg.Election.Support.Empty() {
		t.Errorf("relayed %+v to %v, want it to b and c for the tree of %v", msg, to, nodes)
	}
	if want := protocol.NewSet(0, 7, 8, 9); direct != want {
		t.Errorf("asks %v directly, want %v: it has only the word of b that h, i and j are there", direct, want)
	}
}

// TestFirstRequestAfterALeaderGoesDownTheTree lets the leader of ten fall silent. The next candidate asks along a tree of the
// members of the partition that it has met before, and the leader is none of them.
func TestFirstRequestAfterALeaderGoesDownTheTree(t *testing.T) {
	x := inTree(t, 1)
	for r := range protocol.Everyone(8).Without(1).All() {
		x.hear(r, &hall.Election{Request: 1})
	}
	e := asked(2)
	e.Support = protocol.Everyone(10)
	x.hear(0, e)
	request := x.sent
	for x.sent == request {
		x.at(x.Last.Wake)
	}
	to, msg := x.relays()
	if nodes := protocol.NewSet(2, 3, 4, 5, 6, 7); to != protocol.NewSet(2, 3) || msg.Election.Nodes != nodes {
		t.Fatalf("relayed %+v to %v, want it to c and d for the tree of %v", msg, to, nodes)
	}
	if direct, _ := x.asks(); direct != protocol.NewSet(0, 1, 8, 9) {
		t.Errorf("asks %v directly, want a, itself, and i and j, which it has not met", direct)
	}
	// Nobody answers. It asks all nodes directly within the round, and all members in the next one.
	var within protocol.Set
	for x.sent == request+1 {
		x.at(x.Last.Wake)
		if to, _ := x.asks(); x.sent == request+1 {
			within = within.Union(to)
		}
	}
	if within != msg.Election.Nodes {
		t.Errorf("asked %v directly within the round, want all nodes", within)
	}
	// A member that it meets then refuses it again and again, so it stays without a lease.
	for missed := x.Now; x.Now.Sub(missed) < 2*(x.cfg.Expires+x.cfg.Period); {
		if direct, _ := x.asks(); !direct.Contains(msg.Election.Nodes) {
			t.Fatalf("request %d goes to %v directly, want all nodes that never answered", x.sent, direct)
		}
		request := x.sent
		x.loop()
		x.hear(8, no(request, 1, 8))
		for x.sent == request {
			x.at(x.Last.Wake)
		}
	}
}

// TestLeaderWithAShortLeaseAsksDirectly lets the replies come late, so that the lease that begins may end before another round does.
func TestLeaderWithAShortLeaseAsksDirectly(t *testing.T) {
	x := inTree(t, 0)
	x.round(protocol.Everyone(10).Without(0))
	x.round(protocol.Everyone(10).Without(0))
	if _, e := x.asks(); x.sent != 3 || e.Support.Empty() {
		t.Fatalf("request %d is no renewal: %+v", x.sent, e)
	}
	if to, _ := x.asks(); to != protocol.Everyone(10) {
		t.Errorf("the renewal goes directly to %v, want to all", to)
	}
}

func TestNodeSendsARequestOnWithTheSumOfTheBounds(t *testing.T) {
	x := inTree(t, 4)
	x.hearSlowly(1, relayed(1, 2*time.Millisecond), 3*time.Millisecond)
	to, msg := x.relays()
	if to != protocol.NewSet(9) || msg.Root != first || msg.Age != 5*time.Millisecond {
		t.Fatalf("sent %+v on to %v, want it with an age of 5 ms to its child", msg, to)
	}
	x.hear(9, yes(1, 0, 9))
	if r, to := x.reply(); to != 1 || r.Yes != protocol.NewSet(4, 9) {
		t.Errorf("replied %+v to %v", r, to)
	}
	x.hear(1, relayed(1, 0))
	if to, _ := x.relays(); !to.Empty() {
		t.Errorf("sent the same request on again, to %v", to)
	}
}

// TestRelayedRequestCountsByTheSumOfItsBounds shows that a lock is given for what came from the root within Δ, and for nothing
// that may have taken longer, whatever its last hop took.
func TestRelayedRequestCountsByTheSumOfItsBounds(t *testing.T) {
	for _, c := range []struct {
		age, hop time.Duration
		counts   bool
	}{
		{6 * time.Millisecond, 4 * time.Millisecond, true},
		{6 * time.Millisecond, 4*time.Millisecond + 1, false},
		{10*time.Millisecond + 1, 0, false},
		{1<<63 - 1, time.Millisecond, false},
		{0, protocol.Unknown, false},
		{0, 11 * time.Millisecond, false},
		{-time.Hour, 4 * time.Millisecond, true},
		{-time.Hour, 10*time.Millisecond + 1, false},
	} {
		x := inTree(t, 4)
		x.hearSlowly(1, relayed(1, c.age), c.hop)
		granted := false
		for _, f := range x.Last.Facts {
			granted = granted || f.Ev == protocol.EvGrant
		}
		to, _ := x.relays()
		if granted != c.counts || to.Empty() == c.counts {
			t.Errorf("age %v, last hop %v: granted %v and sent on to %v, want %v", c.age, c.hop, granted, to, c.counts)
		}
	}
}

func TestRelayOfAnEarlierIncarnationOfTheRootChangesNothing(t *testing.T) {
	x := inTree(t, 4)
	x.step(&protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 2}, Message: asked(1), Delay: time.Millisecond})
	x.hear(1, relayed(7, 0))
	if len(x.Last.Send) != 0 || len(x.Last.Facts) != 0 {
		t.Errorf("did %+v", x.Last)
	}
	for _, root := range []protocol.Ident{{Rank: 10, Inc: 1}, {Rank: 4, Inc: 1}, protocol.NoIdent} {
		x.hear(1, &hall.Relay{Root: root, Election: *asked(8)})
		if len(x.Last.Send) != 0 || len(x.Last.Facts) != 0 {
			t.Errorf("root %v: did %+v", root, x.Last)
		}
	}
}

// TestLeaderAsksDirectlyWithinTheRound has no answer come from below b. The leader asks those members itself, in time for their
// answers to renew the lease, and leaves them out of its tree for a while.
func TestLeaderAsksDirectlyWithinTheRound(t *testing.T) {
	x := rooted(t)
	request, began := x.sent, x.Now
	x.loop()
	x.hear(1, yes(request, 0, 1))
	x.hear(2, yes(request, 0, 2, 5, 6))
	x.at(x.Last.Wake)
	silent := protocol.NewSet(3, 4, 7, 8, 9)
	to, e := x.asks()
	if to != silent || e.Request != request || e.Nodes.Intersect(silent) != (protocol.Set{}) {
		t.Fatalf("asks %v with %+v, want those that are silent, with the same request", to, e)
	}
	rest := x.cfg.Rho.WaitAtLeast(time.Duration(x.cfg.Window())*x.cfg.Delta) - x.Now.Sub(began)
	if rest < 2*x.cfg.Delta+x.cfg.Sched {
		t.Errorf("%v are left of the round, want at least 2Δ and a late timer", rest)
	}
	x.Now += 20 * ms
	for r := range silent.All() {
		x.hear(r, yes(request, 0, r))
	}
	renewed := false
	for _, f := range x.Last.Facts {
		renewed = renewed || f.Ev == protocol.EvLease && f.Gen == request
	}
	if !renewed {
		t.Fatalf("not renewed: %+v", x.Last.Facts)
	}
	for x.sent == request {
		x.at(x.Last.Wake)
	}
	if direct, _ := x.asks(); direct != silent.With(0) {
		t.Errorf("next time it asks %v directly, want those that were silent", direct)
	}
}

func TestLeaderThatHearsABetterMemberInsistsOnNothing(t *testing.T) {
	x := join(t, 1, 10, func(c *hall.Config) {
		c.Arity = 2
		c.Timing = c.Timing.Fit(c.Window())
	})
	all := protocol.Everyone(10).Without(0).Without(1)
	for led := false; !led; {
		x.round(all)
		to, msg := x.relays()
		led = !to.Empty() && !msg.Election.Support.Empty()
	}
	x.loop()
	x.hear(0, &hall.Election{Request: 1, Alive: protocol.Everyone(10)})
	for len(x.Last.Views) == 0 {
		x.at(x.Last.Wake)
		if to, _ := x.asks(); to.Intersect(all) != (protocol.Set{}) {
			t.Fatalf("asks %v though a is better", to)
		}
	}
}

// TestNodeThatPassesThingsOnIsNotSilent lets the leader that a calm member supports ask for nothing for a while. It goes on to take over
// what others say, so the member need not wait for it when it asks again.
func TestNodeThatPassesThingsOnIsNotSilent(t *testing.T) {
	x := join(t, 2, 10, func(c *hall.Config) {
		c.Arity, c.Calm = 2, time.Second
		c.Timing = c.Timing.Fit(c.Window())
	})
	request := &hall.Election{Request: 1, Alive: protocol.Everyone(10)}
	if !x.supported(0, request) {
		t.Fatal("does not support the first member")
	}
	for end := x.Now.Add(2 * x.cfg.Expires); x.Now < end; x.Now = x.Now.Add(50 * time.Millisecond) {
		x.hear(0, &hall.Ack{Root: 5, Request: 1})
	}
	request.Request++
	x.hear(0, request)
	if len(x.Sent("hall.Reply")) != 1 {
		t.Error("takes the first member for one that fell silent")
	}
}

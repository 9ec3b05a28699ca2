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
	all := protocol.Everyone(10).Without(0)
	for {
		request := x.sent
		x.loop()
		for r := range all.All() {
			x.hear(r, yes(request, 0, r))
		}
		for x.sent == request {
			x.at(x.Last.Wake)
		}
		if to, _ := x.relays(); !to.Empty() {
			return x
		}
		if x.sent > 10 {
			t.Fatal("no request was relayed")
		}
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

func TestCandidateWithoutALeaseAsksEverybodyDirectly(t *testing.T) {
	x := inTree(t, 0)
	for range 2 {
		if to, _ := x.asks(); to != protocol.Everyone(10) {
			t.Errorf("request %d goes directly to %v, want to all", x.sent, to)
		}
		request := x.sent
		x.loop()
		x.hear(1, &hall.Reply{Request: request, Yes: protocol.Everyone(10).Without(0)})
		for x.sent == request {
			x.at(x.Last.Wake)
		}
	}
	// It leads now. The lease began with its last request, and may end before a round that takes its whole time.
	if to, _ := x.asks(); x.sent != 3 || to != protocol.Everyone(10) {
		t.Errorf("request %d goes directly to %v, want the third one to all", x.sent, to)
	}
}

func TestMembersThatDoNotSupportTheLeaderYetAreAskedDirectly(t *testing.T) {
	x := inTree(t, 0)
	for round := 0; ; round++ {
		request := x.sent
		x.loop()
		x.hear(1, &hall.Reply{Request: request, Yes: protocol.NewSet(1, 2, 3, 4, 5, 6, 7, 8)})
		if to, _ := x.relays(); !to.Empty() || round > 10 {
			break
		}
		if round == 4 {
			x.hear(9, no(1, 0, 9)) // it was refused then, and is heard now
		}
		for x.sent == request {
			x.at(x.Last.Wake)
		}
		if to, _ := x.relays(); to.Empty() {
			continue
		}
		direct, e := x.asks()
		if !direct.Has(9) {
			t.Fatalf("j is not asked directly: %v", direct)
		}
		if e.Alive.Has(9) {
			if !e.Missing.Has(9) {
				t.Errorf("j is in the tree: missing are %v", e.Missing)
			}
			return
		}
	}
	t.Error("j was never among the members alive")
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
	if to != silent || e.Request != request || e.Missing != silent {
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
	// The rest of that lease is too short for another such round, so the next request goes to all directly.
	if direct, _ := x.asks(); x.sent != request+1 || direct != protocol.Everyone(10) {
		t.Errorf("request %d goes directly to %v, want the next one to all", x.sent, direct)
	}
	x.loop()
	x.hear(1, yes(request+1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	for x.sent == request+1 {
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
	for {
		request := x.sent
		x.loop()
		x.hear(2, &hall.Reply{Request: request, Root: 1, Yes: all})
		for x.sent == request {
			x.at(x.Last.Wake)
		}
		if to, _ := x.relays(); !to.Empty() {
			break
		}
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

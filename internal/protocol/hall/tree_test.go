package hall_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
)

// inTree is a member of a council of ten with a binary reply tree. The tree of a, with everybody alive, is:
//
//	            a
//	     b             c
//	  d     e       f     g
//	h   i  j
func inTree(t testing.TB, self protocol.Rank) *member {
	return join(t, self, 10, func(c *hall.Config) {
		c.Arity = 2
		c.Timing = c.Timing.Fit(c.Window())
	})
}

func asked(request uint64) *hall.Election {
	return &hall.Election{Request: request, Alive: protocol.Everyone(10), Nodes: protocol.Everyone(10)}
}

func TestLeafRepliesToItsParentAndTheTopToTheRoot(t *testing.T) {
	for self, want := range map[protocol.Rank]protocol.Rank{5: 2, 6: 2, 7: 3, 8: 3, 9: 4} {
		x := inTree(t, self)
		x.hear(0, asked(1))
		r, to := x.reply()
		if to != want || r.Root != 0 || r.Age != 0 || r.Yes != protocol.NewSet(self) {
			t.Errorf("%v replies %+v to %v, want its own yes to %v", self, r, to, want)
		}
	}
}

func TestInnerNodeCollatesAndAcknowledges(t *testing.T) {
	x := inTree(t, 4)
	x.hear(0, asked(1))
	if len(x.Sent("hall.Reply")) != 0 {
		t.Fatal("does not wait for its child")
	}
	x.Now += 4 * ms
	x.hear(9, no(1, 0, 9))
	r, to := x.reply()
	if to != 1 || r.Yes != protocol.NewSet(4) || r.No != protocol.NewSet(9) {
		t.Errorf("sent %+v to %v", r, to)
	}
	if r.Age < 4*time.Millisecond || r.Age > 5*time.Millisecond {
		t.Errorf("age %v, want the four milliseconds that it has waited: its child's answer is younger", r.Age)
	}
	if acks := x.Sent("hall.Ack"); len(acks) != 1 || acks[0] != 9 {
		t.Errorf("acknowledged to %v", acks)
	}
}

func TestInnerNodeDoesNotWaitForADeadChildForLong(t *testing.T) {
	x := inTree(t, 4)
	x.hear(0, asked(1))
	due := x.Last.Wake
	if wait := due.Sub(x.Now); wait > x.cfg.Delta {
		t.Fatalf("waits %v for a leaf, want at most Δ", wait)
	}
	x.at(due)
	if r, to := x.reply(); to != 1 || r.Yes != protocol.NewSet(4) {
		t.Errorf("sent %+v to %v", r, to)
	}
	x.Now += ms
	x.hear(9, yes(1, 0, 9))
	if r, to := x.reply(); to != 0 || r.Yes != protocol.NewSet(9) {
		t.Errorf("the late answer goes on as %+v to %v, want to the root at once", r, to)
	}
}

func TestInnerNodeDoesNotWaitForAReplyThatCameBeforeTheRequest(t *testing.T) {
	x := inTree(t, 4)
	x.hear(9, yes(1, 0, 9))
	if r, to := x.reply(); to != 0 || r.Yes != protocol.NewSet(9) {
		t.Errorf("passed on as %+v to %v", r, to)
	}
	x.hear(0, asked(1))
	if r, to := x.reply(); to != 1 || r.Yes != protocol.NewSet(4) {
		t.Errorf("sent %+v to %v, want its own answer at once", r, to)
	}
}

func TestChildGoesPastASilentParent(t *testing.T) {
	x := inTree(t, 9)
	x.hear(0, asked(1))
	given := x.Now
	x.at(x.Last.Wake)
	if wait := x.Now.Sub(given); wait != x.cfg.Rho.WaitAtLeast(2*x.cfg.Delta) {
		t.Fatalf("waited %v for its parent", wait)
	}
	r, to := x.reply()
	if to != 0 || r.Age < 2*x.cfg.Delta {
		t.Errorf("sent %+v to %v, want it at the root with its age", r, to)
	}
	// With an acknowledgement it does not.
	x = inTree(t, 9)
	x.hear(0, asked(1))
	x.hear(4, &hall.Ack{Root: 0, Request: 1})
	x.at(x.Now + 25*ms)
	if len(x.Sent("hall.Reply")) != 0 {
		t.Errorf("replies twice: %+v", x.Last.Send)
	}
}

func TestMemberOutsideTheTreeAnswersDirectly(t *testing.T) {
	e := asked(2)
	e.Nodes = e.Nodes.Without(4).Without(9)
	x := inTree(t, 9)
	x.hear(0, e)
	if len(x.Sent("hall.Reply")) != 1 {
		t.Fatal("no reply")
	}
	if _, to := x.reply(); to != 0 {
		t.Errorf("replied to %v, want the root", to)
	}
}

// TestEveryCandidateHasATreeOfItsOwn lets a member be asked by a second candidate while it collates for the first.
func TestEveryCandidateHasATreeOfItsOwn(t *testing.T) {
	x := inTree(t, 4)
	x.hear(0, asked(1))
	x.hear(1, asked(7))
	if n := len(x.Sent("hall.Reply")); n != 0 {
		t.Fatalf("%d replies when the second request came, want none: both wait for a child", n)
	}
	x.Now += ms
	x.hear(9, yes(1, 0, 9))
	if r, to := x.reply(); to != 1 || r.Root != 0 || r.Request != 1 || r.Yes != protocol.NewSet(4, 9) {
		t.Errorf("for the first candidate %+v to %v", r, to)
	}
	x.hear(9, no(7, 1, 9))
	if r, to := x.reply(); to != 0 || r.Root != 1 || r.Request != 7 || r.No != protocol.NewSet(4, 9) {
		t.Errorf("for the second candidate %+v to %v", r, to)
	}
	// Neither parent acknowledges: both replies go past them, in one Step.
	x.at(x.Last.Wake)
	roots := map[protocol.Rank]protocol.Set{}
	for _, e := range x.Last.Send {
		if r, ok := e.Message.(*hall.Reply); ok {
			roots[e.To] = r.Yes.Union(r.No)
		}
	}
	if both := protocol.NewSet(4, 9); len(roots) != 2 || roots[0] != both || roots[1] != both {
		t.Errorf("sent past silent parents: %v", roots)
	}
}

// TestWhoWasMissedAnswersDirectlyForAWhile follows the Elections of a root that missed a member once: by the time that the
// member is in the tree again, the root has forgotten every node that it could not hear.
func TestWhoWasMissedAnswersDirectlyForAWhile(t *testing.T) {
	x := inTree(t, 0)
	answer := func(who ...protocol.Rank) (direct protocol.Set) {
		request := x.sent
		x.loop()
		for _, r := range who {
			x.hear(r, yes(request, 0, r))
		}
		for x.sent == request {
			x.at(x.Last.Wake)
			if to, _ := x.asks(); x.sent == request && to == protocol.NewSet(3) && len(who) == 3 {
				x.hear(3, yes(request, 0, 3))
			}
		}
		e := x.mine.(*hall.Election)
		return protocol.NewSet(1, 2, 3).Minus(e.Nodes)
	}
	answer(1, 2, 3)
	if got := answer(1, 2); got != protocol.NewSet(3) {
		t.Fatalf("asked directly are %v, want d, which did not answer", got)
	}
	missed, rounds := x.Now, 0
	for got := protocol.NewSet(3); !got.Empty(); rounds++ {
		got = answer(1, 2, 3)
	}
	if is, want := x.Now.Sub(missed), x.cfg.Expires+x.cfg.Period; rounds < 2 || is < want-x.cfg.Period || is > want+x.cfg.Period {
		t.Errorf("in the tree again after %d rounds and %v, want after about %v", rounds, is, want)
	}
}

func TestRootCountsCollatedRepliesByTheirAge(t *testing.T) {
	x := inTree(t, 0)
	limit := time.Duration(x.cfg.Window()-1) * x.cfg.Delta
	x.loop()
	x.hear(1, &hall.Reply{Request: 1, Root: 0, Yes: protocol.NewSet(1, 3, 4), Age: limit - time.Millisecond})
	x.hear(2, &hall.Reply{Request: 1, Root: 0, Yes: protocol.NewSet(2, 5), Age: limit})
	x.hearSlowly(6, yes(1, 0, 6), x.cfg.Delta+1)
	x.at(x.Last.Wake)
	if len(x.Sent("hall.Election")) == 0 {
		t.Fatal("no second request")
	}
	if _, e := x.asks(); e.Alive != protocol.NewSet(0, 1, 3, 4) {
		t.Errorf("alive %v, want those whose answers were young enough: a b d e", e.Alive)
	}
}

// TestTreeOfAThousand lets every member find its place: each has one parent, and all paths lead to the root.
func TestTreeOfAThousand(t *testing.T) {
	const n = 1000
	children := map[protocol.Rank]int{}
	for self := protocol.Rank(1); self < n; self += 7 {
		x := join(t, self, n, func(c *hall.Config) {
			c.Arity = 8
			c.Timing = c.Timing.Fit(c.Window())
		})
		x.hear(0, &hall.Election{Request: 1, Nodes: protocol.Everyone(n)})
		if len(x.Sent("hall.Reply")) == 0 {
			x.at(x.Last.Wake)
		}
		_, to := x.reply()
		if want := (self - 1) / 8; to != want {
			t.Fatalf("%v replies to %v, want %v", self, to, want)
		}
		children[to]++
	}
	if len(children) < 100 {
		t.Errorf("only %d parents", len(children))
	}
}

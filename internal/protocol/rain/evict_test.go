package rain

import (
	"slices"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// TestWhoWaitsConfirmsToTheBestThatIsNotDead has c wait to be taken in by b, whose view still has a.
func TestWhoWaitsConfirmsToTheBestThatIsNotDead(t *testing.T) {
	for phase, want := range map[Phase]bool{Alive: false, Stopping: true, Joining: true, Out: true} {
		r := newHarness(t, 3, nil)
		g := r.group(2)
		g.phase = Joining
		g.peers[0].said, g.peers[0].spoke = State{Phase: phase}, true
		g.peers[1].said, g.peers[1].spoke = State{Phase: Alive, View: View{Number: Number{Vid: 5}, Members: protocol.NewSet(0, 1)}}, true
		g.invites[1] = Topic{Group: "g", Number: Number{Vid: 5}, Kind: Up, About: 2, Attempt: 3}
		r.do(2, func(*Machine) { g.acceptInvitations() })
		if is := slices.Contains(r.sent, "accept(3) 3->2"); is != want {
			t.Errorf("a is %v: confirmed to b: %v, want %v", phase, is, want)
		}
	}
}

// TestTheEndWithMoreBrokenLinksIsFailing looks at c, which is no end of any broken link. d is in the view or was in an earlier one.
func TestTheEndWithMoreBrokenLinksIsFailing(t *testing.T) {
	for name, c := range map[string]struct {
		members protocol.Set
		lacks   map[protocol.Rank]protocol.Set
		want    protocol.Rank
	}{
		"no link is broken":           {protocol.Everyone(5), nil, protocol.Nobody},
		"one, both ends say so":       {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(4), 4: protocol.NewSet(0)}, 4},
		"one, one end says so":        {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(4)}, 4},
		"two against one":             {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(3, 4)}, 0},
		"one of the two is out":       {protocol.NewSet(0, 1, 2, 4), map[protocol.Rank]protocol.Set{0: protocol.NewSet(4), 3: protocol.NewSet(0)}, 0},
		"only links to who is out":    {protocol.NewSet(0, 1, 2, 4), map[protocol.Rank]protocol.Set{0: protocol.NewSet(3)}, protocol.Nobody},
		"a link to the judge is seen": {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(2)}, protocol.Nobody},
	} {
		r := newHarness(t, 5, nil)
		g := r.group(2)
		g.view.Members = c.members
		for from, lacks := range c.lacks {
			g.onLinks(from, &Links{Group: "g", Broken: lacks})
		}
		g.judge(1)
		if g.failing != protocol.Nobody {
			t.Errorf("%s: %v has to leave at once", name, g.failing)
		}
		g.judge(1 + protocol.Time(g.m.cfg.Evict))
		if g.failing != c.want {
			t.Errorf("%s: %v has to leave, want %v", name, g.failing, c.want)
		}
	}
}

// TestALinkToWhoIsGoneCountsAgainstNobody has d crash, and then the link of a and e break.
func TestALinkToWhoIsGoneCountsAgainstNobody(t *testing.T) {
	r := newHarness(t, 5, nil)
	g := r.group(2)
	g.peers[3].up, g.peers[3].broke = false, true
	for _, from := range []protocol.Rank{0, 1, 4} {
		g.onLinks(from, &Links{Group: "g", Broken: protocol.NewSet(3)})
	}
	g.judge(1)
	if len(g.rifts) != 0 {
		t.Errorf("broken links %v, want none: all have lost d", g.rifts)
	}
	g.onLinks(0, &Links{Group: "g", Broken: protocol.NewSet(3, 4)})
	g.judge(1)
	g.judge(1 + protocol.Time(g.m.cfg.Evict))
	if g.failing != 4 {
		t.Errorf("%v has to leave, want e: a and e have a broken link each", g.failing)
	}
}

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
		want    protocol.Set
	}{
		"no link is broken":           {protocol.Everyone(5), nil, protocol.Set{}},
		"one, both ends say so":       {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(4), 4: protocol.NewSet(0)}, protocol.NewSet(4)},
		"one, one end says so":        {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(4)}, protocol.NewSet(4)},
		"two against one":             {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(3, 4)}, protocol.NewSet(0)},
		"one of the two is out":       {protocol.NewSet(0, 1, 2, 4), map[protocol.Rank]protocol.Set{0: protocol.NewSet(4), 3: protocol.NewSet(0)}, protocol.NewSet(0)},
		"only links to who is out":    {protocol.NewSet(0, 1, 2, 4), map[protocol.Rank]protocol.Set{0: protocol.NewSet(3)}, protocol.Set{}},
		"a link to the judge is seen": {protocol.Everyone(5), map[protocol.Rank]protocol.Set{0: protocol.NewSet(2)}, protocol.Set{}},
	} {
		r := newHarness(t, 5, nil)
		g := r.group(2)
		g.view.Members = c.members
		for from, lacks := range c.lacks {
			g.onLinks(from, &Links{Group: "g", Broken: lacks})
		}
		g.judge(1)
		if !g.failing.Empty() {
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
	if g.failing != protocol.NewSet(4) {
		t.Errorf("%v has to leave, want e: a and e have a broken link each", g.failing)
	}
}

// TestTheFewestMembersExplainAllBrokenLinks looks for the causes of broken links in small networks.
func TestTheFewestMembersExplainAllBrokenLinks(t *testing.T) {
	for name, c := range map[string]struct {
		links [][2]protocol.Rank
		want  protocol.Set
	}{
		"none":                       {nil, protocol.Set{}},
		"one: the lower rank":        {[][2]protocol.Rank{{0, 3}}, protocol.NewSet(3)},
		"two of one member":          {[][2]protocol.Rank{{0, 3}, {0, 1}}, protocol.NewSet(0)},
		"e lost one to each of two":  {[][2]protocol.Rank{{1, 3}, {0, 4}, {1, 4}, {0, 5}}, protocol.NewSet(0, 1)},
		"two that are apart":         {[][2]protocol.Rank{{0, 1}, {2, 3}}, protocol.NewSet(1, 3)},
		"all links of three members": {[][2]protocol.Rank{{0, 1}, {0, 2}, {1, 2}}, protocol.NewSet(1, 2)},
	} {
		s := make(survey, 6)
		for _, l := range c.links {
			s[l[0]].Add(l[1])
			s[l[1]].Add(l[0])
		}
		if got := s.causes(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestCausesAreFoundInLargeNetworks has 32 pairs of members without a link: more than are searched for.
func TestCausesAreFoundInLargeNetworks(t *testing.T) {
	s := make(survey, 64)
	for r := range s {
		s[r].Add(protocol.Rank(r ^ 1))
	}
	found := s.causes()
	if n := found.Len(); n != 32 {
		t.Errorf("%d members explain 32 broken links: %v", n, found)
	}
}

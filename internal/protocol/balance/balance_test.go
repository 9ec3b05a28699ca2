package balance

import (
	"fmt"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// order returns the order of so many members that weigh the same.
func order(n int) (o Order) {
	for i := range n {
		o = append(o, Share{Seed: Seed(fmt.Sprint("host", i))})
	}
	return o
}

// counts returns how many of 10,000 groups each member has.
func counts(o Order, among protocol.Set) map[protocol.Rank]int {
	out := make(map[protocol.Rank]int)
	for i := range 10_000 {
		out[o.First(protocol.Group(fmt.Sprint("group/", i)), among)]++
	}
	return out
}

func TestGroupsSpreadEvenly(t *testing.T) {
	o := order(5)
	for among := protocol.Everyone(5); !among.Empty(); among.Remove(among.Min()) {
		mean := 10_000 / among.Len()
		for r, n := range counts(o, among) {
			if !among.Has(r) || n*10 > mean*11 {
				t.Errorf("of %v, %v has %d groups; the mean is %d", among, r, n, mean)
			}
		}
	}
}

func TestGroupsOfOthersStayWhenAMemberLeaves(t *testing.T) {
	o := order(5)
	all := protocol.Everyone(5)
	for i := range 1000 {
		g := protocol.Group(fmt.Sprint("g", i))
		first := o.First(g, all)
		for r := range all.All() {
			if next := o.First(g, all.Without(r)); next == r || r != first && next != first {
				t.Fatalf("%s is of %v, and without %v of %v", g, first, r, next)
			}
		}
	}
}

func TestPlacesAreAnOrder(t *testing.T) {
	o := order(5)
	o[1].Weight, o[2].Class, o[3].Class = 3, 1, 1
	all := protocol.Everyone(5)
	for i := range 1000 {
		g := protocol.Group(fmt.Sprint("g", i))
		var seen protocol.Set
		for r := range all.All() {
			seen.Add(protocol.Rank(o.Place(g, r, all)))
		}
		if seen != all || o.Place(g, o.First(g, all), all) != 0 {
			t.Fatalf("%s: places %v", g, seen)
		}
		if first := o.First(g, all); first != 2 && first != 3 {
			t.Fatalf("%s: %v goes first, of a lower class", g, first)
		}
	}
	if r := o.First("g", protocol.Set{}); r != protocol.Nobody {
		t.Errorf("of nobody, %v goes first", r)
	}
}

func TestWeightsAreShares(t *testing.T) {
	o := order(4)
	o[0].Weight, o[1].Weight = 3, 2 // of 3, 2, 1 and 1
	n := counts(o, protocol.Everyone(4))
	for r, share := range []int{3, 2, 1, 1} {
		want := 10_000 * share / 7
		if got := n[protocol.Rank(r)]; got*10 > want*11 || got*11 < want*10 {
			t.Errorf("%v has %d groups, want about %d", protocol.Rank(r), got, want)
		}
	}
}

// Members of different versions must agree: the order is part of the protocol.
func TestOrderDoesNotChange(t *testing.T) {
	o := order(5)
	got := ""
	for i := range 12 {
		got += o.First(protocol.Group(fmt.Sprint("g", i)), protocol.Everyone(5)).String()
	}
	if want := "aaedbddcebcb"; got != want {
		t.Errorf("first are %q, want %q", got, want)
	}
}

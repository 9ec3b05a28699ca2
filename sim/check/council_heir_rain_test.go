package check

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/rain"
)

// begun adds that a and b go on as another council, without c, d and e.
func begun(s *rainTrace) *rainTrace {
	c := &council.Config{Council: protocol.CouncilID{1}, Number: 1, Parents: []council.Parent{{}}}
	for r := range protocol.Rank(5) {
		if r < 2 {
			c.Members = append(c.Members, council.Member{Seat: r, Name: r.String(), Role: council.Leader})
		} else {
			c.Former = append(c.Former, council.Former{Seat: r, Name: r.String(), Until: 1})
		}
	}
	s.add(0, protocol.Fact{Ev: protocol.EvChosen, Seq: 1, Detail: c})
	s.add(0, protocol.Fact{Ev: protocol.EvAdopt, Seq: 1, Why: "chosen", Detail: c})
	return s.add(1, protocol.Fact{Ev: protocol.EvAdopt, Seq: 1, Why: "chosen", Detail: c})
}

func TestCouncilOfSurvivorsHasItsOwnViews(t *testing.T) {
	early := rain.View{Number: rain.Number{Token: 1, Vid: 1}, Members: protocol.Everyone(4), Joined: protocol.Everyone(4)}
	all := rain.View{Number: rain.Number{Token: 1, Vid: 2}, Members: protocol.Everyone(5), Joined: protocol.NewSet(4), Parent: early.Number}
	first := func(on *rain.View, unfinished ...protocol.Loss) rain.View {
		return rain.View{Number: rain.Number{Token: 1 << 40, Vid: on.Number.Vid + 1}, Members: protocol.NewSet(0, 1), Joined: protocol.NewSet(0, 1), Failed: on.Members,
			Parent: on.Number, Epoch: 1, Unfinished: unfinished}
	}
	base := func() *rainTrace {
		return newRainTrace(t).install(0, early, "decided").install(1, early, "told").told(0, early, 2*time.Millisecond)
	}
	missed := func() *rainTrace { // only lost members know the last one
		return begun(base().install(2, all, "decided").told(2, all, time.Hour))
	}
	for name, c := range map[string]struct {
		s     *rainTrace
		about string
		want  string
	}{
		"on top of the last that they know":    {begun(base()).install(0, first(&early), "decided"), "R-HEIR", ""},
		"one of them knows a later one":        {begun(base().install(1, all, "told")).install(0, first(&early), "decided"), "R-HEIR", "R-HEIR"},
		"a member that failed is not named":    {missed().install(0, first(&early), "decided"), "R-HEIR", "R-HEIR"},
		"all who may have failed are named":    {missed().install(0, first(&early, protocol.Loss{Members: protocol.NewSet(4)}), "decided"), "R-HEIR", ""},
		"a program receives one of before":     {begun(base()).told(1, early, time.Second), "R-HEIR", "R-HEIR"},
		"a lost member goes on by its leave":   {missed().install(0, first(&early), "decided").told(0, first(&early), time.Second), "R-OUT", "R-OUT"},
		"it has leave of lost members":         {missed().add(2, protocol.Fact{Ev: protocol.EvHorizon, Seq: 3, Until: protocol.Time(2 * time.Hour)}).told(0, first(&early), time.Second), "R-OUT", ""},
		"a survivor is not of the view and on": {begun(base()).told(1, first(&early), time.Hour).told(0, without(first(&early), 1), time.Second), "R-OUT", "R-OUT"},
	} {
		for _, x := range HeirsRain(c.s, CouncilSpec{}, rainGroup) {
			if x.Name() == c.about {
				if got := c.s.judgedBy(x); got != c.want {
					t.Errorf("%s: %q, want %q", name, got, c.want)
				}
			}
		}
	}
}

// without returns the view after one, of which a member has failed.
func without(v rain.View, r protocol.Rank) rain.View {
	v.Parent, v.Number.Vid, v.Members = v.Number, v.Number.Vid+1, v.Members.Without(r)
	return v
}

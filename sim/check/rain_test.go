package check

import (
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

const rainGroup protocol.Group = "g"

// A rainTrace is a trace of consistent groups, made by hand; every record is a millisecond after the one before.
type rainTrace struct {
	*parsedTrace
	now sim.Real
}

func newRainTrace(t *testing.T) *rainTrace { return &rainTrace{parsedTrace: parse(t, "")} }

func (s *rainTrace) add(node protocol.Rank, f protocol.Fact) *rainTrace {
	s.now += sim.Real(time.Millisecond)
	f.Dom, f.Group = protocol.Consistent, rainGroup
	s.records = append(s.records, sim.Record{T: s.now, Node: node, Inc: 1, Fact: f})
	return s
}

// said adds a fact about one member's word to another about a third.
func (s *rainTrace) said(ev protocol.Ev, from, to, about protocol.Rank) *rainTrace {
	return s.add(from, protocol.Fact{Ev: ev, Peer: protocol.Ident{Rank: to, Inc: 1}, Members: protocol.NewSet(about), Why: "dn"})
}

func (s *rainTrace) install(node protocol.Rank, v rain.View, why string) *rainTrace {
	return s.add(node, protocol.Fact{Ev: protocol.EvInstall, Members: v.Members, Term: v.Number.Token, Gen: v.Number.Vid, Why: why, Detail: v})
}

// lost returns a loss of members of a council that does not change.
func lost(members ...protocol.Rank) []protocol.Loss {
	return []protocol.Loss{{Members: protocol.NewSet(members...)}}
}

// told adds that a program is told of a view, and may go on until an instant of its member's clock.
func (s *rainTrace) told(node protocol.Rank, v rain.View, until time.Duration) *rainTrace {
	s.add(node, protocol.Fact{Ev: protocol.EvHorizon, Seq: uint64(node) + 1, Until: protocol.Time(until)})
	return s.add(node, protocol.Fact{Ev: sim.EvView, Detail: &protocol.View{Group: rainGroup, Domain: protocol.Consistent, Support: v.Members,
		Leader: protocol.Ident{Rank: v.Manager, Inc: 1}, Term: v.Number.Token, Horizon: protocol.HorizonID(node) + 1,
		Agreed: &protocol.Agreed{Vid: v.Number.Vid, Failed: v.Failed, Joined: v.Joined, Unfinished: v.Unfinished}}})
}

func (s *rainTrace) dead(node protocol.Rank) *rainTrace {
	s.add(node, protocol.Fact{Ev: sim.EvView, Detail: &protocol.View{Group: rainGroup, Domain: protocol.Consistent, Leader: protocol.NoIdent}})
	return s.add(node, protocol.Fact{Ev: protocol.EvNode, Why: "dead"})
}

func (s *rainTrace) healed(core ...protocol.Rank) *rainTrace {
	s.add(protocol.Nobody, protocol.Fact{Ev: sim.EvPhase, Why: sim.Liveness, Members: protocol.NewSet(core...)})
	return s
}

// judgedBy plays the trace to a checker, and returns the name of the invariant that it violates.
func (s *rainTrace) judgedBy(c Checker) string {
	var v *Violation
	for i := range s.records {
		s.parsedTrace.now = s.records[i].T
		if err := c.Observe(&s.records[i]); errors.As(err, &v) {
			return v.Name
		}
	}
	s.parsedTrace.now = s.now.Add(time.Hour)
	if err := c.Finish(); errors.As(err, &v) {
		return v.Name
	}
	return ""
}

// Views for the cases: all five, then without e, and another one of the same number.
var (
	viewAll    = rain.View{Number: rain.Number{Token: 1, Vid: 1}, Members: protocol.Everyone(5), Joined: protocol.Everyone(5)}
	viewFour   = rain.View{Number: rain.Number{Token: 1, Vid: 2}, Members: protocol.Everyone(4), Failed: protocol.NewSet(4), Parent: viewAll.Number}
	viewRival  = rain.View{Number: rain.Number{Token: 1, Vid: 2}, Members: protocol.NewSet(0, 1, 2, 4), Failed: protocol.NewSet(3), Parent: viewAll.Number}
	viewBranch = rain.View{Number: rain.Number{Token: 2, Vid: 2}, Members: protocol.NewSet(0, 1, 2, 4), Failed: protocol.NewSet(3), Parent: viewAll.Number}
	viewAgain  = rain.View{Number: rain.Number{Token: 2, Vid: 2}, Members: protocol.Everyone(4), Failed: protocol.NewSet(4), Parent: viewAll.Number, Manager: 1}
	viewThree  = rain.View{Number: rain.Number{Token: 2, Vid: 3}, Members: protocol.NewSet(1, 2, 3), Failed: protocol.NewSet(0), Parent: viewAgain.Number,
		Unfinished: lost(4), Manager: 1}
)

// forgets adds that a member has lost its record.
func forgets(s *rainTrace, node protocol.Rank) *rainTrace {
	return s.add(node, protocol.Fact{Ev: protocol.EvSpeak, Why: "recovered"})
}

func TestOneChain(t *testing.T) {
	base := func() *rainTrace { return newRainTrace(t).install(0, viewAll, "decided").told(0, viewAll, time.Second) }
	for name, c := range map[string]struct {
		s    *rainTrace
		want string
	}{
		"views on top of one another":           {base().install(0, viewFour, "decided").told(0, viewFour, time.Second).told(1, viewFour, time.Second), ""},
		"announced under a later token":         {base().install(0, viewFour, "decided").told(0, viewFour, time.Second).install(1, viewAgain, "announced").told(1, viewAgain, time.Second).install(1, viewThree, "decided").told(1, viewThree, time.Second), ""},
		"one that nobody was told of":           {base().install(0, viewFour, "decided").install(1, viewBranch, "decided").told(1, viewBranch, time.Second), ""},
		"two views of one number":               {base().install(0, viewFour, "decided").install(1, viewRival, "decided"), "R-UNIQ"},
		"not on top of the one reported before": {base().install(0, viewFour, "decided").told(0, viewFour, time.Second).install(1, viewBranch, "decided").told(1, viewBranch, time.Second), "R-UNIQ"},
		"never installed":                       {base().told(0, viewFour, time.Second), "R-UNIQ"},
		"after all that knew it forgot":         {forgets(base().install(0, viewFour, "decided").told(0, viewFour, time.Second), 0).install(1, viewBranch, "decided").told(1, viewBranch, time.Second), ""},
		"after one that knew it forgot":         {forgets(base().install(0, viewFour, "decided").install(1, viewFour, "told").told(0, viewFour, time.Second), 0).install(2, viewBranch, "decided").told(2, viewBranch, time.Second), "R-UNIQ"},
		"back to an older one":                  {base().install(0, viewFour, "decided").told(0, viewFour, time.Second).told(0, viewAll, time.Second), "R-UNIQ"},
	} {
		if got := c.s.judgedBy(NewOneChain(rainGroup)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOutside(t *testing.T) {
	base := func() *rainTrace {
		return newRainTrace(t).told(0, viewAll, time.Second).told(4, viewAll, 5*time.Millisecond)
	}
	for name, c := range map[string]struct {
		s    *rainTrace
		want string
	}{
		"its leave is over":    {base().add(0, protocol.Fact{Ev: "x"}).told(0, viewFour, time.Second), ""},
		"it was told to stop":  {newRainTrace(t).told(4, viewAll, time.Hour).dead(4).told(0, viewFour, time.Second), ""},
		"it goes on":           {newRainTrace(t).told(4, viewAll, time.Hour).told(0, viewFour, time.Second), "R-OUT"},
		"it is told too late":  {newRainTrace(t).told(0, viewFour, time.Second).told(4, viewAll, time.Hour), "R-OUT"},
		"its leave is renewed": {base().add(0, protocol.Fact{Ev: "x"}).told(0, viewFour, time.Second).add(4, protocol.Fact{Ev: protocol.EvHorizon, Seq: 5, Until: protocol.Time(time.Hour)}), "R-OUT"},
	} {
		if got := c.s.judgedBy(NewOutside(c.s, rainGroup)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRecovered(t *testing.T) {
	base := func() *rainTrace {
		return newRainTrace(t).install(0, viewAll, "decided").install(0, viewFour, "decided")
	}
	next := rain.View{Number: rain.Number{Token: 1, Vid: 3}, Members: protocol.NewSet(0, 1, 2), Failed: protocol.NewSet(3), Parent: viewFour.Number}
	died := next
	died.Members, died.Failed, died.Unfinished = protocol.NewSet(1, 2, 3), protocol.NewSet(0), lost(4)
	forgot := died
	forgot.Unfinished = nil
	done := protocol.Fact{Ev: protocol.EvDone, Term: 1, Gen: 1}
	second := protocol.Fact{Ev: protocol.EvDone, Term: 1, Gen: 2}
	for name, c := range map[string]struct {
		s    *rainTrace
		want string
	}{
		"waits":                 {newRainTrace(t).install(0, viewAll, "decided").add(0, done).install(0, viewFour, "decided").add(0, second).install(0, next, "decided"), ""},
		"does not wait":         {base(), "R-REC"},
		"its manager died":      {newRainTrace(t).install(0, viewFour, "told").install(1, died, "decided"), ""},
		"died and is forgotten": {newRainTrace(t).install(0, viewFour, "told").install(1, forgot, "decided"), "R-REC"},
	} {
		if got := c.s.judgedBy(NewRecovered(rainGroup)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestDeadAndNoTrace(t *testing.T) {
	alive := func() *rainTrace { return newRainTrace(t).add(0, protocol.Fact{Ev: protocol.EvNode, Why: "alive"}) }
	if got := alive().said(protocol.EvCand, 0, 1, 2).judgedBy(NewDead(rainGroup)); got != "" {
		t.Errorf("a member that is alive may not ask: %s", got)
	}
	if got := alive().dead(0).said(protocol.EvCand, 0, 1, 2).judgedBy(NewDead(rainGroup)); got != "R-DEAD" {
		t.Errorf("a dead member asks: %q", got)
	}
	for name, c := range map[string]struct {
		s    *rainTrace
		want string
	}{
		"taken back":    {alive().said(protocol.EvCand, 0, 1, 2).said(protocol.EvCancel, 0, 1, 2), ""},
		"led to a view": {alive().said(protocol.EvAccept, 0, 1, 2).install(0, viewFour, "told"), ""},
		"link is down":  {alive().said(protocol.EvAccept, 0, 1, 2).add(0, protocol.Fact{Ev: protocol.EvLink, Peer: protocol.Ident{Rank: 1}}), ""},
		"still asked":   {alive().said(protocol.EvCand, 0, 1, 2), "R-33w"},
		"another's is":  {alive().said(protocol.EvAccept, 0, 1, 2).said(protocol.EvCancel, 0, 1, 3), "R-33w"},
	} {
		c.s.healed(0, 1, 2, 3, 4)
		if got := c.s.judgedBy(NewNoTrace(c.s, rainGroup)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWeakLiveAndOneView(t *testing.T) {
	spec := RainSpec{Group: rainGroup, Gated: true, Quorums: protocol.Majority(5), Live: true, Settle: time.Minute}
	tell := func(s *rainTrace, v rain.View) *rainTrace {
		for r := range v.Members.All() {
			s.told(r, v, time.Hour)
		}
		return s
	}
	misled := viewFour
	misled.Manager = 4
	other := viewFour
	other.Number.Vid, other.Manager = 3, 1
	for name, c := range map[string]struct {
		s           *rainTrace
		live, alone string
	}{
		"one view of the core":      {tell(newRainTrace(t).healed(0, 1, 2, 3), viewFour), "", ""},
		"nobody is of one":          {newRainTrace(t).healed(0, 1, 2, 3), "R-WL", ""},
		"somebody is missing":       {tell(newRainTrace(t).healed(0, 1, 2, 3, 4), viewFour), "R-WL", ""},
		"two views":                 {tell(newRainTrace(t).healed(0, 1, 2, 3), viewFour).told(1, other, time.Hour), "R-WL", "R-31/32"},
		"a manager that is outside": {newRainTrace(t).healed(0, 1, 2, 3).told(0, misled, time.Hour), "R-WL", "R-31/32"},
		"too few are there":         {newRainTrace(t).healed(0, 1), "", ""},
		"records were lost": {newRainTrace(t).add(0, protocol.Fact{Ev: protocol.EvSpeak, Why: "recovered"}).
			add(1, protocol.Fact{Ev: protocol.EvSpeak, Why: "recovered"}).healed(0, 1, 2, 3), "", ""},
	} {
		if got := c.s.judgedBy(NewWeakLive(c.s, spec)); got != c.live {
			t.Errorf("%s: %q, want %q", name, got, c.live)
		}
		if got := c.s.judgedBy(NewOneView(c.s, spec)); got != c.alone {
			t.Errorf("%s: %q, want %q", name, got, c.alone)
		}
	}
}

func TestOneRecovery(t *testing.T) {
	at := func(why string, v rain.View) protocol.Fact {
		return protocol.Fact{Ev: sim.EvRecover, Term: v.Number.Token, Gen: v.Number.Vid, Why: why}
	}
	done := protocol.Fact{Ev: protocol.EvDone, Term: viewFour.Number.Token, Gen: viewFour.Number.Vid}
	// manages adds that the manager's own view asks it to recover.
	manages := func(s *rainTrace, node protocol.Rank, v rain.View) *rainTrace {
		s.told(node, v, time.Second)
		s.records[len(s.records)-1].Detail.(*protocol.View).Agreed.Recover = true
		return s
	}
	asked := func() *rainTrace { return manages(newRainTrace(t), 0, viewFour).add(0, at("asked", viewFour)) }
	finished := func() *rainTrace { return asked().add(0, at("finished", viewFour)) }
	later := func(s *rainTrace) *rainTrace {
		s.now = s.now.Add(2 * time.Second)
		return s
	}
	for name, c := range map[string]struct {
		s    *rainTrace
		want string
	}{
		"recovers":                        {finished().add(0, at("counts", viewFour)).add(0, done), ""},
		"another reader asks":             {asked().add(0, at("unread", viewFour)).add(0, at("asked", viewFour)), ""},
		"asked twice":                     {asked().add(0, at("asked", viewFour)), "R-ONCE"},
		"asked after the report":          {finished().add(0, at("counts", viewFour)).add(0, at("unread", viewFour)).add(0, at("asked", viewFour)), "R-ONCE"},
		"asked by a view that does not":   {newRainTrace(t).told(0, viewFour, time.Second).add(0, at("asked", viewFour)), "R-ONCE"},
		"asked by an older view":          {manages(newRainTrace(t), 0, viewFour).add(0, at("asked", viewAll)), "R-ONCE"},
		"asked while another one is":      {manages(asked(), 1, viewFour).add(1, at("asked", viewFour)), "R-ONCE"},
		"asked when its leave is over":    {later(manages(asked(), 1, viewFour)).add(1, at("asked", viewFour)), ""},
		"done when its leave is over":     {later(finished().add(0, at("counts", viewFour))).add(0, done), "R-ONCE"},
		"counts before it has finished":   {asked().add(0, at("counts", viewFour)), "R-ONCE"},
		"counts twice":                    {finished().add(0, at("counts", viewFour)).add(0, at("counts", viewFour)), "R-ONCE"},
		"counts after the membership":     {finished().dead(0).add(0, at("counts", viewFour)), "R-ONCE"},
		"done without a report":           {finished().add(0, done), "R-ONCE"},
		"done by the report of another":   {finished().add(0, at("counts", viewFour)).add(1, done), "R-ONCE"},
		"the next manager, after a death": {manages(asked().add(0, protocol.Fact{Ev: sim.EvCrash}), 1, viewFour).add(1, at("asked", viewFour)), ""},
	} {
		if got := c.s.judgedBy(NewOneRecovery(c.s, rainGroup)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

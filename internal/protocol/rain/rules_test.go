package rain

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/link"
)

func TestTheNextChangeWaitsForTheRecovery(t *testing.T) {
	r := newHarness(t, 5, nil)
	lose := func(j int) {
		for i := range 5 {
			if i != j && r.group(i).peers[j].up {
				r.both(i, j, false)
			}
		}
		r.run()
	}
	lose(4)
	lose(3)
	if v := r.group(0).view; v.Number.Vid != 2 || v.Failed != protocol.NewSet(4) {
		t.Fatalf("TestTheNextChangeWaitsForTheRecovery: the next change did not wait: %+v", v)
	}
	r.group(0).onRecovered(r.group(0).view.Number)
	r.run()
	if v := r.group(1).view; v.Number.Vid != 3 || v.Failed != protocol.NewSet(3) || len(v.Unfinished) > 0 {
		t.Errorf("TestTheNextChangeWaitsForTheRecovery: after the recovery the view is %+v", v)
	}
}

func TestWhatADeadManagerDidNotRecoverIsNamed(t *testing.T) {
	r := newHarness(t, 5, nil)
	for _, j := range []int{4, 0} {
		for i := range 5 {
			if i != j && r.group(i).peers[j].up {
				r.both(i, j, false)
			}
		}
		r.run()
	}
	v := r.group(1).view
	if v.Manager != 1 || v.Failed != protocol.NewSet(0) || !slices.Equal(v.Unfinished, []protocol.Loss{{Members: protocol.NewSet(4)}}) {
		t.Errorf("TestWhatADeadManagerDidNotRecoverIsNamed: %+v", v)
	}
}

// joiner returns a dead member 0 of three that holds the lease with token 9, sees the two others waiting, and has the given view.
func joiner(t *testing.T, v View) *group {
	t.Helper()
	m, err := New(gatedConfig(3), &authority{inc: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.inc, m.out = 1, &protocol.Effects{}
	g := m.group("g")
	g.open, g.phase, g.known, g.view = true, Joining, true, v
	g.lease = ownLease{wanted: true, token: 9, tenure: 1, until: protocol.Never}
	m.horizons[0] = protocol.Never
	for j := range 2 {
		p := &g.peers[j+1]
		p.up, p.spoke, p.said = true, true, State{Phase: Joining}
	}
	g.rules(1)
	return g
}

func TestWhoBeginsAnewBuildsOnTheLastView(t *testing.T) {
	old := View{Number: Number{1, 1}, Members: protocol.Everyone(3)}
	last := View{Number: Number{4, 3}, Members: protocol.NewSet(1, 2), Failed: protocol.NewSet(0), Manager: 1}
	g := joiner(t, old)
	if g.phase == Alive {
		t.Fatal("it began before it had asked anybody")
	}
	g.onAnswer(1, &Answer{Token: 9, Known: true, View: last})
	g.rules(2)
	if g.phase != Alive || g.view.Parent != last.Number || g.view.Number != (Number{9, 4}) {
		t.Errorf("TestWhoBeginsAnewBuildsOnTheLastView: it is %v in %+v", g.phase, g.view)
	}
	if g.view.Joined != protocol.Everyone(3) || g.view.Failed != last.Members || len(g.view.Unfinished) != 1 || !g.view.Unfinished[0].Members.Has(0) {
		t.Errorf("all have died, and what was not recovered is not: %+v", g.view)
	}
}

func TestForgottenViewsDoNotCount(t *testing.T) {
	g := joiner(t, View{})
	g.onAnswer(1, &Answer{Token: 9})
	g.rules(2)
	if g.phase == Alive {
		t.Error("TestForgottenViewsDoNotCount: 2 might know of a view that 1 has forgotten")
	}
	g.onAnswer(2, &Answer{Token: 8, Known: true})
	g.rules(3)
	if g.phase == Alive {
		t.Error("TestForgottenViewsDoNotCount: the answer was to another lease")
	}
	g.onAnswer(2, &Answer{Token: 9})
	g.rules(4)
	if g.phase != Alive {
		t.Error("TestForgottenViewsDoNotCount: all have answered, and nobody knows of anything")
	}
}

// living returns a member 0 of three that has just been taken in.
func living(t *testing.T) *group {
	t.Helper()
	g := joiner(t, View{})
	g.onAnswer(1, &Answer{Token: 9, Known: true})
	g.rules(2)
	if g.phase != Alive {
		t.Fatal("it is not alive")
	}
	return g
}

func TestLeaveCountsFromTheQuestion(t *testing.T) {
	g := living(t)
	m := g.m
	asked := protocol.Time(time.Second)
	m.out = &protocol.Effects{}
	g.question(asked)
	if len(m.out.Send) != 2 || g.stay.end != 0 {
		t.Fatalf("it sends %v, and may go on until %v before anybody has answered", m.out.Send, g.stay.end)
	}
	at := m.out.Send[0].Message.(*Stay).At
	m.onStays(asked.Add(100*time.Millisecond), protocol.Ident{Rank: 1, Inc: 1}, &Stays{Group: "g", Inc: 1, At: at})
	if want := asked.Add(m.cfg.Rho.WaitAtMost(m.cfg.Stay)); g.stay.end != want {
		t.Errorf("TestLeaveCountsFromTheQuestion: it may go on until %v, want %v", g.stay.end, want)
	}
	for _, a := range []Stays{{Group: "g", Inc: 2, At: at + 5}, {Group: "g", Inc: 1, At: at.Add(time.Hour)}} {
		m.onStays(asked.Add(150*time.Millisecond), protocol.Ident{Rank: 2, Inc: 1}, &a)
	}
	if want := asked.Add(m.cfg.Rho.WaitAtMost(m.cfg.Stay)); g.stay.end != want {
		t.Errorf("TestLeaveCountsFromTheQuestion: it took the answer to a question that it did not ask: until %v", g.stay.end)
	}
	g.expire(g.stay.end - 1)
	if g.phase != Alive {
		t.Error("it is dead before its leave is over")
	}
	g.expire(g.stay.end)
	if g.phase == Alive {
		t.Error("it goes on after its leave is over")
	}
}

func TestOnlyMembersAreToldThatTheyMayStay(t *testing.T) {
	g := living(t)
	m := g.m
	var err error
	m.links, err = link.New(m.cfg.links(1))
	if err != nil {
		t.Fatal(err)
	}
	g.view.Members.Remove(2)
	m.out = &protocol.Effects{}
	m.onStay(protocol.Ident{Rank: 1, Inc: 1}, &Stay{Group: "g", Inc: 1, At: 7})
	m.onStay(protocol.Ident{Rank: 2, Inc: 1}, &Stay{Group: "g", Inc: 1, At: 7})
	if len(m.out.Send) != 1 || m.out.Send[0].To != 1 {
		t.Errorf("TestOnlyMembersAreToldThatTheyMayStay: answers %+v", m.out.Send)
	}
}

func TestWhoForgotItsViewsVouchesForNobody(t *testing.T) {
	g := living(t)
	m := g.m
	var err error
	m.links, err = link.New(m.cfg.links(1))
	if err != nil {
		t.Fatal(err)
	}
	g.known = false // it lost its disk, and heard of this view again
	m.out = &protocol.Effects{}
	m.onStay(protocol.Ident{Rank: 1, Inc: 1}, &Stay{Group: "g", Inc: 1, At: 7})
	if len(m.out.Send) != 0 {
		t.Errorf("TestWhoForgotItsViewsVouchesForNobody: answers %+v", m.out.Send)
	}
}

func TestADeadMemberIsNotRevivedByAViewThatItDiedIn(t *testing.T) {
	g := living(t)
	g.delivered = g.view.Number
	v := g.view
	g.die(protocol.Cause{})
	if g.phase != Stopping {
		t.Fatalf("a member with a program is %v when it dies", g.phase)
	}
	g.onStopped(5)
	v.Number.Token, v.Manager = 10, 1
	g.install(6, v, "told")
	if g.phase != Joining {
		t.Errorf("announced once more, the view makes it %v", g.phase)
	}
	v.Number.Vid++
	g.install(7, v, "told")
	if g.phase != Alive {
		t.Errorf("taken in by the next it is %v", g.phase)
	}
}

func TestAnOperatorLetsDeadMembersBegin(t *testing.T) {
	r := newHarness(t, 4, nil)
	for i := range 4 {
		for j := range i {
			r.both(i, j, false)
		}
	}
	r.run()
	for i := range 3 { // 4 does not come back
		if g := r.group(i); g.phase == Stopping {
			g.onStopped(r.now)
		}
		for j := range i {
			r.both(i, j, true)
		}
	}
	r.run()
	if got := r.dead(); got != "1 2 3 4" {
		t.Fatalf("dead are %s: without a gate nobody may begin while one is missing", got)
	}
	last := r.group(1).view.Number.Vid
	r.group(1).onBegin(r.now)
	r.run()
	if v := r.group(0).view; v.Members != protocol.NewSet(0, 1, 2) || v.Manager != 1 || v.Number.Vid != last+1 || r.dead() != "4" {
		t.Errorf("after the operator's word the view is %+v, dead are %s", v, r.dead())
	}
}

func TestPeersCannotMakeGroupsWithoutEnd(t *testing.T) {
	g := living(t)
	m := g.m
	for i := range 2 * MaxGroups {
		m.deliver(5, 1, &State{Group: protocol.Group(rune('A' + i)), Phase: Joining})
		drivetest.Step(m, 6, protocol.Campaign{Group: protocol.Group(rune('A' + i))})
	}
	if len(m.groups) != MaxGroups {
		t.Errorf("%d groups", len(m.groups))
	}
	m.deliver(7, 1, &State{Group: "g", Phase: Alive})
	if !g.peers[1].spoke || g.peers[1].said.Phase != Alive {
		t.Error("a group that was there before is not heard any more")
	}
}

// A member that the authority gives no leases to is a member like any other, but does not ask and does not decide.
func TestOnlyWhoMayLeadManages(t *testing.T) {
	r := newHarness(t, 4, func(c *Config) { c.Leaders = protocol.NewSet(1, 2, 3) })
	for i := range 3 {
		r.both(i, 3, false)
	}
	r.run()
	if got := r.managers(); got != "2 leads {a b c}" {
		t.Errorf("%q", got)
	}
}

// A manager may report late: of a recovery that another manager has done since, or that is to be done anew.
func TestALateReportSaysNothingOfAnotherView(t *testing.T) {
	r := newHarness(t, 5, nil)
	g := r.group(0)
	for i := range 4 {
		r.both(i, 4, false)
	}
	r.run()
	old := Number{Vid: g.view.Number.Vid - 1}
	r.members[0].out = &protocol.Effects{}
	g.onRecovered(old)
	if g.recovered == g.view.Number || len(r.members[0].out.Views) > 0 {
		t.Fatalf("TestALateReport: a report of %v ended the recovery of %v", old, g.view.Number)
	}
	g.onRecovered(g.view.Number)
	views := r.members[0].out.Views
	if g.recovered != g.view.Number || len(views) != 1 || views[0].Agreed.Recover || views[0].Agreed.Vid != g.view.Number.Vid {
		t.Errorf("TestALateReport: recovered, and the program is told %+v", views)
	}
	g.onRecovered(g.view.Number)
	if len(r.members[0].out.Views) > 1 {
		t.Error("TestALateReport: what was said twice is told twice")
	}
}

// Who may not manage can neither take in somebody who may, nor let it begin anew without them.
func TestWhoeverIsLeftWithoutAManagerBeginsAnewWithIt(t *testing.T) {
	r := newHarness(t, 3, func(c *Config) { c.Leaders = protocol.NewSet(0) })
	for _, up := range []bool{false, true} {
		for _, i := range []int{1, 2} {
			r.both(0, i, up)
		}
		r.run()
		if p := r.group(1).phase; p != Alive {
			t.Fatalf("TestWhoeverIsLeft: links up %v, the manager's program has not stopped, and 2 is %v", up, p)
		}
	}
	for i := range 3 {
		if r.group(i).phase != Stopping {
			t.Fatalf("TestWhoeverIsLeft: %d is %v, and the only one that may manage waits", i+1, r.group(i).phase)
		}
		r.group(i).onStopped(r.now)
		r.run()
	}
	if v := r.group(2).view; v.Manager != 0 || v.Members != protocol.Everyone(3) || v.Number.Vid != 2 {
		t.Errorf("TestWhoeverIsLeft: %+v", v)
	}
}

// A member that was taken in, and whose answer was lost with its link, is asked again; one that has died since is not told to live once more.
func TestAnAnswerThatWasLostWithItsLinkIsAskedForAgain(t *testing.T) {
	for _, dies := range []bool{false, true} {
		r := newHarness(t, 3, nil)
		for i := range 2 {
			r.both(i, 2, false)
		}
		r.run()
		r.group(2).onStopped(r.now)
		r.group(0).onRecovered(r.group(0).view.Number)
		r.run()
		for i := range 2 {
			r.both(i, 2, true)
		}
		for r.group(2).phase != Alive {
			r.deliver(0)
		}
		r.both(0, 2, false) // its answer is on the way
		if dies {
			r.group(2).onResign(r.now)
			r.group(2).view = View{}
		}
		r.both(0, 2, true)
		r.run()
		if got := r.group(0).reported == r.group(0).view.Number; !got || (r.group(2).phase == Alive) == dies {
			t.Errorf("TestAnAnswerThatWasLost: dies %v: reported %v, and it is %v", dies, got, r.group(2).phase)
		}
	}
}

// The link to the only other member of a view breaks before its answer is back. One that waits to be taken in has the view, and with it the view counts: otherwise the
// manager could decide nothing any more, and not even take that one in.
func TestAViewCountsOnceAQuorumHasItWithThoseThatWait(t *testing.T) {
	g := living(t)
	g.m.out = &protocol.Effects{}
	g.issue(3, View{Number: Number{9, g.view.Number.Vid + 1}, Members: protocol.NewSet(0, 1), Failed: protocol.NewSet(2), Parent: g.view.Number}, "decided")
	g.m.durable = g.pending.own
	g.commit(4)
	if g.pending.until != 0 {
		t.Fatal("the view counts before any other member has it")
	}
	g.onInstalled(2, g.view.Number, g.m.term.number)
	g.commit(5)
	if end := g.pending.until; end != 0 {
		g.commit(end)
	}
	if g.reported != g.view.Number {
		t.Error("TestAViewCounts: two of three have the view, and it is not reported")
	}
}

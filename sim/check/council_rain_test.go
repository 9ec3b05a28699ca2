package check

import (
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// acts builds a run by hand, of members of one consistent group in a council that changes.
type acts struct{ records []sim.Record }

func (a *acts) add(node protocol.Rank, f protocol.Fact) {
	a.records = append(a.records, sim.Record{T: sim.Real(len(a.records)+1) * sim.Real(time.Millisecond), Node: node, Inc: 1, Fact: f})
}

// chosen makes a configuration with its number and its members, which hold their seats since the numbers given.
func (a *acts) chosen(number uint64, since ...uint64) {
	c := &council.Config{Number: number}
	var all protocol.Set
	for r, s := range since {
		if s != vacant {
			c.Members = append(c.Members, council.Member{Seat: protocol.Rank(r), Since: s, Role: council.Leader})
			all.Add(protocol.Rank(r))
		}
	}
	a.add(0, protocol.Fact{Ev: protocol.EvChosen, Seq: number, Gen: number, Members: all, Detail: c})
	for r := range all.All() {
		a.add(r, protocol.Fact{Ev: protocol.EvAdopt, Seq: number, Gen: number})
	}
}

const vacant = ^uint64(0)

func (a *acts) install(node protocol.Rank, v rain.View, why string) {
	a.add(node, protocol.Fact{Ev: protocol.EvInstall, Dom: protocol.Consistent, Group: "g", Term: v.Number.Token, Gen: v.Number.Vid, Why: why, Detail: v})
}

func (a *acts) received(node protocol.Rank, v rain.View) {
	a.add(node, protocol.Fact{Ev: sim.EvView, Dom: protocol.Consistent, Group: "g", Detail: &protocol.View{Group: "g", Domain: protocol.Consistent,
		Leader: protocol.Ident{Rank: v.Manager}, Term: v.Number.Token, Support: v.Members, Agreed: &protocol.Agreed{Vid: v.Number.Vid}}})
}

func (a *acts) settle(node protocol.Rank, number uint64) {
	a.add(node, protocol.Fact{Ev: protocol.EvSettle, Seq: number})
}

// judge lets a checker see the run, which ends in silence at an instant.
func (a *acts) judge(t *testing.T, want string, end time.Duration, make func(Truth) Checker) {
	t.Helper()
	p := parse(t, "")
	c := make(p)
	err := error(nil)
	for i := range a.records {
		p.now = a.records[i].T
		if err = c.Observe(&a.records[i]); err != nil {
			break
		}
	}
	p.now = max(p.now, sim.Real(end))
	if err == nil {
		err = c.Finish()
	}
	var v *Violation
	switch {
	case want == "" && err != nil:
		t.Errorf("flagged: %v", err)
	case want != "" && (!errors.As(err, &v) || v.Name != want):
		t.Errorf("%v, want %s", err, want)
	}
}

var firstView = rain.View{Number: rain.Number{Token: 3, Vid: 1}, Members: protocol.NewSet(0, 1, 2), Joined: protocol.NewSet(0, 1, 2)}

func TestViewsCarried(t *testing.T) {
	run := func(b bool) *acts {
		a := &acts{}
		a.install(0, firstView, "decided")
		a.received(0, firstView)
		a.chosen(1, 0, 0, 0)
		if b {
			a.install(1, firstView, "heard")
		}
		a.settle(1, 1)
		return a
	}
	make := func(t Truth) Checker { return NewViewsCarried(t, "g") }
	run(true).judge(t, "", 0, make)
	run(false).judge(t, "C-VIEW", 0, make)
}

func TestJobs(t *testing.T) {
	for _, c := range []struct {
		name   string
		third  uint64 // since when the third member has its seat in configuration 1
		next   rain.View
		expect string
	}{
		{"all stay", 0, rain.View{Members: firstView.Members}, ""},
		{"one is lost", 0, rain.View{Members: protocol.NewSet(0, 1), Failed: protocol.NewSet(2)}, ""},
		{"one is lost and nobody says so", 0, rain.View{Members: protocol.NewSet(0, 1)}, "R-JOB"},
		{"one has left the council", vacant, rain.View{Members: protocol.NewSet(0, 1), Failed: protocol.NewSet(2)}, ""},
		{"another one has its seat", 1, rain.View{Members: firstView.Members}, "R-JOB"},
		{"one fails that was not there", 0, rain.View{Members: firstView.Members, Failed: protocol.NewSet(4)}, "R-JOB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &acts{}
			a.install(0, firstView, "decided")
			a.chosen(1, 0, 0, c.third)
			c.next.Number, c.next.Parent, c.next.Epoch = rain.Number{Token: 3, Vid: 2}, firstView.Number, 1
			a.install(0, c.next, "decided")
			a.judge(t, c.expect, 0, func(Truth) Checker { return NewJobs("g") })
		})
	}
}

// A run may end in silence: what is wrong then stays wrong.
func TestCouncilIsJudgedInSilence(t *testing.T) {
	spec := CouncilSpec{Settle: time.Second}
	run := func(all ...protocol.Rank) *acts {
		a := &acts{}
		a.add(protocol.Nobody, protocol.Fact{Ev: sim.EvPhase, Why: sim.Liveness, Members: protocol.NewSet(0, 1)})
		a.chosen(1, 0, 0)
		for _, r := range all {
			a.settle(r, 1)
			v := firstView
			v.Members = protocol.NewSet(0, 1)
			a.received(r, v)
		}
		return a
	}
	lives := func(t Truth) Checker {
		return &Lives{cursor: cursor{timedLedger: newTimedLedger(t)}, history: newHistory(t), settle: spec.Settle, until: sim.Forever}
	}
	agrees := func(t Truth) Checker { return NewAgrees(t, spec, "g") }
	run(0, 1).judge(t, "", time.Minute, lives)
	run(0).judge(t, "C-LIVE", time.Minute, lives)
	run(0).judge(t, "", time.Second/2, lives) // there is time left
	gone := run(0)
	gone.add(1, protocol.Fact{Ev: protocol.EvOut, Dom: protocol.Quorum, Seq: 1}) // put back to a time before it was removed and added again
	gone.judge(t, "", time.Minute, lives)
	gone.add(1, protocol.Fact{Ev: sim.EvRestart})
	gone.add(1, protocol.Fact{Ev: protocol.EvSpeak})
	gone.judge(t, "C-LIVE", time.Minute, lives)
	run(0, 1).judge(t, "", time.Minute, agrees)
	alone := run(0, 1)
	v := firstView
	v.Number.Vid, v.Members = 2, protocol.NewSet(1)
	alone.received(1, v)
	alone.judge(t, "C-AGREE", time.Minute, agrees)
}

// Voters that have lost their disks know no views until they have found out what they forgot. If they are most of the voters, all members have to be there.
func TestCouncilWhoseViewsAreForgottenWaitsForAllMembers(t *testing.T) {
	spec := CouncilSpec{Settle: time.Second, Views: "g"}
	lives := func(t Truth) Checker {
		return &Lives{cursor: cursor{timedLedger: newTimedLedger(t)}, history: newHistory(t), settle: spec.Settle, until: sim.Forever, views: spec.Views}
	}
	// run has three voters and a newcomer without a vote. The first voter has not settled; some have lost their disks.
	run := func(newcomer bool, lost ...protocol.Rank) *acts {
		a := &acts{}
		a.chosen(1, 0, 0, 0)
		c := &council.Config{Number: 2}
		for r := range protocol.Rank(4) {
			role := council.Leader
			if r == 3 {
				role = council.Observer
			}
			c.Members = append(c.Members, council.Member{Seat: r, Role: role})
		}
		a.add(0, protocol.Fact{Ev: protocol.EvChosen, Seq: 2, Gen: 2, Members: protocol.Everyone(3), Detail: c})
		for _, r := range lost {
			a.add(r, protocol.Fact{Ev: protocol.EvSpeak, Why: "recovered"})
		}
		for r := range protocol.Rank(4) {
			if r < 3 || newcomer {
				a.add(r, protocol.Fact{Ev: protocol.EvAdopt, Seq: 2, Gen: 2})
			}
		}
		a.settle(1, 2)
		a.settle(2, 2)
		a.add(protocol.Nobody, protocol.Fact{Ev: sim.EvPhase, Why: sim.Liveness, Members: protocol.Everyone(4)})
		return a
	}
	run(false, 0).judge(t, "C-LIVE", time.Minute, lives)
	run(false, 0, 1).judge(t, "", time.Minute, lives)
	run(true, 0, 1).judge(t, "C-LIVE", time.Minute, lives) // all can answer
	found := run(false, 0, 1)
	found.install(1, firstView, "remembered")
	found.judge(t, "C-LIVE", time.Minute, lives)
	early := run(false, 0)
	early.records = append([]sim.Record{{Node: 1, Inc: 1, Fact: protocol.Fact{Ev: protocol.EvSpeak, Why: "recovered"}}}, early.records...)
	early.records = append([]sim.Record{{Node: 0, Inc: 1, Fact: protocol.Fact{Ev: protocol.EvChosen, Seq: 1, Gen: 1, Members: protocol.NewSet(0)}}}, early.records...)
	early.judge(t, "C-LIVE", time.Minute, lives) // one of them was a newcomer, and should not have got its vote
	spec.Views = ""                              // the council has no consistent group
	run(false, 0, 1).judge(t, "C-LIVE", time.Minute, lives)
}

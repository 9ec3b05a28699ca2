package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// A scriptedLeader is a machine that leads a group as a test tells it to, by events that mean something else elsewhere.
type scriptedLeader struct {
	tenure uint64
	until  protocol.Time
}

// lead is Unfit, stop is Recover, lose is Reconfigure.
func (r *scriptedLeader) do(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
	e := protocol.Effects{Wake: protocol.Never}
	v := protocol.View{
		Group: "g", Domain: protocol.Quorum, Leader: protocol.Ident{Rank: p.boot.Self, Inc: p.boot.Inc}, Horizon: 3, Until: protocol.Never,
	}
	switch ev.(type) {
	case protocol.Unfit:
		r.tenure++
		r.until = now.Add(time.Second)
		e.Horizons = []protocol.Horizon{{ID: 3, Until: r.until}}
	case protocol.Recover:
		v.Stop = true
	case protocol.Reconfigure:
		v.Leader = protocol.NoIdent
	default:
		return e
	}
	v.Tenure = r.tenure
	e.Views = []protocol.View{v}
	return e
}

// programBench is a world of one member whose program is watched.
type programBench struct {
	*bench
	log  []string
	acts []protocol.Fact
}

func (th *programBench) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvProgram:
		th.log = append(th.log, r.Why)
	case sim.EvAct:
		th.acts = append(th.acts, r.Fact)
	}
	return nil
}

func newProgramBench(t *testing.T, s sim.ProgramSpec) *programBench {
	th := &programBench{bench: newBench(t, sim.Config{Members: 1, Seed: 1, Program: s}, (&scriptedLeader{}).do)}
	th.World.Observe(th)
	th.until(ms)
	return th
}

func (th *programBench) stopped() int {
	n := 0
	for _, g := range th.probes[0].got {
		if _, ok := g.ev.(protocol.Stopped); ok {
			n++
		}
	}
	return n
}

func program() sim.ProgramSpec {
	return sim.ProgramSpec{Act: sim.Between(ms, 2*ms), Stop: sim.Between(100*ms, 100*ms)}
}

func TestProgramRunsFromItsViewUntilItHasStopped(t *testing.T) {
	th := newProgramBench(t, program())
	th.Command(0, protocol.Unfit{})
	th.until(500 * ms)
	if !slices.Equal(th.log, []string{"start"}) || len(th.acts) < 200 {
		t.Fatalf("log %v, %d acts", th.log, len(th.acts))
	}
	th.Command(0, protocol.Recover{})
	th.until(590 * ms)
	before := len(th.acts)
	if !slices.Equal(th.log, []string{"start", "stopping"}) || th.stopped() != 0 || before < 240 {
		t.Fatalf("while it stops: log %v, stopped %d, acts %d", th.log, th.stopped(), before)
	}
	th.until(2 * time.Second)
	if !slices.Equal(th.log, []string{"start", "stopping", "stopped"}) || th.stopped() != 1 {
		t.Errorf("in the end: log %v, stopped %d", th.log, th.stopped())
	}
	if after := len(th.acts) - before; after > 15 {
		t.Errorf("a program that stopped acted %d times more", after)
	}
}

func TestProgramActsOnlyWithinItsLease(t *testing.T) {
	th := newProgramBench(t, program())
	th.Command(0, protocol.Unfit{})
	th.until(5 * time.Second)
	end := protocol.Time(time.Second + ms)
	last := th.acts[len(th.acts)-1].At
	if last >= end+protocol.Time(ms) || last < end-protocol.Time(10*ms) {
		t.Errorf("the last act is at %v of a lease that ends at %v", last, end)
	}
	if th.acts[0].Tenure != 1 || th.acts[0].Group != "g" || th.acts[0].Dom != protocol.Quorum {
		t.Errorf("acted as %+v", th.acts[0])
	}
}

func TestProgramOfALostLeaseStopsEvenIfStubborn(t *testing.T) {
	s := program()
	s.Stubborn = sim.Certain
	th := newProgramBench(t, s)
	th.Command(0, protocol.Unfit{})
	th.until(100 * ms)
	th.Command(0, protocol.Recover{})
	th.until(time.Second)
	if th.stopped() != 0 {
		t.Fatal("a stubborn program stopped when it was asked to")
	}
	th.Command(0, protocol.Reconfigure{})
	th.until(2 * time.Second)
	if th.stopped() != 1 || th.log[len(th.log)-1] != "stopped" {
		t.Errorf("after its lease was lost: log %v, stopped %d", th.log, th.stopped())
	}
}

func TestNextProgramWaitsForTheOneBefore(t *testing.T) {
	th := newProgramBench(t, program())
	th.Command(0, protocol.Unfit{})
	th.until(100 * ms)
	th.Command(0, protocol.Reconfigure{})
	th.until(150 * ms)
	th.Command(0, protocol.Unfit{})
	th.until(400 * ms)
	if want := []string{"start", "stopping", "stopped", "start"}; !slices.Equal(th.log, want) {
		t.Errorf("log %v, want %v", th.log, want)
	}
	if last := th.acts[len(th.acts)-1]; last.Tenure != 2 {
		t.Errorf("the last act is in tenure %d, want 2", last.Tenure)
	}
}

func TestProgramsDieWithTheirProcessAndFreezeWithIt(t *testing.T) {
	th := newProgramBench(t, program())
	th.Command(0, protocol.Unfit{})
	th.until(100 * ms)
	th.Begin(sim.Fault{Kind: sim.Pause, A: 0, For: 100 * ms})
	n := len(th.acts)
	th.until(199 * ms)
	if len(th.acts) != n {
		t.Errorf("a frozen program acted %d times", len(th.acts)-n)
	}
	th.until(300 * ms)
	if len(th.acts) < n+20 {
		t.Error("a program does not act after a pause")
	}
	th.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: 10 * ms})
	n = len(th.acts)
	th.until(time.Second)
	if len(th.acts) != n || th.stopped() != 0 {
		t.Errorf("after a crash: %d acts, %d stopped", len(th.acts)-n, th.stopped())
	}
}

func TestMembersCampaignAtTheirStartAndAgainAfterTheirProgramStopped(t *testing.T) {
	s := program()
	s.Again = sim.Between(ms, 10*ms)
	th := &programBench{bench: newBench(t, sim.Config{Members: 1, Seed: 1, Program: s, Groups: []protocol.Group{"g", "h"}}, (&scriptedLeader{}).do)}
	th.until(100 * ms)
	campaigns := func() (all []protocol.Group) {
		for _, g := range th.probes[0].got {
			if c, ok := g.ev.(protocol.Campaign); ok {
				all = append(all, c.Group)
			}
		}
		return all
	}
	if got := campaigns(); len(got) != 2 {
		t.Fatalf("campaigned for %v, want g and h", got)
	}
	th.Command(0, protocol.Unfit{})
	th.until(200 * ms)
	th.Command(0, protocol.Recover{})
	th.until(time.Second)
	if got := campaigns(); len(got) != 3 || got[2] != "g" {
		t.Errorf("campaigned for %v, want g again in the end", got)
	}
	th.Begin(sim.Fault{Kind: sim.Resign, A: 0, Group: "h"})
	th.until(2 * time.Second)
	if got := campaigns(); len(got) != 4 || got[3] != "h" {
		t.Errorf("campaigned for %v, want h again after it was given up without being led", got)
	}
}

func TestCommandsReachTheirMember(t *testing.T) {
	b := newBench(t, sim.Config{Members: 3, Seed: 1}, nil)
	b.until(ms)
	for _, f := range []sim.Fault{
		{Kind: sim.Campaign, A: 1, Group: "g"}, {Kind: sim.Resign, A: 1, Group: "g"}, {Kind: sim.Transfer, A: 1, B: 2, Group: "g"},
		{Kind: sim.Find, A: 1, Group: "g"}, {Kind: sim.Verify, A: 1, Group: "g", Amount: 5}, {Kind: sim.Campaign, A: 1, Group: "g", Amount: 7},
	} {
		b.Begin(f)
	}
	b.until(2 * ms)
	want := []protocol.Event{
		protocol.Campaign{Group: "g"}, protocol.Resign{Group: "g"}, protocol.Transfer{Group: "g", To: 2, ID: 3},
		protocol.Find{Group: "g", ID: 4}, protocol.Verify{Group: "g", ID: 5, Length: 5}, protocol.Campaign{Group: "g", Length: 7},
	}
	var got []protocol.Event
	for _, g := range b.probes[1].got[1:] {
		got = append(got, g.ev)
	}
	if !slices.Equal(got, want) {
		t.Errorf("b got %+v, want %+v", got, want)
	}
}

func TestTheLeaderIsWhoLeadsNow(t *testing.T) {
	w := newWorld(t, sim.Config{Members: 3, Seed: 1})
	run(t, w, time.Second)
	w.Begin(sim.Fault{Kind: sim.Crash, A: sim.TheLeader})
	if w.Up(0) {
		t.Fatal("a led and was not crashed")
	}
	run(t, w, 2*time.Second)
	w.Begin(sim.Fault{Kind: sim.Crash, A: sim.TheLeader})
	if w.Up(1) || !w.Up(2) {
		t.Error("b led and was not crashed, or c was")
	}
}

package fuzz_test

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

func rankProtocol(t testing.TB) *suite.Protocol {
	t.Helper()
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sleepy is a machine of rank that hears nothing any more once it has slept for 300ms.
type sleepy struct {
	protocol.Machine
	last protocol.Time
	deaf bool
}

func (s *sleepy) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if s.last != 0 && now.Sub(s.last) > 300*time.Millisecond {
		s.deaf = true
	}
	s.last = now
	if _, ok := ev.(*protocol.Receive); ok && s.deaf {
		ev = protocol.Tick{}
	}
	s.Machine.Step(now, ev, out)
}

// sleepyProtocol is rank with that flaw.
func sleepyProtocol(t testing.TB) *suite.Protocol {
	p := *rankProtocol(t)
	spawn := p.Spawn
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		m, err := spawn(b)
		return &sleepy{Machine: m}, err
	}
	return &p
}

// firstFailure finds the first seed that shows the flaw.
func firstFailure(t testing.TB, p *suite.Protocol, workers int) *fuzz.Failure {
	t.Helper()
	r, err := fuzz.Range(context.Background(), p, fuzz.Options{Members: 5, First: 1, Last: 500, For: fuzz.DefaultFor, Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failure == nil {
		t.Fatal("the flaw was not found in 500 seeds")
	}
	return r.Failure
}

func TestFailureNamesTheInvariantAndIsTheLowestSeedOnAnyNumberOfCores(t *testing.T) {
	p := sleepyProtocol(t)
	one, many := firstFailure(t, p, 1), firstFailure(t, p, 8)
	if one.Name != "S-OM" || !strings.Contains(one.Err.Error(), "S-OM") {
		t.Errorf("violated %q: %v", one.Name, one.Err)
	}
	if one.Seed != many.Seed || one.Err.Error() != many.Err.Error() || !reflect.DeepEqual(one.Plan, many.Plan) {
		t.Errorf("one worker found seed %d (%v), eight found %d (%v)", one.Seed, one.Err, many.Seed, many.Err)
	}
}

func TestShrinkFindsTheOneFaultThatMatters(t *testing.T) {
	p := sleepyProtocol(t)
	f := firstFailure(t, p, 0)
	small, run, err := fuzz.Shrink(p, f.Plan, 400)
	if err != nil {
		t.Fatal(err)
	}
	if run.Violated() != "S-OM" {
		t.Fatalf("the short plan violates %q, want S-OM", run.Violated())
	}
	if len(small.Faults) != 1 || len(f.Plan.Faults) < 5 {
		t.Errorf("of %d faults %d are left, want one: %v", len(f.Plan.Faults), len(small.Faults), small.Faults)
	}
	switch k := small.Faults[0].Kind; k {
	case sim.Pause, sim.Suspend, sim.Jump:
	default:
		t.Errorf("%v is left, which does not put anybody to sleep", k)
	}
	if small.Clocks != nil || small.Link.Loss != 0 || small.Link.Duplicate != 0 || small.Timer != (sim.Delay{}) || small.Spurious != 0 {
		t.Errorf("the world is not plain: %+v", small)
	}
	if small.Safety > 5*time.Second {
		t.Errorf("the safety phase lasts %v", small.Safety)
	}
	again, err := fuzz.Play(p, &small)
	if err != nil || again.Err == nil || again.Err.Error() != run.Err.Error() {
		t.Errorf("played again the short plan gives %v, want %v", again.Err, run.Err)
	}
}

func TestShrinkLeavesAPlanThatHoldsAlone(t *testing.T) {
	p := rankProtocol(t)
	pl, err := fuzz.Draw(p, 5, 1, fuzz.DefaultFor)
	if err != nil {
		t.Fatal(err)
	}
	small, run, err := fuzz.Shrink(p, pl, 10)
	if err != nil || run.Err != nil || !reflect.DeepEqual(small, pl) {
		t.Errorf("got %v, %v", err, run.Err)
	}
}

func TestAPlanIsAFunctionOfItsSeed(t *testing.T) {
	p := rankProtocol(t)
	draw := func(seed uint64) fuzz.Plan {
		pl, err := fuzz.Draw(p, 5, seed, fuzz.DefaultFor)
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	if !reflect.DeepEqual(draw(3), draw(3)) {
		t.Error("SIM-SEED: one seed gives two plans")
	}
	if reflect.DeepEqual(draw(3), draw(4)) {
		t.Error("SIM-SEED: two seeds give one plan")
	}
}

func TestAPlanPlaysTheSameTraceEveryTime(t *testing.T) {
	p := rankProtocol(t)
	play := func() []byte {
		var out bytes.Buffer
		trace := sim.NewTrace(&out)
		if _, _, err := fuzz.Seed(p, 5, 11, fuzz.DefaultFor, trace); err != nil {
			t.Fatal(err)
		}
		if err := trace.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if first := play(); len(first) < 1000 || !bytes.Equal(first, play()) {
		t.Errorf("SIM-SEED: two runs of one seed differ, or say little (%d bytes)", len(first))
	}
}

func TestEveryPlanCanBePlayed(t *testing.T) {
	for _, p := range suite.All() {
		for _, members := range []int{p.MinMembers, p.Members, 9} {
			for seed := range uint64(100) {
				pl, err := fuzz.Draw(p, members, seed, fuzz.LengthOf(p))
				if err != nil {
					t.Fatalf("%s, %d members, seed %d: %v", p.Name, members, seed, err)
				}
				for i, f := range pl.Faults {
					if f.At < 0 || f.At > sim.Real(pl.Safety) || i > 0 && f.At < pl.Faults[i-1].At {
						t.Fatalf("%s, seed %d: fault %d at %v of %v", p.Name, seed, i, f.At, pl.Safety)
					}
				}
				if pl.Safety+pl.Liveness != fuzz.LengthOf(p) {
					t.Fatalf("%s: %v and %v do not make %v", p.Name, pl.Safety, pl.Liveness, fuzz.LengthOf(p))
				}
			}
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	p := rankProtocol(t)
	for want, o := range map[string]fuzz.Options{
		"seeds 5..4":  {Members: 5, First: 5, Last: 4, For: fuzz.DefaultFor},
		"runs of 1s":  {Members: 5, First: 1, Last: 1, For: time.Second},
		"0 members":   {Members: 0, First: 1, Last: 1, For: fuzz.DefaultFor},
		"2000 member": {Members: 2000, First: 1, Last: 1, For: fuzz.DefaultFor},
	} {
		if _, err := fuzz.Range(context.Background(), p, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

func TestRowsThatNobodyCoveredFailLongRunsOnly(t *testing.T) {
	p := *rankProtocol(t)
	p.Faults = []suite.Weight{{Kind: sim.Slow, Weight: 1}}
	p.Rows = append([]string{"the moon fell"}, p.Rows...)
	for last, want := range map[uint64]bool{5: false, fuzz.EnoughSeeds: true} {
		r, err := fuzz.Range(context.Background(), &p, fuzz.Options{Members: 3, First: 1, Last: last, For: fuzz.DefaultFor})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Error()
		if (err != nil) != want {
			t.Fatalf("%d seeds: %v", last, err)
		}
		if want && !(strings.Contains(err.Error(), "the moon fell") && strings.Contains(err.Error(), suite.LeaderSuspended)) {
			t.Errorf("%d seeds: %v, want the rows that were missed", last, err)
		}
	}
}

func TestNoRowIsRequiredOfACouncilOfOne(t *testing.T) {
	r, err := fuzz.Range(context.Background(), rankProtocol(t), fuzz.Options{Members: 1, First: 1, Last: fuzz.EnoughSeeds, For: fuzz.DefaultFor})
	if err != nil || r.Error() != nil {
		t.Errorf("got %v, %v", err, r.Error())
	}
}

func TestRowThatTakesMoreMembersIsNotRequiredOfFewer(t *testing.T) {
	p := *rankProtocol(t)
	p.Rows, p.Least = []string{"the moon fell"}, map[string]int{"the moon fell": 4}
	for members, want := range map[int]bool{3: false, 4: true} {
		r, err := fuzz.Range(context.Background(), &p, fuzz.Options{Members: members, First: 1, Last: fuzz.EnoughSeeds, For: fuzz.DefaultFor})
		if err != nil || (r.Error() != nil) != want {
			t.Errorf("%d members: %v, %v", members, err, r.Error())
		}
	}
}

func TestProgressAndCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls := 0
	r, err := fuzz.Range(ctx, rankProtocol(t), fuzz.Options{
		Members: 3, First: 1, Last: 1_000_000, For: fuzz.DefaultFor,
		Progress: func(done, total uint64) {
			if calls++; done != uint64(calls) || total != 1_000_000 {
				t.Errorf("call %d says %d of %d", calls, done, total)
			}
			if calls == 20 {
				cancel()
			}
		},
	})
	if err == nil || r.Seeds < 20 || r.Seeds > 100 {
		t.Errorf("after cancellation: %d seeds, %v", r.Seeds, err)
	}
}

// clumsy breaks the contract when it is told of a message.
type clumsy struct{}

func (clumsy) Step(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
	out.Wake = protocol.Never
	out.Send = append(out.Send, protocol.Envelope{To: 99, Message: &empty{}})
}

type empty struct{}

func (*empty) Copy() protocol.Message { return &empty{} }
func (*empty) Name() string           { return "test.empty" }

func TestBreachOfTheContractIsAFailureToo(t *testing.T) {
	p := *rankProtocol(t)
	p.Spawn = func(sim.Boot) (protocol.Machine, error) { return clumsy{}, nil }
	p.Checkers = func(check.Truth) []check.Checker { return nil }
	_, run, err := fuzz.Seed(&p, 3, 1, fuzz.DefaultFor)
	if err != nil || run.Violated() != "contract" {
		t.Errorf("got %v, violated %q", err, run.Violated())
	}
}

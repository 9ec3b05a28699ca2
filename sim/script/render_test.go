package script_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/script"
	"github.com/regentproject/regent/sim/suite"
)

// withoutMessages is an observer that leaves out what happens to messages: scripts record it, random runs do not.
type withoutMessages struct{ next sim.Observer }

func (o withoutMessages) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvSend, sim.EvDeliver, sim.EvDrop:
		return nil
	}
	return o.next.Observe(r)
}

// everyFault returns a plan whose schedule has drawn faults of every kind.
func everyFault(t *testing.T, p *suite.Protocol, seed uint64) fuzz.Plan {
	t.Helper()
	q := *p
	q.Groups = []protocol.Group{""}
	q.Faults = nil
	for k := sim.Crash; k <= sim.Leave; k++ {
		q.Faults = append(q.Faults, suite.Weight{Kind: k, Weight: 1})
	}
	pl, err := fuzz.Draw(&q, 5, seed, fuzz.DefaultFor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pl.Faults {
		if f := &pl.Faults[i]; f.Kind == sim.Restart { // random runs do not draw it by itself
			f.For, f.Disk = 0, sim.Disk(seed%4)
			f.Amount = map[sim.Disk]int64{sim.Backup: 2}[f.Disk]
		}
	}
	return pl
}

func TestARenderedPlanPlaysTheSameRun(t *testing.T) {
	seeds := effort.Pick[uint64](1, 1, 3)
	for _, p := range suite.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= seeds; seed++ {
				pl, err := fuzz.Draw(p, p.Members, seed, fuzz.LengthOf(p))
				if err != nil {
					t.Fatal(err)
				}
				comparePlays(t, p, &pl)
			}
		})
	}
}

func TestARenderedPlanMayHaveEveryKindOfFault(t *testing.T) {
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[sim.Kind]bool{}
	for seed := range uint64(8) {
		pl := everyFault(t, p, seed)
		for _, f := range pl.Faults {
			kinds[f.Kind] = true
		}
		comparePlays(t, p, &pl)
	}
	if len(kinds) != int(sim.Leave)+1 {
		t.Errorf("only %d kinds of faults were rendered: %v", len(kinds), kinds)
	}
}

// comparePlays plays a plan and the script that it is rendered as, and compares their traces.
func comparePlays(t *testing.T, p *suite.Protocol, pl *fuzz.Plan) {
	t.Helper()
	for i := range pl.Faults {
		if f := &pl.Faults[i]; f.Kind == sim.Leave { // it leaves all groups, whatever was drawn
			f.Group = ""
		}
	}
	var want, got bytes.Buffer
	wantTrace, gotTrace := sim.NewTrace(&want), sim.NewTrace(&got)
	if _, err := fuzz.Play(p, pl, withoutMessages{wantTrace}); err != nil {
		t.Fatal(err)
	}
	text := script.Render(pl, fmt.Sprintf("Seed %d.", pl.Seed))
	s, err := script.Parse("rendered", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if _, err := script.Play(s, script.Options{Observers: []sim.Observer{withoutMessages{gotTrace}}}); err != nil {
		t.Fatal(err)
	}
	wantTrace.Flush()
	gotTrace.Flush()
	if a, b, ok := firstDifference(want.String(), got.String()); ok {
		t.Fatalf("seed %d: the plan and its script differ:\nplan   %s\nscript %s\n%s", pl.Seed, a, b, text)
	}
}

// firstDifference returns the first lines in which two texts differ.
func firstDifference(a, b string) (string, string, bool) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		switch {
		case i >= len(as):
			return "(ends)", bs[i], true
		case i >= len(bs):
			return as[i], "(ends)", true
		case as[i] != bs[i]:
			return as[i], bs[i], true
		}
	}
	return "", "", false
}

// forgetful is rank with a time-out that no core can settle with.
func forgetful(t *testing.T) *suite.Protocol {
	t.Helper()
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		c := rank.Default(b.Self, b.Members, b.Inc)
		c.Period, c.Timeout, c.Cap = 50*time.Millisecond, 51*time.Millisecond, 51*time.Millisecond
		return rank.New(c)
	}
	return p
}

func TestAShrunkFailureRendersAsAScriptThatFailsAlike(t *testing.T) {
	p := forgetful(t)
	pl, run, err := fuzz.Seed(p, 3, 1, fuzz.DefaultFor)
	if err != nil {
		t.Fatal(err)
	}
	if run.Err == nil {
		t.Fatal("an elector that suspects everybody all the time passed")
	}
	short, _, err := fuzz.Shrink(p, pl, 300)
	if err != nil {
		t.Fatal(err)
	}
	text := script.Render(&short, run.Err.Error())
	s, err := script.Parse("shrunk", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, err := script.Play(s, script.Options{Protocol: p})
	if err != nil {
		t.Fatal(err)
	}
	if r.Violated() != run.Violated() {
		t.Errorf("the script violates %q, the seed %q:\n%s", r.Violated(), run.Violated(), text)
	}
	if lines := strings.Count(text, "\n"); lines > 15 {
		t.Errorf("the shrunk script has %d lines, want a short one:\n%s", lines, text)
	}
	healthy, err := script.Play(s, script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !healthy.OK() {
		t.Errorf("the same script fails with the real protocol: %v", healthy.Err("shrunk"))
	}
}

func TestEveryFaultIsReadAsItIsWritten(t *testing.T) {
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		pl := everyFault(t, p, seed)
		pl.Faults = append(pl.Faults, sim.Fault{Kind: sim.Roll, A: protocol.Nobody, B: protocol.Nobody, Amount: int64(seed), For: time.Millisecond},
			sim.Fault{Kind: sim.Crash, B: protocol.Nobody, Disk: sim.Known, Amount: 3, For: time.Millisecond},
			sim.Fault{Kind: sim.Campaign, B: protocol.Nobody, Amount: 7},
			sim.Fault{Kind: sim.Change, B: protocol.Nobody, Side: protocol.NewSet(1, 2), Amount: 2, For: time.Second})
		for _, f := range pl.Faults {
			text := script.FaultStatement(&f)
			got, err := script.ParseFault(text, 5)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !slices.Equal(got, []sim.Fault{plain(f)}) {
				t.Fatalf("%s:\nwrote %+v\nread  %+v", text, plain(f), got)
			}
		}
	}
}

// plain clears what a fault of its kind does not use.
func plain(f sim.Fault) sim.Fault {
	f.At = 0
	switch f.Kind {
	case sim.Crash, sim.Restart, sim.Leave:
		if f.Kind != sim.Leave && f.Disk != sim.Backup && f.Disk != sim.Known {
			f.Amount = 0
		}
	case sim.Pause, sim.Suspend, sim.Halt:
		f.Amount = 0
	}
	return f
}

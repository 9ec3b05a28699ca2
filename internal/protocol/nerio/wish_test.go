package nerio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/lease"
)

func mixed(n int) Config {
	cfg := config(n)
	cfg.Longest = 5 * time.Second
	return cfg
}

// A member that leads groups of 200 ms and 5 s dies: the first is led elsewhere as soon as in a council with 200 ms only, the
// second not before its end.
func TestShortLeasesFailOverAsIfThereWereNoLongOnes(t *testing.T) {
	gap := func(long time.Duration) (quick, slow time.Duration) {
		d := newDriver(t, mixed(3))
		d.Run(100 * ms)
		for r := range protocol.Rank(3) {
			d.Step(r, protocol.Campaign{Group: "quick"})
			d.Step(r, protocol.Campaign{Group: "slow", Length: long})
			d.Run(100 * ms)
		}
		d.Run(3 * time.Second)
		d.expect("quick", 0, true)
		d.expect("slow", 0, true)
		d.Crash(0)
		died := d.Now
		for quick == 0 || slow == 0 {
			d.Run(ms)
			if quick == 0 && len(d.leaders("quick")) == 1 {
				quick = d.Now.Sub(died)
			}
			if slow == 0 && len(d.leaders("slow")) == 1 {
				slow = d.Now.Sub(died)
			}
			if d.Now.Sub(died) > time.Minute {
				t.Fatal("not led again")
			}
		}
		return quick, slow
	}
	alone, _ := gap(0)
	quick, slow := gap(5 * time.Second)
	t.Logf("the short one is led again after %v, and after %v without a long one; that after %v", quick, alone, slow)
	if quick > alone+alone/5 {
		t.Errorf("led again after %v beside a long lease, and after %v without", quick, alone)
	}
	if slow < 3700*ms || slow > 5500*ms {
		t.Errorf("a lease of 5 s was replaced after %v", slow)
	}
}

func TestLengthsThatCannotBeHadAreRefused(t *testing.T) {
	d := newDriver(t, mixed(3))
	d.Run(time.Second)
	m := d.members[0]
	id := uint64(0)
	ask := func(g protocol.Group, length time.Duration) protocol.Answer {
		t.Helper()
		id++
		out := drivetest.Step(m.m, d.Now, protocol.Campaign{Group: g, Length: length, ID: id})
		for _, a := range out.Answers {
			if a.ID == id {
				return a
			}
		}
		t.Fatal("no answer")
		return protocol.Answer{}
	}
	if a := ask("g", 6*time.Second); a.OK || a.Why != protocol.LeaseTooLong {
		t.Errorf("6 s: %+v", a)
	}
	if a := ask("g", 50*ms); a.OK || a.Why != protocol.LeaseTooShort {
		t.Errorf("50 ms: %+v", a)
	}
	if m.m.group("g").candidate {
		t.Error("a refused program is a candidate")
	}
	var want []time.Duration
	for i := range lease.MaxLengths {
		length := time.Duration(i+1) * 200 * ms
		want = append(want, length)
		if a := ask(protocol.Group(fmt.Sprint("g", i)), length); !a.OK {
			t.Fatalf("%v: %+v", length, a)
		}
	}
	a := ask("ninth", 4*time.Second)
	if a.OK || a.Why != protocol.TooManyLeases || !slices.Equal(a.Lengths, want) {
		t.Errorf("the ninth: %+v", a)
	}
	if a := ask("g3", 4*time.Second); !a.OK {
		t.Errorf("the only one of its length asks for another: %+v", a)
	}
	d.Step(0, protocol.Resign{Group: "g0"})
	if a := ask("ninth", 3*time.Second); a.OK || !slices.Contains(a.Lengths, d.members[0].m.cfg.Lease) {
		t.Errorf("in the place of the council's length, which nobody wants now: %+v", a)
	}
	d.Step(0, protocol.Resign{Group: "g1"})
	if a := ask("ninth", 3*time.Second); !a.OK {
		t.Errorf("in the place of another: %+v", a)
	}
}

// A program that names no length is not told of a refusal, and so would wait for ever.
func TestCouncilLengthIsNeverRefused(t *testing.T) {
	d := newDriver(t, mixed(3))
	d.Run(time.Second)
	for i := range lease.MaxLengths {
		d.Step(0, protocol.Campaign{Group: protocol.Group(fmt.Sprint("g", i)), Length: time.Duration(300+10*i) * ms, ID: uint64(i + 1)})
	}
	d.Run(time.Second)
	d.Step(0, protocol.Campaign{Group: "plain"})
	d.Run(time.Second)
	d.expect("plain", 0, true)
	for i := range lease.MaxLengths - 1 {
		d.expect(protocol.Group(fmt.Sprint("g", i)), 0, true)
	}
	if len(d.leaders(protocol.Group(fmt.Sprint("g", lease.MaxLengths-1)))) != 0 {
		t.Error("the eighth length beside that of the council was granted")
	}
}

// A program that was to stop takes its time, and its length is wanted no more. Those that begin meanwhile end no other lease.
func TestLengthsOfProgramsThatStopStillCount(t *testing.T) {
	d := newDriver(t, mixed(3))
	d.Run(time.Second)
	d.members[0].obeys = false
	groups := make([]protocol.Group, lease.MaxLengths-1)
	for i := range groups {
		groups[i] = protocol.Group(fmt.Sprint("g", i))
		d.Step(0, protocol.Campaign{Group: groups[i], Length: time.Duration(500+10*i) * ms, ID: uint64(i + 1)})
	}
	d.Run(time.Second)
	d.Step(0, protocol.Resign{Group: "g0"})
	d.Run(130 * ms)
	d.Step(0, protocol.Campaign{Group: "next", Length: 2 * time.Second, ID: 99})
	d.Run(130 * ms)
	d.Step(0, protocol.Campaign{Group: "plain"})
	d.Run(5 * time.Second)
	d.expect("plain", 0, true)
	if len(d.leaders("next")) != 0 {
		t.Error("the eighth length beside that of the council is led")
	}
	d.Step(0, protocol.Stopped{Group: "g0"})
	d.Run(5 * time.Second)
	d.expect("next", 0, true)
	for _, g := range groups[1:] {
		d.expect(g, 0, true)
	}
	for _, line := range d.log {
		if strings.Contains(line, "expired") || strings.Contains(line, "quorum") {
			t.Error(line)
		}
	}
}

// Two lengths cost what one does: no allocations, and no more messages than the shorter one alone.
func TestRenewalOfTwoLengthsCostsAsManyMessages(t *testing.T) {
	d := newDriver(t, mixed(3))
	d.trusting = true
	d.Step(0, protocol.Campaign{Group: "quick"})
	d.Step(0, protocol.Campaign{Group: "slow", Length: time.Second})
	d.Run(3 * time.Second)
	r := newRound(d)
	for range 50 {
		if sent := r.play(); sent != 4 {
			t.Fatalf("%d messages per renewal", sent)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { r.play() }); allocs != 0 {
		t.Errorf("%v allocations per renewal", allocs)
	}
}

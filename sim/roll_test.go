package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

func TestRollRestartsMembersOneAfterAnotherWithTheNewConfiguration(t *testing.T) {
	b := newBench(t, slowDisk(1), writer())
	b.until(ms)
	b.Begin(sim.Fault{Kind: sim.Roll, A: protocol.Nobody, B: protocol.Nobody, For: 100 * ms, Amount: 3})
	b.Begin(sim.Fault{Kind: sim.Roll, A: protocol.Nobody, B: protocol.Nobody, Amount: 4}) // one at a time
	b.until(50 * ms)
	if x, y := b.probes[0].boot, b.probes[1].boot; x.Setting != 3 || x.Inc != 2 || y.Setting != 0 || y.Inc != 1 {
		t.Fatalf("SIM-ROLL: after the first restart a starts as %+v, b as %+v", x, y)
	}
	b.Command(0, protocol.Unfit{})
	b.until(80 * ms)
	if got := b.probes[1].notes(); len(got) > 0 {
		t.Errorf("SIM-ROLL: b got %v from a member with another configuration", got)
	}
	b.until(200 * ms)
	b.Command(0, protocol.Unfit{})
	b.until(300 * ms)
	if got, y := b.probes[1].notes(), b.probes[1].boot; y.Setting != 3 || y.Inc != 2 || !slices.Contains(got, 2) {
		t.Errorf("SIM-ROLL: in the end b starts as %+v and got %v", y, got)
	}
}

// knownBackup lets a write a record in each of two lives, of which b hears as told, and then restores the first.
func knownBackup(t *testing.T, hears bool, more ...sim.Fault) string {
	c := slowDisk(1)
	c.Remember = sim.Remember{By: func(protocol.Message) bool { return hears }, Within: 100 * ms}
	b := newBench(t, c, writer())
	b.until(ms)
	b.Command(0, protocol.Unfit{})
	b.until(50 * ms)
	b.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: ms})
	b.until(100 * ms)
	b.Command(0, protocol.Unfit{})
	b.until(200 * ms)
	for _, f := range more {
		b.Begin(f)
	}
	b.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: ms, Disk: sim.Known, Amount: 1})
	b.until(210 * ms)
	starts := b.probes[1].boot.Inc
	b.Begin(sim.Fault{Kind: sim.Crash, A: 1, For: ms})
	b.until(250 * ms)
	record := string(b.probes[0].boot.Record)
	if kept := b.probes[1].boot.Inc == starts; kept != (record == "r1") {
		t.Errorf("SIM-DISK: a found %s, and b was kept up: %v", record, kept)
	}
	return record
}

func TestKnownBackupIsRestoredOnlyIfAnotherMemberCanTell(t *testing.T) {
	for _, c := range []struct {
		name  string
		hears bool
		fault []sim.Fault
		want  string
	}{
		{"b has heard the later life", true, nil, "r1"},
		{"b does not remember", false, nil, "r2"},
		{"b cannot be heard", true, []sim.Fault{{Kind: sim.Cut, A: 1, B: 0, For: time.Second}}, "r2"},
	} {
		if got := knownBackup(t, c.hears, c.fault...); got != c.want {
			t.Errorf("SIM-DISK: %s: a starts from %s, want %s", c.name, got, c.want)
		}
	}
}

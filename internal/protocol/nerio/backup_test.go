package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// A record that was on its way when the member turned out to be stale is of an incarnation that is over.
func TestRecordOfAnIncarnationThatIsOverLetsNobodySpeak(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	d.Disk = 700 * ms
	d.members[1].m.terms.See(lease.LeastAhead) // the ceiling has to be raised
	d.Step(1, protocol.Tick{})
	d.Step(1, d.later(1, 99))
	if d.members[1].Writes != 2 {
		t.Fatalf("%d records are on their way: want the one with the ceiling, and that the record is void", d.members[1].Writes)
	}
	d.Run(750 * ms)
	if d.members[1].Writes != 1 || d.speaks(1) {
		t.Errorf("%d records are on their way, speaks: %v; want the one of the next incarnation, and silence", d.members[1].Writes, d.speaks(1))
	}
	d.Run(300 * ms)
	if inc := d.members[1].m.Incarnation(); inc != 100 || d.disk0(1).Inc != inc {
		t.Errorf("speaks as %d, on disk %d: want 100", inc, d.disk0(1).Inc)
	}
}

func TestRestoredBackupIsFoundOut(t *testing.T) {
	for _, starts := range []int{1, 2} { // of one start it knows nothing, or of two: the same incarnation again, or a lower one
		cfg := config(3)
		d := newDriver(t, cfg)
		d.Run(100 * ms)
		backup := d.members[1].Record
		for range starts {
			d.Crash(1)
			d.again(cfg, 1)
			d.Run(300 * ms)
		}
		last := d.members[1].m.Incarnation()
		d.Crash(1)
		d.members[1].Record = backup
		d.again(cfg, 1)
		d.Run(50 * ms)
		if d.speaks(1) || d.members[1].m.grantor.Ready(d.Now) {
			t.Errorf("after %d starts: not found out", starts)
		}
		d.Run(500 * ms)
		if x := d.members[1].m; x.Incarnation() <= last || !x.grantor.Ready(d.Now) {
			t.Errorf("after %d starts: speaks as %d, want more than %d", starts, x.Incarnation(), last)
		}
	}
}

// The disk takes longer than the wait. One peer has forgotten, and asks; the other remembers, and its word takes longer.
func TestRestoredBackupOnASlowDiskGrantsNothingBeforeItIsFoundOut(t *testing.T) {
	heavy, err := protocol.Weighted([]int{1, 3, 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, quorums := range map[string]protocol.Quorums{"one of three": protocol.Majority(3), "a quorum by itself": heavy} {
		t.Run(name, func(t *testing.T) { backupOnASlowDisk(t, quorums) })
	}
}

func backupOnASlowDisk(t *testing.T, quorums protocol.Quorums) {
	t.Helper()
	cfg := config(3)
	cfg.Quorums = quorums
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	backup := d.members[1].Record
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(300 * ms)
	d.Crash(1)
	d.Crash(2)
	d.again(cfg, 2)
	d.Run(500 * ms)
	d.members[1].Record, d.Disk = backup, 400*ms
	d.Late = func(from, _ protocol.Rank, _ protocol.Message) time.Duration {
		if from == 0 {
			return 10 * ms
		}
		return 0
	}
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from == 2 && to == 0 }
	d.again(cfg, 1)
	d.Run(402 * ms)
	if !d.speaks(1) {
		t.Fatal("does not speak when its record is on disk")
	}
	d.Step(2, protocol.Campaign{Group: "g"})
	d.Run(50 * ms)
	if d.speaks(1) {
		t.Error("not found out")
	}
	for _, f := range d.members[1].Facts {
		if f.Ev == protocol.EvAssign {
			t.Errorf("granted %q to %v before it was found out", f.Group, f.Peer)
		}
	}
}

// Those who have found the backup out are gone when its member starts once more.
func TestRestoredBackupThatWasFoundOutIsNotBelievedAgain(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	backup := d.members[1].Record
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(300 * ms)
	d.Crash(1)
	d.members[1].Record = backup
	d.again(cfg, 1)
	d.Run(50 * ms)
	if !d.disk0(1).Void {
		t.Error("the record is not void on disk")
	}
	d.Crash(1)
	for _, r := range []protocol.Rank{0, 2} { // they forget which members they have heard
		d.Crash(r)
		d.again(cfg, r)
	}
	d.Run(50 * ms)
	d.again(cfg, 1)
	d.Run(150 * ms)
	if d.speaks(1) {
		t.Error("speaks by a record that was found out")
	}
	d.Run(500 * ms)
	if !d.speaks(1) || d.disk0(1).Void {
		t.Errorf("speaks: %v, record void: %v: want it recovered", d.speaks(1), d.disk0(1).Void)
	}
}

// A restored backup takes its leases with it only when they have run out: nothing is released under a program.
func TestStaleLeaderLetsItsLeasesRunOut(t *testing.T) {
	d := newDriver(t, config(3))
	d.members[0].obeys = false
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	d.expect("g", 0, true)
	d.Step(0, d.later(0, 99))
	if v := d.members[0].Views["g"]; !v.Stop || v.Until == protocol.Never {
		t.Errorf("view %+v: want the program asked to stop before a set end", v)
	}
	d.Run(500 * ms)
	if m := d.members[0].m; m.Incarnation() < 100 {
		t.Errorf("speaks as %d, want 100", m.Incarnation())
	}
	for _, l := range d.members[1].History {
		if l.Cause.Code == protocol.Resigned {
			t.Error("released under a program that did not stop")
		}
	}
}

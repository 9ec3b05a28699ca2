package nerio

import (
	"slices"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/record"
)

// A record that was copied from another machine or directory, or was written under another tag key, is as good as an old copy.
func TestCopiedRecordIsNotTrusted(t *testing.T) {
	cfg := config(3)
	cfg.Origin = record.Origin{Machine: [8]byte{1}, Directory: [8]byte{2}, Identity: [8]byte{4}}
	for _, c := range []struct {
		here    record.Origin
		copied  bool
		trusted bool
	}{
		{cfg.Origin, false, true},
		{cfg.Origin, true, false},      // the file was put back
		{record.Origin{}, false, true}, // nothing is known here
		{record.Origin{Directory: [8]byte{2}}, false, true},
		{record.Origin{Machine: [8]byte{3}, Directory: [8]byte{2}}, false, false},
		{record.Origin{Machine: [8]byte{1}, Directory: [8]byte{3}}, false, false},
		{record.Origin{Machine: [8]byte{1}, Directory: [8]byte{2}, Identity: [8]byte{5}}, false, false},
	} {
		d := newDriver(t, cfg)
		d.Run(100 * ms)
		d.Crash(1)
		copied := cfg
		copied.Origin, copied.Copied = c.here, c.copied
		d.again(copied, 1)
		d.Run(20 * ms)
		if d.speaks(1) != c.trusted {
			t.Errorf("at %v: speaks by the record: %v", c.here, d.speaks(1))
		}
		d.Run(1000 * ms)
		if !d.speaks(1) || d.disk0(1).Origin != c.here {
			t.Errorf("at %v: speaks %v, and the record is of %v", c.here, d.speaks(1), d.disk0(1).Origin)
		}
	}
}

// What was drawn after the snapshot was drawn before, and answers to it may still come.
func TestRestoredSnapshotDrawsAnew(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(500 * ms)
	drawn := make(map[uint64]bool)
	for i := range byte(3) {
		x := d.members[1].m.Clone().(*Machine)
		var out protocol.Effects
		x.Step(d.Now, protocol.Restored{Start: protocol.StartBits{i}}, &out)
		drawn[x.start.nonce] = true
	}
	if len(drawn) != 3 {
		t.Errorf("three machines of one snapshot draw %d numbers", len(drawn))
	}
}

// A member that goes on from a snapshot may have promised anything since, under the same incarnation. It waits as after a start, and
// comes back as another life.
func TestRestoredSnapshotEndsALife(t *testing.T) {
	d := newDriver(t, config(3)) // and promises nothing that it knows of
	d.Run(500 * ms)
	was := d.members[1].m.life()
	d.Step(1, protocol.Restored{Start: protocol.StartBits{7}})
	if d.speaks(1) || d.members[1].m.grantor.Ready(d.Now) {
		t.Fatal("speaks or grants as if it had forgotten nothing")
	}
	d.Run(10 * ms)
	if !d.disk0(1).Void {
		t.Error("the next start would believe the record")
	}
	d.Run(150 * ms)
	if d.speaks(1) {
		t.Error("speaks before the longest promise is over")
	}
	d.Run(500 * ms)
	now := d.members[1].m.life()
	if now.Inc <= was.Inc || now.Start == was.Start || d.disk0(1).Void {
		t.Errorf("the life is %v after %v, the record void: %v", now, was, d.disk0(1).Void)
	}
}

// A copy of b's directory runs unheard for longer than any promise. Then b's address moves to it. The peers that answer have heard nothing of
// b for as long, and the answer of the leader that b has just voted for is lost. That holds whether the copy knows what it is or not.
func TestCopyThatWasUnheardWaitsFromTheFirstAnswer(t *testing.T) {
	for name, machine := range map[string][8]byte{"detected": {2}, "undetected": {1}} {
		t.Run(name, func(t *testing.T) { copyUnheard(t, machine) })
	}
}

// copyUnheard has a copy run on a machine. The record is of machine 1.
func copyUnheard(t *testing.T, machine [8]byte) {
	t.Helper()
	cfg := config(5)
	cfg.Origin.Machine = [8]byte{1}
	d := newDriver(t, cfg)
	d.Run(1000 * ms)
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(300 * ms)
	cut := func(a, b protocol.Rank) bool { return a == 0 && b >= 3 || b == 0 && a >= 3 }
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return cut(from, to) }
	d.Run(1000 * ms)
	c := cfg
	c.Me, c.Origin.Machine, c.FirstInc, c.Tag = 1, machine, 500, d.members[1].m.cfg.Tag
	clone, err := New(c, d.members[1].Record, 777)
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Effects
	clone.Step(d.Now, protocol.Start{}, &out)
	disk := d.members[1].Record
	if out.Persist != nil {
		disk = slices.Clone(out.Persist)
		out.Reset()
		clone.Step(d.Now, protocol.Persisted{}, &out)
	}
	for range 20 {
		d.Run(50 * ms)
		out.Reset()
		clone.Step(d.Now, protocol.Tick{}, &out)
	}
	d.expect("g", 0, false)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool {
		return cut(from, to) || from == 0 && to == 1 || from == 1 && to == 0
	}
	d.members[1].m, d.Members[1].Machine, d.Members[1].Inc = clone, clone, clone.Incarnation()
	d.members[1].Record = disk
	d.Members[1].Wake = d.Now + 1
	d.Step(4, protocol.Campaign{Group: "g"})
	d.Run(150 * ms)
	if m := d.members[1].m; d.speaks(1) && d.Now >= m.Votes() {
		t.Error("votes while promises of the process that had its address may stand")
	}
	d.Run(1000 * ms) // fails if two lead
	d.expect("g", 4, false)
	if !d.speaks(1) {
		t.Error("does not speak when those promises are over")
	}
}

// A vote that is dropped ends no lease that anybody would hear of.
func TestRestoredSnapshotShowsNoLeaderOfBefore(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(500 * ms)
	d.expect("g", 0, true)
	d.Step(1, protocol.Restored{Start: protocol.StartBits{7}})
	if v := d.members[1].Views["g"]; v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Restarted {
		t.Errorf("shows %v (%v), whose end it would not notice", v.Leader, v.Cause)
	}
	d.Run(1000 * ms)
	d.expect("g", 0, true)
}

package pipe_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

// restored follows a member after its record was put back from a backup.
type restored struct {
	node   protocol.Rank
	begun  sim.Real
	back   bool          // it runs on the old record, and does not know it
	spoken protocol.Inc  // under which it spoke on the old record
	voted  []string      // what it stated meanwhile and should not have
	found  time.Duration // how long it took until it was told
	spoke  bool          // it has recovered, and speaks again
	inc    protocol.Inc  // under which
}

func (w *restored) Observe(r *sim.Record) error {
	switch {
	case r.Node != w.node:
	case r.Ev == sim.EvRestart:
		w.back, w.begun = true, r.T
	case r.Ev == protocol.EvWait && r.Why == "stale record":
		w.back, w.found = false, r.T.Sub(w.begun)
	case r.Ev == protocol.EvSpeak && w.back:
		w.spoken = protocol.Inc(r.Seq)
	case r.Ev == protocol.EvSpeak:
		w.spoke, w.inc = true, protocol.Inc(r.Seq)
	case w.back && (r.Ev == protocol.EvPromise || r.Ev == protocol.EvAssign || r.Ev == protocol.EvLease):
		w.voted = append(w.voted, fmt.Sprintf("%v: %v states %q on a record that is an old copy", r.T, r.Node, r.Ev))
	}
	return nil
}

// A member whose record was put back from a backup speaks again under an incarnation that the others have heard, or under
// one below it. Neither its messages nor theirs get through then: it is the datagram layer and the seal that find it
// out, before it votes. It recovers as if it had no record, under an incarnation that nobody has used.
func TestRestoredBackupIsFoundOutThroughTheSeal(t *testing.T) {
	same, lower := 0, 0
	for back := range int64(8) {
		seen, before := restore(t, back+1)
		switch {
		case seen.spoken == 0 || seen.spoken > before:
			continue // the old record has the same incarnation as the newest: the member is a new one to all
		case seen.spoken == before:
			same++
		default:
			lower++
		}
		for _, text := range seen.voted {
			t.Errorf("backup %d: %s", back+1, text)
		}
		if seen.found == 0 || seen.found > 100*time.Millisecond {
			t.Errorf("backup %d: it was found out after %v, want soon", back+1, seen.found)
		}
		if !seen.spoke || seen.inc <= before {
			t.Errorf("backup %d: it speaks under %d, and before under %d: it did not recover", back+1, seen.inc, before)
		}
	}
	if same == 0 || lower == 0 {
		t.Errorf("%d backups spoke under the same incarnation and %d under a lower one, want both", same, lower)
	}
}

// restore lets a member live a few times, and puts back the record of some writes before. It also returns the last
// incarnation under which the member spoke on its own record.
func restore(t *testing.T, back int64) (*restored, protocol.Inc) {
	t.Helper()
	p, err := suite.Lookup("nerio")
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{Members: 3, Seed: 11, Spawn: p.Spawn, Port: p.Port, Groups: p.Groups[:1],
		Link:    sim.Link{Delay: sim.Between(time.Millisecond, 3*time.Millisecond)},
		Program: sim.ProgramSpec{Act: sim.Between(time.Millisecond, 3*time.Millisecond), Again: sim.Between(1, 20*time.Millisecond)}}
	p.Configure(&c)
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	all := check.Nerio(w, check.NerioSpec{Quorums: protocol.Majority(3), Longest: time.Second, Seed: 1,
		Travel: sim.Between(0, 50*time.Millisecond)})
	for _, one := range all {
		w.Observe(one)
	}
	crash := sim.Fault{Kind: sim.Crash, A: 1, B: protocol.Nobody, For: 50 * time.Millisecond}
	for range 4 {
		until(t, w, time.Second)
		w.Begin(crash)
	}
	until(t, w, time.Second)
	before := w.Ident(1).Inc
	seen := &restored{node: 1}
	w.Observe(seen)
	crash.Disk, crash.Amount = sim.Backup, back
	w.Begin(crash)
	until(t, w, 3*time.Second)
	for _, one := range all {
		if err := one.Finish(); err != nil {
			t.Errorf("backup %d: %v", back, err)
		}
	}
	return seen, before
}

func until(t *testing.T, w *sim.World, more time.Duration) {
	t.Helper()
	if err := w.Run(w.Now().Add(more)); err != nil {
		t.Fatal(err)
	}
}

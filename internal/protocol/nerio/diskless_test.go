package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestDisklessCouncilSurvivesARestart(t *testing.T) {
	cfg := config(3)
	cfg.Diskless = true
	d := newDriver(t, cfg)
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(500 * ms)
	d.expect("g", 0, true)
	for _, x := range d.members {
		if x.Record != nil {
			t.Error("a diskless member wrote a record")
		}
	}
	d.Crash(0)
	d.Step(1, protocol.Campaign{Group: "g"})
	d.again(cfg, 0)
	d.Run(time.Second)
	d.expect("g", 1, true)
	if !d.speaks(0) {
		t.Error("did not recover")
	}
}

// The program of a leader may outlive all members. Without disks no member knows that there was one.
func TestDisklessCouncilBeginsAnewAfterTheLongestPromise(t *testing.T) {
	for n := 1; n <= 3; n += 2 {
		cfg := config(n)
		cfg.Diskless, cfg.Lease, cfg.Longest = true, 150*ms, 150*ms
		d := newDriver(t, cfg)
		d.Step(0, protocol.Campaign{Group: "g"})
		d.Run(500 * ms)
		d.expect("g", 0, true)
		v := d.members[0].Views["g"]
		end := min(v.Until, d.members[0].Horizons[v.Horizon])
		for r := range protocol.Rank(n) {
			d.Crash(r)
		}
		clear(d.tenures) // tokens begin anew
		for r := range protocol.Rank(n) {
			d.again(cfg, r)
			d.Step(r, protocol.Campaign{Group: "g"})
		}
		for d.Now < end {
			d.Run(ms)
			if l := d.leaders("g"); len(l) > 0 {
				t.Fatalf("%d members: %v leads at %v, and the lease of before runs until %v", n, l, d.Now, end)
			}
		}
		d.Run(500 * ms)
		if len(d.leaders("g")) != 1 {
			t.Errorf("%d members: no leader after the wait", n)
		}
	}
}

// A member with a place for a record that has none has promised nothing: its council begins as soon as all have answered.
func TestCouncilWithDisksBeginsAtOnce(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(20 * ms)
	for r := range protocol.Rank(3) {
		if !d.speaks(r) {
			t.Errorf("%v waits", r)
		}
	}
}

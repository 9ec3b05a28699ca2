package nerio

import (
	"fmt"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// The elector is slower than the lease: when the trusted leader dies, the next in rank does not wait for it to be
// suspected, and those behind it keep out of its way.
func TestNextInRankGoesFirstWhenTheTrustedLeaderLapses(t *testing.T) {
	t.Run("all trust it", func(t *testing.T) { lapseOfTheTrusted(t, 0, 1, 2) })
	t.Run("the next has no opinion", func(t *testing.T) { lapseOfTheTrusted(t, 0, 2) })
	t.Run("the one after it has none", func(t *testing.T) { lapseOfTheTrusted(t, 0, 1) })
}

func lapseOfTheTrusted(t *testing.T, told ...protocol.Rank) {
	cfg := config(3)
	cfg.Elector = true
	d := newDriver(t, cfg)
	d.Run(50 * ms)
	for _, r := range told {
		d.Step(r, protocol.Trusts{Leader: 0})
	}
	for r := range protocol.Rank(3) {
		d.Step(r, protocol.Campaign{Group: "g"})
	}
	d.Run(300 * ms)
	d.expect("g", 0, true)
	d.Crash(0)
	var free protocol.Time
	for range 400 {
		d.Run(ms)
		if free == 0 && d.members[1].Views["g"].Leader == protocol.NoIdent {
			free = d.Now
		}
		if d.leads(1, "g") {
			break
		}
	}
	if took := d.Now.Sub(free); !d.leads(1, "g") || took > 10*ms {
		t.Errorf("b leads: %v, %v after the lease had run out; half a round trip is enough", d.leads(1, "g"), took)
	}
	d.Run(50 * ms)
	d.expect("g", 1, true)
	// Once the old one asks for something again, it goes first as before.
	c := cfg
	c.Me = 0
	d.boot(c)
	d.Run(500 * ms)
	if first := d.members[told[1]].m.first(); first != 1 { // it has asked for nothing
		t.Errorf("%v goes first", first)
	}
	d.Step(0, protocol.Campaign{Group: "h"})
	d.Run(500 * ms)
	if first := d.members[told[1]].m.first(); first != 0 {
		t.Errorf("%v goes first, though the trusted member is back", first)
	}
}

// Thousands of groups that become free at once are tried for a few hundred at a time: each attempt has the time of one
// lease to succeed, and the queue has none.
func TestManyGroupsTakeTurns(t *testing.T) {
	const groups = 3 * maxAttempts
	d := newDriver(t, config(3))
	d.trusting = true
	d.Run(50 * ms)
	for i := range groups {
		g := protocol.Group(fmt.Sprint("g", i))
		d.Step(0, protocol.Campaign{Group: g})
		if n := d.members[0].m.holder.Attempts(); n > maxAttempts {
			t.Fatalf("%d attempts at once", n)
		}
	}
	if len(d.members[0].m.queue) == 0 {
		t.Fatal("nothing waits: the test proves nothing")
	}
	d.Run(500 * ms)
	for i := range groups {
		if !d.leads(0, protocol.Group(fmt.Sprint("g", i))) {
			t.Fatalf("group %d of %d is not led", i, groups)
		}
	}
	// The same when they all lapse at once.
	for i := range groups {
		d.Step(1, protocol.Campaign{Group: protocol.Group(fmt.Sprint("g", i))})
	}
	d.Run(500 * ms)
	d.Crash(0)
	d.Run(1000 * ms)
	for i := range groups {
		if !d.leads(1, protocol.Group(fmt.Sprint("g", i))) {
			t.Fatalf("group %d of %d is not led again", i, groups)
		}
	}
	if len(d.members[1].m.queue) != 0 {
		t.Error("groups are left in the queue")
	}
}

// A group that was withdrawn while it waited is passed over.
func TestWithdrawnGroupsAreNotTriedFor(t *testing.T) {
	d := newDriver(t, config(1))
	d.trusting = true
	d.Delay = 100 * ms // messages to oneself take their time, so that attempts stand
	d.Run(50 * ms)
	for i := range maxAttempts + 1 {
		d.Step(0, protocol.Campaign{Group: protocol.Group(fmt.Sprint("g", i))})
	}
	last := protocol.Group(fmt.Sprint("g", maxAttempts))
	if len(d.members[0].m.queue) != 1 {
		t.Fatalf("%d groups wait", len(d.members[0].m.queue))
	}
	d.Step(0, protocol.Resign{Group: last})
	d.Run(1000 * ms)
	if d.leads(0, last) || !d.leads(0, "g0") {
		t.Errorf("withdrawn leads: %v, wanted leads: %v", d.leads(0, last), d.leads(0, "g0"))
	}
}

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
	d.run(50 * ms)
	for _, r := range told {
		d.step(r, protocol.Trusts{Leader: 0})
	}
	for r := range protocol.Rank(3) {
		d.step(r, protocol.Campaign{Group: "g"})
	}
	d.run(300 * ms)
	d.expect("g", 0, true)
	d.crash(0)
	var free protocol.Time
	for range 400 {
		d.run(ms)
		if free == 0 && d.members[1].views["g"].Leader == protocol.NoIdent {
			free = d.now
		}
		if d.leads(1, "g") {
			break
		}
	}
	if took := d.now.Sub(free); !d.leads(1, "g") || took > 10*ms {
		t.Errorf("b leads: %v, %v after the lease had run out; half a round trip is enough", d.leads(1, "g"), took)
	}
	d.run(50 * ms)
	d.expect("g", 1, true)
	// Once the old one asks for something again, it goes first as before.
	c := cfg
	c.Me = 0
	d.boot(c)
	d.run(500 * ms)
	if first := d.members[told[1]].m.first(); first != 1 { // it has asked for nothing
		t.Errorf("%v goes first", first)
	}
	d.step(0, protocol.Campaign{Group: "h"})
	d.run(500 * ms)
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
	d.run(50 * ms)
	for i := range groups {
		g := protocol.Group(fmt.Sprint("g", i))
		d.step(0, protocol.Campaign{Group: g})
		if n := d.members[0].m.holder.Attempts(); n > maxAttempts {
			t.Fatalf("%d attempts at once", n)
		}
	}
	if len(d.members[0].m.queue) == 0 {
		t.Fatal("nothing waits: the test proves nothing")
	}
	d.run(500 * ms)
	for i := range groups {
		if !d.leads(0, protocol.Group(fmt.Sprint("g", i))) {
			t.Fatalf("group %d of %d is not led", i, groups)
		}
	}
	// The same when they all lapse at once.
	for i := range groups {
		d.step(1, protocol.Campaign{Group: protocol.Group(fmt.Sprint("g", i))})
	}
	d.run(500 * ms)
	d.crash(0)
	d.run(1000 * ms)
	for i := range groups {
		if !d.leads(1, protocol.Group(fmt.Sprint("g", i))) {
			t.Fatalf("group %d of %d is not led again", i, groups)
		}
	}
	if len(d.members[1].m.queue) != 0 {
		t.Error("seats are left in the queue")
	}
}

// A seat that was withdrawn while it waited is passed over.
func TestWithdrawnSeatsAreNotTriedFor(t *testing.T) {
	d := newDriver(t, config(1))
	d.trusting = true
	d.delay = 100 * ms // messages to oneself take their time, so that attempts stand
	d.run(50 * ms)
	for i := range maxAttempts + 1 {
		d.step(0, protocol.Campaign{Group: protocol.Group(fmt.Sprint("g", i))})
	}
	last := protocol.Group(fmt.Sprint("g", maxAttempts))
	if len(d.members[0].m.queue) != 1 {
		t.Fatalf("%d seats wait", len(d.members[0].m.queue))
	}
	d.step(0, protocol.Resign{Group: last})
	d.run(1000 * ms)
	if d.leads(0, last) || !d.leads(0, "g0") {
		t.Errorf("withdrawn leads: %v, wanted leads: %v", d.leads(0, last), d.leads(0, "g0"))
	}
}

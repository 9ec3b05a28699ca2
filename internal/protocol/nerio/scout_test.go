package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// taken returns how many terms of the group a member has taken, by the attempts that it has begun.
func (d *driver) taken(r protocol.Rank, g protocol.Group) int {
	n := 0
	for _, f := range d.members[r].Facts {
		if f.Ev == protocol.EvAttempt && f.Group == g {
			n++
		}
	}
	return n
}

// A candidate whose peers are down tries for hours. It takes a term once, and not four times a second. When enough peers are back, it leads as soon as if it
// had claimed all the time.
func TestLoneCandidateTakesOneTerm(t *testing.T) {
	for _, n := range []int{3, 5} {
		d := newDriver(t, config(n))
		d.campaign("g", 0)
		d.Run(500 * ms)
		before := d.token("g")
		for r := range protocol.Rank(n) {
			if r != 0 {
				d.Crash(r)
			}
		}
		d.Run(time.Minute)
		if n := d.taken(0, "g"); n > 2+1 { // the first led, and the lease of the second may have been lost to the deaths
			t.Errorf("a lone candidate of %d has taken %d terms in a minute", d.members[0].m.cfg.Quorums.Members(), n)
		}
		if n := d.packets(10*time.Second, nil); n > 100 {
			t.Errorf("%.0f packets a second from each member", n)
		}
		for r := range protocol.Rank(n) {
			if r != 0 {
				d.again(config(n), r)
			}
		}
		ready := d.Now.Add(d.members[0].m.lcfg.LongestPromise(d.members[0].m.cfg.Lease))
		d.Run(time.Second)
		f := d.tenures["g"][len(d.tenures["g"])-1]
		if len(d.leaders("g")) != 1 || f.At.Sub(ready) > 100*ms {
			t.Errorf("%v lead, since %v after others were able to vote", d.leaders("g"), f.At.Sub(ready))
		}
		// A voter that crashes skips up to its ceiling.
		if now := d.token("g"); now > before+40 {
			t.Errorf("token %d after token %d", now, before)
		}
	}
}

// All packets are lost for 20 s. A group that has been without a leader is led soon after that, and nobody took terms in vain.
func TestCandidatesLeadSoonAfterAnOutage(t *testing.T) {
	for seed := range uint64(5) {
		d := newDriver(t, config(5))
		d.far(seed, 5*ms)
		d.campaign("g", 0, 1, 2, 3, 4)
		d.Run(500*ms + time.Duration(seed)*37*ms)
		d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to }
		d.Run(20 * time.Second)
		d.Drop = nil
		healed := d.Now
		d.packets(5*time.Second, func() bool { return len(d.leaders("g")) > 0 })
		if took := d.Now.Sub(healed); took > 500*ms {
			t.Errorf("seed %d: a leader %v after the outage", seed, took)
		}
		if token := d.token("g"); token > 30 {
			t.Errorf("seed %d: token %d", seed, token)
		}
	}
}

// A host restarts whose program waits, and another host leads. Until the promises of before are over, which were made for another group, its own vote refuses
// all requests. That is no reason to try again and again.
func TestRestartedCandidateTakesFewTerms(t *testing.T) {
	for _, length := range []time.Duration{0, 5 * time.Second} {
		cfg := mixed(3)
		d := newDriver(t, cfg)
		d.Run(100 * ms)
		for r := range protocol.Rank(3) {
			d.Step(r, protocol.Campaign{Group: "long", Length: 5 * time.Second})
			d.Step(r, protocol.Campaign{Group: "g", Length: length})
			d.Run(100 * ms)
		}
		d.Run(time.Second)
		d.expect("g", 0, true)
		before := d.token("g")
		d.Crash(2)
		d.Run(time.Second)
		d.again(cfg, 2)
		d.Run(20 * ms)
		d.Step(2, protocol.Campaign{Group: "g", Length: length})
		d.Run(8 * time.Second)
		d.expect("g", 0, true)
		// The leader's voters refuse for the rest of a lease, and then again.
		if n, most := d.taken(2, "g"), int(8*time.Second/d.members[0].m.nominal(length)); n > max(most, 4) {
			t.Errorf("leases of %v: a restarted candidate has taken %d terms beside a leader", length, n)
		}
		d.Step(0, protocol.Transfer{Group: "g", To: 2})
		d.Run(200 * ms)
		d.expect("g", 2, true)
		if now := d.token("g"); now > before+80 { // a crash skips up to the ceiling
			t.Errorf("leases of %v: token %d after token %d and a restart", length, now, before)
		}
	}
}

// Of three hosts one is dead, and one has just restarted: its vote refuses until its promises of before are over. Then the third leads. Until then it has
// taken few terms.
func TestCandidateBesideADeadAndARestartedMemberTakesFewTerms(t *testing.T) {
	const length = 5 * time.Second
	cfg := mixed(3)
	d := newDriver(t, cfg)
	for r := range protocol.Rank(3) {
		d.Run(100 * ms)
		d.Step(r, protocol.Campaign{Group: "g", Length: length})
	}
	d.Run(time.Second)
	d.expect("g", 0, true)
	before := d.token("g")
	d.Crash(0)
	d.Crash(2)
	d.Run(4 * time.Second)
	d.again(cfg, 2)
	ready := d.Now.Add(d.members[2].m.lcfg.LongestPromise(d.disk0(2).Promised))
	d.Run(4 * time.Second)
	d.Step(2, protocol.Campaign{Group: "g", Length: length})
	d.Run(ready.Sub(d.Now) + 200*ms)
	l := d.leaders("g")
	if len(l) != 1 {
		t.Fatalf("%v lead\n%s", l, d.transcript())
	}
	if n := d.taken(1, "g") + d.taken(2, "g"); n > 8 {
		t.Errorf("two candidates have taken %d terms while no quorum could be had", n)
	}
	if now := d.token("g"); now > before+40+8 {
		t.Errorf("token %d after token %d", now, before)
	}
}

package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// died gives a member the report of a guardian. From then on nobody acts for a member that is down.
func (d *driver) died(to protocol.Rank, who protocol.Ident, r obituary.Report) {
	if int(who.Rank) < len(d.members) && d.members[who.Rank].Down {
		clear(d.members[who.Rank].Views)
	}
	d.Step(to, &protocol.Receive{From: who, Message: &Died{Report: r}, Delay: protocol.Unknown})
}

// ident returns a member in its present incarnation.
func (d *driver) ident(r protocol.Rank) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: d.members[r].m.Incarnation()}
}

// ledByA returns a council in which a leads group g and all want to. All trust a, and go on to.
func ledByA(t *testing.T, n int) (*driver, Config) {
	cfg := config(n)
	cfg.Elector = true
	d := newDriver(t, cfg)
	d.Run(50 * ms)
	for r := range protocol.Rank(n) {
		d.Step(r, protocol.Trusts{Leader: 0})
	}
	for r := range protocol.Rank(n) {
		d.Step(r, protocol.Campaign{Group: "g"})
	}
	d.Run(300 * ms)
	d.expect("g", 0, true)
	return d, cfg
}

// until runs the council until a member leads, and returns how long that took.
func (d *driver) until(r protocol.Rank, most time.Duration) time.Duration {
	d.t.Helper()
	begun := d.Now
	for d.Now.Sub(begun) < most {
		if d.leads(r, "g") {
			return d.Now.Sub(begun)
		}
		d.Run(ms)
	}
	d.t.Fatalf("%v: %v does not lead after %v\n%s", d.Now, r, most, d.transcript())
	return 0
}

func TestNextInRankLeadsAtOnceWhenADeathIsReported(t *testing.T) {
	for _, n := range []int{3, 5} {
		d, _ := ledByA(t, n)
		dead := d.ident(0)
		token := d.token("g")
		d.Crash(0)
		for r := protocol.Rank(1); int(r) < n; r++ {
			d.died(r, dead, obituary.Report{})
		}
		if v := d.members[2].Views["g"]; v.Leader != protocol.NoIdent || v.Cause != (protocol.Cause{Code: protocol.Died, Peer: 0}) {
			t.Errorf("c believes that %v leads: %v; want nobody, for a died", v.Leader, v.Cause)
		}
		if took := d.until(1, 100*ms); took > 5*ms {
			t.Errorf("%d members: b leads after %v, one round trip of 2 ms is enough", n, took)
		}
		if now := d.token("g"); now <= token {
			t.Errorf("token %d after %d", now, token)
		}
		d.Run(20 * ms)
		d.expect("g", 1, true)
	}
}

// The report reaches b first, whose claim reaches c before c's copy does.
func TestReportThatOneVoterGetsLateCostsRoundTripsOnly(t *testing.T) {
	d, _ := ledByA(t, 3)
	dead := d.ident(0)
	d.Crash(0)
	d.died(1, dead, obituary.Report{})
	d.Run(30 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Fatalf("%v lead without a quorum", l)
	}
	d.died(2, dead, obituary.Report{})
	if took := d.until(1, 150*ms); took > 30*ms {
		t.Errorf("b leads %v after c had the report", took)
	}
}

// A report about another start, or about this member, changes nothing.
func TestReportOfAnotherIncarnationEndsNothing(t *testing.T) {
	d, _ := ledByA(t, 3)
	a := d.ident(0)
	for _, who := range []protocol.Ident{{Rank: 0, Inc: a.Inc - 1}, {Rank: 0, Inc: a.Inc + 1}, {Rank: 0}, {Rank: 7, Inc: a.Inc}, d.ident(1)} {
		d.died(1, who, obituary.Report{})
		if has := d.members[1].m.grantor.Status(d.Now, "g").Holder; has != a {
			t.Errorf("after a report about %v: %v has the group", who, has)
		}
	}
	d.Run(500 * ms)
	d.expect("g", 0, true)
}

// What a member has promised to others is over when it would have been, though its death was reported: it waits after its restart.
func TestMemberThatWasReportedDeadWaitsAfterItsRestart(t *testing.T) {
	d, cfg := ledByA(t, 3)
	dead := d.ident(0)
	d.Crash(0)
	d.died(1, dead, obituary.Report{})
	d.died(2, dead, obituary.Report{})
	d.until(1, 100*ms)
	c := cfg
	c.Me = 0
	d.boot(c)
	begun := d.Now
	for !d.members[0].m.grantor.Ready(d.Now) && d.Now.Sub(begun) < time.Second {
		d.died(0, dead, obituary.Report{})
		d.Run(ms)
	}
	if waited := d.Now.Sub(begun); waited < cfg.Longest {
		t.Errorf("it votes %v after its restart, want %v", waited, cfg.Longest)
	}
	d.expect("g", 1, false)
}

// A request that the network has held up must not block the group again.
func TestLateRequestOfTheDeadIsRefused(t *testing.T) {
	d, _ := ledByA(t, 3)
	dead := d.ident(0)
	d.Crash(0)
	d.died(1, dead, obituary.Report{})
	late := &lease.Request{Epoch: d.members[1].m.lcfg.Epoch, Digest: 42, Seq: 1 << 40, Delta: 200 * ms,
		Claims: []lease.Claim{{Group: "g", Tenure: 99, Term: 1 << 30}}}
	d.Step(1, &protocol.Receive{From: dead, Message: late, Delay: ms})
	if has := d.members[1].m.grantor.Status(d.Now, "g").Holder; has == dead {
		t.Error("the dead has the group again")
	}
	if d.members[1].m.lapsed != 0 {
		t.Error("the dead goes first again")
	}
}

package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// token returns the token of who leads the group.
func (d *driver) token(g protocol.Group) uint64 {
	d.t.Helper()
	l := d.leaders(g)
	if len(l) != 1 {
		d.t.Fatalf("%v: %v lead %s\n%s", d.Now, l, g, d.transcript())
	}
	return d.members[l[0]].Views[g].Term
}

// leave stops a member in good order and starts it again.
func (d *driver) leave(cfg Config, r protocol.Rank) {
	d.t.Helper()
	d.Step(r, protocol.Close{})
	for range 100 {
		if d.members[r].m.Closed() {
			break
		}
		d.Run(10 * ms)
	}
	if !d.members[r].m.Closed() {
		d.t.Fatalf("%v: %v has not left in good order: %+v", d.Now, r, d.disk0(r))
	}
	d.Crash(r)
	d.again(cfg, r)
}

// Members are stopped in good order and started again, one after another, over and over. Tokens are those of the leaderships that there were: a member that
// leaves gives its group up, and one that comes back skips nothing.
func TestTokensAreSmallAfterRestartsInGoodOrder(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.campaign("g", 0, 1, 2)
	d.Run(500 * ms)
	last := d.token("g")
	for i := range 30 {
		r := protocol.Rank(i % 3)
		led := d.leads(r, "g")
		d.leave(cfg, r)
		d.Run(500 * ms)
		d.Step(r, protocol.Campaign{Group: "g"})
		d.Run(500 * ms)
		now := d.token("g")
		if !led && now != last {
			t.Fatalf("%v restarts, and the token of another leader changes from %d to %d", r, last, now)
		}
		if now > last+6 {
			t.Fatalf("%v restarts, and the token goes from %d to %d", r, last, now)
		}
		last = now
	}
	t.Logf("token %d after %d leaderships and 30 restarts", last, len(d.tenures["g"]))
}

// A member that crashes begins above its ceiling, and the others follow it. Each crash skips little, whether or not the member led.
func TestTokensSkipLittleAfterACrash(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.campaign("g", 0, 1, 2)
	d.Run(500 * ms)
	for i := range 6 {
		r := protocol.Rank(i % 3)
		d.Crash(r)
		d.Run(5 * time.Second)
		d.again(cfg, r)
		d.Run(5 * time.Second)
		d.Step(r, protocol.Campaign{Group: "g"})
		d.Run(5 * time.Second)
		if now := d.token("g"); now > uint64(i+1)*2*lease.LeastAhead {
			t.Fatalf("token %d after %d crashes", now, i+1)
		}
	}
	t.Logf("token %d after 6 crashes", d.token("g"))
}

// The record of a clean stop has the highest term that the member has accepted, though it has heard of higher ones, and the next start has a ceiling above
// it on disk before it speaks.
func TestCleanStopRecordsTheHighestTermExactly(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.campaign("g", 0)
	d.Run(500 * ms)
	x := d.members[1].m
	if d.disk0(1).Ceiling != lease.LeastAhead || x.terms.Used != 1 {
		t.Fatalf("ceiling %d on disk, used %d", d.disk0(1).Ceiling, x.terms.Used)
	}
	x.terms.See(9)
	d.leave(cfg, 1)
	if c := d.members[1].m.terms.Floor; c != 1 {
		t.Errorf("starts at %d, want 1", c)
	}
	d.Run(500 * ms)
	if rec := d.disk0(1); rec.Clean || rec.Ceiling < 1+lease.LeastAhead {
		t.Errorf("speaks with %+v on disk", rec)
	}
	// From the instant at which the record of a clean stop is on its way, the disk may have it.
	m := d.members[2].m
	d.Disk = time.Second
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(100 * ms)
	d.Step(2, protocol.Close{})
	d.Run(200 * ms)
	if !m.closing.noted || m.terms.Durable != m.terms.Used {
		t.Errorf("noted: %v; %d counts as durable, %d was used", m.closing.noted, m.terms.Durable, m.terms.Used)
	}
	used := m.terms.Used
	d.Step(2, &protocol.Receive{From: d.members[0].m.me(), Delay: ms, Message: &lease.Request{Digest: cfg.Digest, Seq: 1 << 40, Delta: 200 * ms,
		Claims: []lease.Claim{{Group: "h", Tenure: 99, Term: used + 5}}}})
	if m.terms.Used != used {
		t.Errorf("accepts %d after the record of a clean stop with %d", m.terms.Used, used)
	}
}

// A voter knows where a member that has restarted begins, before any candidate does.
func TestVotersMakeReadyForThePeerThatHasRestarted(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.campaign("g", 0)
	d.Run(500 * ms)
	d.Crash(2)
	d.again(cfg, 2)
	d.Run(20 * ms)
	floor := d.members[2].m.terms.Floor
	if floor != lease.LeastAhead {
		t.Fatalf("starts at %d", floor)
	}
	for r := range protocol.Rank(2) {
		if c := d.disk0(r).Ceiling; c < floor+lease.LeastAhead/2 {
			t.Errorf("%v has a ceiling of %d on disk, and %v begins at %d", r, c, protocol.Rank(2), floor)
		}
	}
}

// No disk writes for a while, as when all are full. The next record that is written has so many terms ahead that elections go on, whatever becomes of the
// disks after it.
func TestRecordAfterAFullDiskServesForLong(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0, 1, 2)
	d.Run(500 * ms)
	d.Disk = OverdueAfter + time.Second
	for r := range protocol.Rank(3) {
		d.members[r].m.terms.See(lease.LeastAhead) // as the floor of a peer that crashed does
		d.Step(r, protocol.Tick{})
	}
	d.Run(OverdueAfter - ms)
	if c := d.members[1].m.disk.record.Ceiling; c > 4*lease.LeastAhead {
		t.Errorf("%d terms ahead though the record is not overdue", c)
	}
	d.Run(2 * OverdueAfter)
	for r := range protocol.Rank(3) {
		if left := d.members[r].m.TermsLeft(); left < lease.MostAhead/2 {
			t.Fatalf("%v: %d terms left", r, left)
		}
	}
	d.Disk = 1000 * time.Hour
	for n := range 100 {
		l := d.leaders("g")
		if len(l) != 1 {
			t.Fatalf("%v lead after %d changes", l, n)
		}
		d.Step(l[0], protocol.Resign{Group: "g"})
		d.Run(100 * ms)
		d.Step(l[0], protocol.Campaign{Group: "g"})
		d.Run(400 * ms)
	}
}

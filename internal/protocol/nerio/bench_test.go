package nerio

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// many returns three members of which the first leads n groups that everybody backs.
func many(t testing.TB, n int) *driver {
	d := newDriver(t, config(3))
	d.trusting = true
	for i := range n {
		d.Step(0, protocol.Campaign{Group: protocol.Group(fmt.Sprintf("group-%05d", i))})
	}
	d.Run(time.Second)
	for i := range n {
		if !d.leads(0, protocol.Group(fmt.Sprintf("group-%05d", i))) {
			t.Fatalf("group %d is not led", i)
		}
	}
	return d
}

// A round is one renewal: the leader's Tick, each voter's answer, and what the leader makes of it.
type round struct {
	d     *driver
	now   protocol.Time
	queue []envelope
	out   [3]drivetest.Buffer // of each member: its messages stay until its next Step
	in    protocol.Receive
}

type envelope struct {
	from, to protocol.Rank
	msg      protocol.Message
}

func newRound(d *driver) *round { return &round{d: d, now: d.Now, queue: make([]envelope, 0, 64)} }

// play lets a renewal interval pass and returns how many messages went to other members.
func (r *round) play() int {
	r.now = r.now.Add(r.d.members[0].m.cfg.Renew)
	r.queue = r.queue[:0]
	sent := r.give(0, protocol.Tick{})
	for i := 0; i < len(r.queue); i++ {
		p := r.queue[i]
		r.in = protocol.Receive{From: protocol.Ident{Rank: p.from, Inc: r.d.members[p.from].m.Incarnation()}, Message: p.msg, Delay: ms}
		sent += r.give(p.to, &r.in)
	}
	return sent
}

func (r *round) give(to protocol.Rank, ev protocol.Event) int {
	sent := 0
	for _, e := range r.out[to].Step(r.d.members[to].m, r.now, ev).Send {
		r.queue = append(r.queue, envelope{to, e.To, e.Message})
		if e.To != to {
			sent++
		}
	}
	return sent
}

// In steady state a renewal takes one request to, and one answer of, each other member, for one group and for ten
// thousand alike, and allocates nothing.
func TestRenewalCostsTheSameForAllGroups(t *testing.T) {
	for _, n := range []int{1, 10_000} {
		r := newRound(many(t, n))
		for range 5 {
			r.play()
		}
		if sent := r.play(); sent != 4 {
			t.Errorf("%d groups: %d messages per renewal, want 2 requests and 2 answers", n, sent)
		}
		if allocs := testing.AllocsPerRun(100, func() { r.play() }); allocs != 0 {
			t.Errorf("%d groups: %v allocations per renewal, want none", n, allocs)
		}
		before := r.d.members[0].m.holder.Next()
		if before <= r.now {
			t.Errorf("%d groups: the leader wants to be woken at %v, at %v", n, before, r.now)
		}
	}
}

func BenchmarkRenew(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			r := newRound(many(b, n))
			for range 5 {
				r.play()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				r.play()
			}
		})
	}
}

// failover lets two members campaign for n groups, kills the one that leads all of them, and returns how long it took until the other did. With
// values, each leadership begins with one.
func failover(t testing.TB, n int, values bool) time.Duration {
	d := newDriver(t, config(3))
	d.trusting = true
	led, took := make(map[protocol.Group]bool), time.Duration(0)
	var died protocol.Time
	d.Net.View = func(m *drivetest.Member, v *protocol.View) {
		if m.Rank == 1 && v.Tenure != 0 && !led[v.Group] {
			led[v.Group] = true
			took = d.Now.Sub(died)
		}
	}
	for r := range protocol.Rank(2) {
		for i := range n {
			c := protocol.Campaign{Group: protocol.Group(fmt.Sprintf("group-%05d", i))}
			if values {
				c.Value = fmt.Sprintf("http://10.0.0.%d:80/%s/", r, c.Group)
			}
			d.Step(r, c)
		}
		d.Run(500 * ms)
	}
	died = d.Now
	d.Crash(0)
	d.Run(time.Second)
	if len(led) != n {
		t.Errorf("%d of %d groups are led a second after their leader died", len(led), n)
	}
	d.Run(time.Second)
	for g := range led { // order does not matter: all of them have to
		if values && d.members[2].Views[g].Value == nil {
			t.Fatalf("another member does not know the value of %s", g)
		}
	}
	return took
}

// Ten thousand groups led by a member that dies are led again within a second, and values do not delay it.
func TestTenThousandGroupsAreLedAgainWithinASecond(t *testing.T) {
	const n = 10_000
	without := failover(t, n, false)
	if with := failover(t, n, true); with > without*6/5 {
		t.Errorf("with values it takes %v, without %v", with, without)
	}
}

package nerio

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/stamp"
)

const ms = time.Millisecond

// A driver is a council on a net, with programs that stop when they are asked to, and with checks after every Step.
type driver struct {
	*drivetest.Net
	t       testing.TB
	members []*member
	seed    int // of the last machine that was made
	// trusting leaves out the check after every step, which is slow for many groups.
	trusting bool
	log      []string
	// tenures lists the first completions in each group.
	tenures map[protocol.Group][]protocol.Fact
	values  valueLog
}

type member struct {
	*drivetest.Member
	m    *Machine
	read int // how many of its facts were looked at
	// obeys says that the program stops when it is asked to.
	obeys bool
}

func config(n int) Config {
	return Config{Quorums: protocol.Majority(n), Digest: 42, Listing: [32]byte{1}, RoundTrip: 20 * ms, Lease: 200 * ms, Longest: 200 * ms,
		Renew: 50 * ms, Rho: protocol.DefaultRho, Bootstrap: true, FirstInc: 1}
}

func newDriver(t testing.TB, cfg Config) *driver {
	d := &driver{Net: drivetest.NewNet(t, cfg.Quorums.Members(), 1e9, ms), t: t, tenures: make(map[protocol.Group][]protocol.Fact)}
	d.Net.View, d.After = d.published, d.stepped
	for _, m := range d.Members {
		d.members = append(d.members, &member{Member: m, obeys: true})
		c := cfg
		c.Me = m.Rank
		d.boot(c)
	}
	return d
}

// boot starts a member with what is on its disk.
func (d *driver) boot(cfg Config) {
	d.t.Helper()
	d.seed += 10                        // others have spoken since
	cfg.FirstInc = protocol.Inc(d.seed) // as milliseconds since some day would be
	cfg.Tag = drivetest.Tags(uint64(cfg.Me))
	x := d.members[cfg.Me]
	m, err := New(cfg, x.Record, uint64(d.seed))
	if err != nil {
		d.t.Fatal(err)
	}
	x.m, x.read = m, 0
	d.Start(cfg.Me, m, 0)
}

// later is the word of a peer that it has heard the incarnation inc of a member, which only the member can have proved.
func (d *driver) later(of protocol.Rank, inc protocol.Inc) *protocol.Receive {
	from := (of + 1) % protocol.Rank(len(d.members))
	return &protocol.Receive{From: protocol.Ident{Rank: from, Inc: d.members[from].Inc}, Message: &Stale{Heard: d.life(of, inc)}, Delay: protocol.Unknown}
}

// life returns a life of a member that this start knows nothing of.
func (d *driver) life(of protocol.Rank, inc protocol.Inc) protocol.Life {
	l := protocol.Life{Inc: inc, Start: protocol.StartBits{1}}
	l.Tag = d.members[of].m.cfg.Tag(l.Inc, l.Start)
	return l
}

// published lets the program of a view stop that asks for it.
func (d *driver) published(m *drivetest.Member, v *protocol.View) {
	d.log = append(d.log, fmt.Sprintf("%v %v %s: %v %v", d.Now, m.Rank, v.Group, v.Leader, v.Cause))
	if v.Stop && d.members[m.Rank].obeys {
		d.Later(m.Rank, protocol.Stopped{Group: v.Group})
	}
}

func (d *driver) stepped(m *drivetest.Member) {
	x := d.members[m.Rank]
	if inc := x.m.Incarnation(); inc != 0 && !x.m.cfg.Diskless && d.disk0(m.Rank).Inc != inc {
		d.t.Fatalf("%v: %v speaks as %d, and its disk has %d", d.Now, m.Rank, inc, d.disk0(m.Rank).Inc)
	}
	for ; x.read < len(x.Facts); x.read++ {
		if f := x.Facts[x.read]; f.Ev == protocol.EvLease && f.Why == "" {
			d.completed(m.Rank, f)
		}
	}
	d.values.check(d, m)
	d.check()
}

// leaders returns who leads the group now, by the leases that were published.
func (d *driver) leaders(g protocol.Group) []protocol.Rank {
	var out []protocol.Rank
	for i, x := range d.members {
		if d.leads(protocol.Rank(i), g) && !x.Down {
			out = append(out, protocol.Rank(i))
		}
	}
	return out
}

func (d *driver) leads(r protocol.Rank, g protocol.Group) bool {
	x := d.members[r]
	v, ok := x.Views[g]
	return ok && v.Tenure != 0 && d.Now < min(v.Until, x.Horizons[v.Horizon])
}

// check holds that no group has two leaders, at every Step.
func (d *driver) check() {
	if d.trusting {
		return
	}
	seen := make(map[protocol.Group]protocol.Rank)
	for i, x := range d.members {
		for g, v := range x.Views {
			if v.Tenure == 0 || d.Now >= min(v.Until, x.Horizons[v.Horizon]) {
				continue
			}
			d.recorded(protocol.Rank(i), g)
			if o, ok := seen[g]; ok {
				d.t.Fatalf("%v: both %v and %v lead %s\n%s", d.Now, o, protocol.Rank(i), g, d.transcript())
			}
			seen[g] = protocol.Rank(i)
		}
	}
}

// recorded holds that a quorum would wait for the lease of a leader, were they all to restart now.
func (d *driver) recorded(r protocol.Rank, g protocol.Group) {
	m := d.members[r].m
	l, ok := m.holder.Lease(g)
	if !ok || m.cfg.Diskless {
		return
	}
	var wait protocol.Set
	for i, x := range d.members {
		if x.Record == nil || d.disk0(protocol.Rank(i)).Promised >= m.nominal(l.Length) {
			wait.Add(protocol.Rank(i))
		}
	}
	if !m.cfg.Quorums.In(wait) {
		d.t.Fatalf("%v: %v leads %s with a lease of %v, for which only %v would wait\n%s", d.Now, r, g, m.nominal(l.Length), wait, d.transcript())
	}
}

func (d *driver) transcript() string { return strings.Join(d.log, "\n") }

// expect fails unless exactly this member leads and, if all is set, everybody knows it.
func (d *driver) expect(g protocol.Group, who protocol.Rank, all bool) {
	d.t.Helper()
	if l := d.leaders(g); len(l) != 1 || l[0] != who {
		d.t.Fatalf("%v: %v lead %s, want %v\n%s", d.Now, l, g, who, d.transcript())
	}
	for i, x := range d.members {
		if all && !x.Down && x.Views[g].Leader.Rank != who {
			d.t.Fatalf("%v: %v believes that %v leads %s, want %v\n%s", d.Now, protocol.Rank(i), x.Views[g].Leader, g, who, d.transcript())
		}
	}
}

// completed holds that tokens grow from tenure to tenure, and that all voters that two tenures share agree on which of them
// was first.
func (d *driver) completed(r protocol.Rank, f protocol.Fact) {
	for _, old := range d.tenures[f.Group] {
		if f.Term <= old.Term {
			d.t.Fatalf("%v: %v leads %s with token %d after token %d\n%s", d.Now, r, f.Group, f.Term, old.Term, d.transcript())
		}
		common := 0
		for _, a := range old.Detail.(stamp.Quorum) {
			for _, b := range f.Detail.(stamp.Quorum) {
				if a.Voter != b.Voter {
					continue
				}
				common++
				if b.Inc < a.Inc || b.Inc == a.Inc && b.Clock <= a.Clock {
					d.t.Fatalf("%v: %v leads %s with %v after %v\n%s", d.Now, r, f.Group, b, a, d.transcript())
				}
			}
		}
		if common == 0 {
			d.t.Fatalf("%v: %v leads %s with a quorum that shares no voter with one before\n%s", d.Now, r, f.Group, d.transcript())
		}
	}
	d.tenures[f.Group] = append(d.tenures[f.Group], f)
}

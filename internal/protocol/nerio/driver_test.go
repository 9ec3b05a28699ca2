package nerio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

const ms = time.Millisecond

// A driver runs a few machines on one virtual clock, with a fixed delay, so that a test can follow every message. The
// simulator does the rest: drift, loss, faults.
type driver struct {
	t       testing.TB
	now     protocol.Time
	members []*member
	queue   []event
	seq     int
	delay   time.Duration
	disk    time.Duration
	// drop decides whether a message is lost.
	drop func(from, to protocol.Rank, msg protocol.Message) bool
	// late adds to the delay of a message.
	late func(from, to protocol.Rank, msg protocol.Message) time.Duration
	// trusting leaves out the check after every step, which is slow for many groups.
	trusting bool
	// unproven leaves every delay unknown.
	unproven bool
	sent     map[string]int
	log      []string
	idle     int
	// tenures lists the first completions in each group.
	tenures map[protocol.Group][]protocol.Fact
}

type member struct {
	m        *Machine
	down     bool
	life     int
	wake     protocol.Time
	disk     []byte
	views    map[protocol.Group]protocol.View
	history  []protocol.View
	horizons map[protocol.HorizonID]protocol.Time
	facts    []protocol.Fact
	answers  []protocol.Answer
	held     []event // sends that wait for the disk
	writes   int     // not yet confirmed
	// obeys says that the program stops when it is asked to.
	obeys bool
	inc   protocol.Inc
}

type event struct {
	at   protocol.Time
	seq  int
	to   protocol.Rank
	life int            // of the receiver at the time of sending, for what is not a message; -1: any
	ev   protocol.Event // nil: the disk has written rec
	rec  []byte
}

func config(n int) Config {
	return Config{Quorums: protocol.Majority(n), Digest: 42, Listing: [32]byte{1}, RoundTrip: 20 * ms, Lease: 200 * ms, Longest: 200 * ms,
		Renew: 50 * ms, Rho: protocol.DefaultRho, Bootstrap: true, FirstInc: 1}
}

func newDriver(t testing.TB, cfg Config) *driver {
	d := &driver{t: t, delay: ms, disk: ms, sent: make(map[string]int), now: 1e9,
		tenures: make(map[protocol.Group][]protocol.Fact)}
	for i := range cfg.Quorums.Members() {
		d.members = append(d.members, &member{obeys: true, down: true})
		c := cfg
		c.Me = protocol.Rank(i)
		d.boot(c)
	}
	return d
}

// boot starts a member with what is on its disk.
func (d *driver) boot(cfg Config) {
	d.t.Helper()
	d.seq++
	cfg.FirstInc = protocol.Inc(d.seq) // as seconds since some day would be
	m, err := New(cfg, d.members[cfg.Me].disk, uint64(d.seq))
	if err != nil {
		d.t.Fatal(err)
	}
	x := d.members[cfg.Me]
	*x = member{m: m, life: x.life + 1, wake: protocol.Never, disk: x.disk, obeys: x.obeys,
		views: make(map[protocol.Group]protocol.View), horizons: make(map[protocol.HorizonID]protocol.Time)}
	d.step(cfg.Me, protocol.Start{})
}

func (d *driver) crash(r protocol.Rank) { d.members[r].down = true; d.members[r].life++ }

func (d *driver) push(e event) {
	d.seq++
	e.seq = d.seq
	i, _ := slices.BinarySearchFunc(d.queue, e, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	d.queue = slices.Insert(d.queue, i, e)
}

// step gives one event to one member and carries its effects out.
func (d *driver) step(r protocol.Rank, ev protocol.Event) {
	x := d.members[r]
	if x.down {
		return
	}
	eff := x.m.Step(d.now, ev)
	x.inc = x.m.Incarnation()
	if x.inc != 0 && !x.m.cfg.Diskless && d.disk0(r).Inc != x.inc {
		d.t.Fatalf("%v: %v speaks as %d, and its disk has %d", d.now, r, x.inc, d.disk0(r).Inc)
	}
	x.wake = eff.Wake
	for _, v := range eff.Views {
		x.views[v.Group] = v
		x.history = append(x.history, v)
		d.log = append(d.log, fmt.Sprintf("%v %v %s: %v %v", d.now, r, v.Group, v.Leader, v.Cause))
		if v.Stop && x.obeys {
			d.push(event{at: d.now, to: r, life: x.life, ev: protocol.Stopped{Group: v.Group}})
		}
	}
	for _, h := range eff.Horizons {
		if h.Until < x.horizons[h.ID] {
			d.t.Fatalf("%v: horizon %d moves back", r, h.ID)
		}
		x.horizons[h.ID] = h.Until
	}
	x.facts = append(x.facts, eff.Facts...)
	for _, f := range eff.Facts {
		if f.Ev == protocol.EvLease && f.Why == "" {
			d.completed(r, f)
		}
	}
	x.answers = append(x.answers, eff.Answers...)
	if eff.Persist != nil {
		x.writes++
		rec := slices.Clone(eff.Persist)
		d.push(event{at: d.now.Add(d.disk), to: r, life: x.life, rec: rec})
	}
	for _, e := range eff.Send {
		d.sent[e.Message.Name()]++
		if d.drop != nil && d.drop(r, e.To, e.Message) {
			continue
		}
		out := event{at: d.now, to: e.To, life: -1, ev: &protocol.Receive{From: protocol.Ident{Rank: r, Inc: x.inc},
			Message: e.Message.Copy(), Delay: protocol.Unknown}}
		if r != e.To {
			out.at = d.now.Add(d.delay)
		}
		if d.late != nil {
			out.at = out.at.Add(d.late(r, e.To, e.Message))
		}
		if !d.unproven {
			out.ev.(*protocol.Receive).Delay = out.at.Sub(d.now)
		}
		if e.Durable && x.writes > 0 {
			x.held = append(x.held, out)
			continue
		}
		d.push(out)
	}
	d.check()
}

// leaders returns who leads the group now, by the leases that were published.
func (d *driver) leaders(g protocol.Group) []protocol.Rank {
	var out []protocol.Rank
	for i, x := range d.members {
		if d.leads(protocol.Rank(i), g) && !x.down {
			out = append(out, protocol.Rank(i))
		}
	}
	return out
}

func (d *driver) leads(r protocol.Rank, g protocol.Group) bool {
	x := d.members[r]
	v, ok := x.views[g]
	return ok && v.Tenure != 0 && d.now < min(v.Until, x.horizons[v.Horizon])
}

// check holds that no group has two leaders, at every Step.
func (d *driver) check() {
	if d.trusting {
		return
	}
	seen := make(map[protocol.Group]protocol.Rank)
	for i, x := range d.members {
		for g, v := range x.views {
			if v.Tenure == 0 || d.now >= min(v.Until, x.horizons[v.Horizon]) {
				continue
			}
			if o, ok := seen[g]; ok {
				d.t.Fatalf("%v: both %v and %v lead %s\n%s", d.now, o, protocol.Rank(i), g, d.story())
			}
			seen[g] = protocol.Rank(i)
		}
	}
}

func (d *driver) story() string { return strings.Join(d.log, "\n") }

// run lets time pass.
func (d *driver) run(length time.Duration) {
	d.t.Helper()
	for end := d.now.Add(length); ; {
		next, i := end, -1
		if len(d.queue) > 0 && d.queue[0].at <= next {
			next, i = d.queue[0].at, len(d.members)
		}
		for j, x := range d.members {
			if !x.down && x.wake < next {
				next, i = x.wake, j
			}
		}
		if i < 0 {
			d.now = end
			return
		}
		if next > d.now {
			d.idle = 0
		}
		if d.idle++; d.idle > 100_000 {
			d.t.Fatalf("%v: time stands still (member %d)\n%s", d.now, i, d.story())
		}
		d.now = max(d.now, next)
		if i < len(d.members) {
			d.step(protocol.Rank(i), protocol.Tick{})
			continue
		}
		e := d.queue[0]
		d.queue = d.queue[1:]
		d.deliver(e)
	}
}

func (d *driver) deliver(e event) {
	x := d.members[e.to]
	if e.life >= 0 && e.life != x.life {
		return
	}
	if e.ev != nil {
		d.step(e.to, e.ev)
		return
	}
	x.disk = e.rec
	x.writes--
	if x.writes == 0 {
		held := x.held
		x.held = nil
		for _, h := range held {
			h.at = max(h.at, d.now)
			d.push(h)
		}
	}
	d.step(e.to, protocol.Persisted{})
}

// expect fails unless exactly this member leads and, if all is set, everybody knows it.
func (d *driver) expect(g protocol.Group, who protocol.Rank, all bool) {
	d.t.Helper()
	if l := d.leaders(g); len(l) != 1 || l[0] != who {
		d.t.Fatalf("%v: %v lead %s, want %v\n%s", d.now, l, g, who, d.story())
	}
	for i, x := range d.members {
		if all && !x.down && x.views[g].Leader.Rank != who {
			d.t.Fatalf("%v: %v believes that %v leads %s, want %v\n%s", d.now, protocol.Rank(i), x.views[g].Leader, g, who, d.story())
		}
	}
}

// completed holds that tokens grow from tenure to tenure, and that all voters that two tenures share agree on which of them
// was first.
func (d *driver) completed(r protocol.Rank, f protocol.Fact) {
	for _, old := range d.tenures[f.Group] {
		if f.Term <= old.Term {
			d.t.Fatalf("%v: %v leads %s with token %d after token %d\n%s", d.now, r, f.Group, f.Term, old.Term, d.story())
		}
		common := 0
		for _, a := range old.Detail.(stamp.Quorum) {
			for _, b := range f.Detail.(stamp.Quorum) {
				if a.Voter != b.Voter {
					continue
				}
				common++
				if b.Inc < a.Inc || b.Inc == a.Inc && b.Clock <= a.Clock {
					d.t.Fatalf("%v: %v leads %s with %v after %v\n%s", d.now, r, f.Group, b, a, d.story())
				}
			}
		}
		if common == 0 {
			d.t.Fatalf("%v: %v leads %s with a quorum that shares no voter with one before\n%s", d.now, r, f.Group, d.story())
		}
	}
	d.tenures[f.Group] = append(d.tenures[f.Group], f)
}

package suite_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/suite"
)

func TestProtocolsAreComplete(t *testing.T) {
	var last string
	for _, p := range suite.All() {
		if p.Name <= last {
			t.Errorf("%s comes after %s: the list is not sorted, or has one twice", p.Name, last)
		}
		last = p.Name
		if p.About == "" || p.Spawn == nil || p.Checkers == nil || len(p.Faults) == 0 || len(p.Rows) == 0 || len(p.Messages) == 0 {
			t.Errorf("%s leaves out what a protocol must say", p.Name)
		}
		if p.Members < p.MinMembers || p.Core(p.Members) < 1 || p.Core(p.Members) > p.Members || p.Timely <= 0 || p.Settle <= 0 {
			t.Errorf("%s: members %d of at least %d, core %d, timely %v, settle %v",
				p.Name, p.Members, p.MinMembers, p.Core(p.Members), p.Timely, p.Settle)
		}
		for _, m := range p.Matters {
			if !slices.Contains(p.Messages, m) {
				t.Errorf("%s: the message %s matters but does not exist", p.Name, m)
			}
		}
		for _, m := range p.Messages {
			if !strings.Contains(m, ".") {
				t.Errorf("%s: the message %s does not name its package", p.Name, m)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	if p, err := suite.Lookup("rank"); err != nil || p.Name != "rank" {
		t.Errorf("got %v, %v", p, err)
	}
	for name, want := range map[string]string{"stable": "stable fig5", "stable fig3": "stable fig3", "stack": "stack stable"} {
		if p, err := suite.Lookup(name); err != nil || p.Name != want {
			t.Errorf("%s: got %v, %v", name, p, err)
		}
	}
	if _, err := suite.Lookup("stable fig9"); err == nil || !strings.Contains(err.Error(), "stable fig5") {
		t.Errorf("got %v, want an error that names the variants that there are", err)
	}
	if _, err := suite.Lookup("rnak"); err == nil || !strings.Contains(err.Error(), `"rnak"`) || !strings.Contains(err.Error(), "rank") {
		t.Errorf("got %v, want an error that names what there is", err)
	}
}

// A play is a world of rank with a cover.
type play struct {
	*sim.World
	t     *testing.T
	cover *suite.Cover
}

func newPlay(t *testing.T, c sim.Config) *play {
	t.Helper()
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	pl := &play{t: t}
	c.Members, c.Seed, c.Spawn, c.Late = 3, 1, p.Spawn, p.Timely
	c.OnNotice = func(n sim.Notice, from protocol.Ident, to protocol.Rank, m protocol.Message) {
		pl.cover.Notice(n, from, to, m)
	}
	pl.World, err = sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	pl.cover = suite.NewCover(p, pl.World)
	pl.cover.Clocks(c.Clocks)
	pl.Observe(pl.cover)
	pl.until(time.Second)
	return pl
}

func (p *play) until(d time.Duration) {
	p.t.Helper()
	if err := p.Run(sim.Real(d)); err != nil {
		p.t.Fatal(err)
	}
}

// want checks that exactly the given rows are covered.
func (p *play) want(rows ...string) {
	p.t.Helper()
	for _, row := range suite.Rows {
		if got := p.cover.Covered(row); got != slices.Contains(rows, row) {
			p.t.Errorf("covered %q: %v, want %v", row, got, !got)
		}
	}
}

const ms = time.Millisecond

func TestAQuietRunCoversNothing(t *testing.T) {
	p := newPlay(t, sim.Config{})
	p.until(5 * time.Second)
	p.want()
}

func TestFaultsOfOthersThanTheLeaderDoNotCount(t *testing.T) {
	p := newPlay(t, sim.Config{})
	p.Begin(sim.Fault{Kind: sim.Pause, A: 1, For: 10 * ms})
	p.Begin(sim.Fault{Kind: sim.Cut, A: 1, B: 2, For: 10 * ms})
	p.Begin(sim.Fault{Kind: sim.Crash, A: 2, For: 10 * ms})
	p.until(5 * time.Second)
	p.want(suite.MessageLost)
}

func TestLeaderCrashAndItsReturn(t *testing.T) {
	p := newPlay(t, sim.Config{})
	p.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: time.Second})
	p.until(1500 * ms)
	p.want(suite.LeaderCrashed, suite.LeaderChanged, suite.MessageLost)
	p.until(5 * time.Second)
	p.want(suite.LeaderCrashed, suite.LeaderChanged, suite.MessageLost, suite.TwoCandidates)
}

func TestLeaderRestartBeforeAnybodyNotices(t *testing.T) {
	p := newPlay(t, sim.Config{})
	p.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: 5 * ms})
	p.until(2 * time.Second)
	if !p.cover.Covered(suite.LeaderRestarted) {
		t.Error("the leader was back within 5ms, and that was not covered")
	}
}

func TestLeaderSuspendedAndCutOneWay(t *testing.T) {
	p := newPlay(t, sim.Config{})
	p.Begin(sim.Fault{Kind: sim.Suspend, A: 0, For: ms})
	p.want(suite.LeaderSuspended)
	p.Begin(sim.Fault{Kind: sim.Partition, Side: protocol.NewSet(0), For: ms})
	p.Begin(sim.Fault{Kind: sim.Cut, A: 0, B: 1, For: ms})
	p.want(suite.LeaderSuspended)
	p.until(1100 * ms)
	p.Begin(sim.Fault{Kind: sim.Cut, A: 2, B: 0, For: ms})
	if !p.cover.Covered(suite.LeaderCut) {
		t.Error("a link to the leader was cut, and that was not covered")
	}
}

func TestMessagesAndClocks(t *testing.T) {
	p := newPlay(t, sim.Config{Clocks: []sim.ClockSpec{{Rate: int64(protocol.DefaultRho)}}})
	p.want(suite.ClockFast)
	p.Begin(sim.Fault{Kind: sim.Rate, A: 1, Amount: -int64(protocol.DefaultRho), For: ms})
	p.want(suite.ClockFast, suite.ClockSlow)
	p.Begin(sim.Fault{Kind: sim.Duplicate, A: 0, B: 1, Amount: int64(sim.Certain), For: 100 * ms})
	p.until(1200 * ms)
	p.want(suite.ClockFast, suite.ClockSlow, suite.MessageTwice)
	p.Begin(sim.Fault{Kind: sim.Slow, A: 1, B: 2, Amount: int64(100 * ms), For: 100 * ms})
	p.until(3 * time.Second)
	p.want(suite.ClockFast, suite.ClockSlow, suite.MessageTwice, suite.MessageLate)
}

// leaseholder leads the group g from its start with a lease of one second.
type leaseholder struct{ boot sim.Boot }

func (l *leaseholder) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	out.Wake = protocol.Never
	if _, ok := ev.(protocol.Start); ok && l.boot.Inc == 1 {
		self := protocol.Ident{Rank: l.boot.Self, Inc: l.boot.Inc}
		out.Views = append(out.Views, protocol.View{Group: "g", Domain: protocol.Quorum, Leader: self, Until: protocol.Never, Tenure: 1})
		out.Facts = append(out.Facts, protocol.Fact{Ev: protocol.EvLease, Dom: protocol.Quorum, Group: "g", Until: now.Add(time.Second)})
	}
}

func TestRestartWithinALeaseIsJudgedByTheClockOfTheLease(t *testing.T) {
	for _, test := range []struct {
		down time.Duration
		disk sim.Disk
		want bool
	}{{300 * ms, sim.Kept, true}, {700 * ms, sim.Kept, false}, {300 * ms, sim.Reboot, true}, {700 * ms, sim.Reboot, false}} {
		w, err := sim.New(sim.Config{Members: 1, Seed: 1, Clocks: []sim.ClockSpec{{Offset: 1 << 50}},
			Spawn: func(b sim.Boot) (protocol.Machine, error) { return &leaseholder{b}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		c := suite.NewCover(&suite.Protocol{}, w)
		w.Observe(c)
		w.Schedule(sim.Fault{At: sim.Real(500 * ms), Kind: sim.Crash, A: 0, For: test.down, Disk: test.disk})
		if err := w.Run(sim.Real(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if got := c.Covered(suite.LeaderRestarted); got != test.want || !c.Covered(suite.LeaderCrashed) {
			t.Errorf("down for %v of the last 500ms of a lease, disk %v: covered %v, want %v", test.down, test.disk, got, test.want)
		}
	}
}

// TestRankAdaptsToSlowLinks runs rank over links that are slower than its first time-out allows for: only by growing the
// time-out can it come to agree.
func TestRankAdaptsToSlowLinks(t *testing.T) {
	for seed := range uint64(5) {
		w, err := sim.New(sim.Config{Members: 4, Seed: seed, Link: sim.Link{Delay: sim.Between(ms, 150*ms)},
			Spawn: func(b sim.Boot) (protocol.Machine, error) { return rank.New(rank.Default(b.Self, b.Members, b.Inc)) }})
		if err != nil {
			t.Fatal(err)
		}
		o := check.NewOmega(w, 100*time.Second)
		w.Observe(o)
		w.Phase(sim.Liveness, protocol.Everyone(4))
		if err := w.Run(sim.Real(200 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := o.Finish(); err != nil {
			t.Error(err)
		}
	}
}

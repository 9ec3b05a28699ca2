package counter_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

const ms = protocol.Time(time.Millisecond)

// puppet is a source that does what a test wants.
type puppet struct {
	table     *counter.Table
	well      protocol.Set
	learned   bool
	blocked   protocol.Time
	restarted []protocol.Rank
	received  []protocol.Ident
	unfit     int
}

func (p *puppet) Start(protocol.Time) {}
func (p *puppet) Receive(_ protocol.Time, from protocol.Ident, _ protocol.Message) {
	p.received = append(p.received, from)
}
func (p *puppet) Restarted(_ protocol.Time, r protocol.Rank) { p.restarted = append(p.restarted, r) }
func (p *puppet) Unfit()                                     { p.unfit++ }
func (p *puppet) Tick(protocol.Time)                         {}
func (p *puppet) Wake() protocol.Time                        { return protocol.Never }
func (p *puppet) Table() *counter.Table                      { return p.table }
func (p *puppet) Well(k protocol.Rank) protocol.Set          { return p.well.Without(k) }
func (p *puppet) Learned() bool                              { return p.learned }
func (p *puppet) Blocked() protocol.Time                     { return p.blocked }

// stage returns the started machine of b in a council of four, with so many puppets for sources.
func stage(t testing.TB, sources int, change func(*counter.Config)) (*counter.Machine, []*puppet) {
	t.Helper()
	c := counter.Default(1, 4, 1)
	if change != nil {
		change(&c)
	}
	if err := c.Check("test"); err != nil {
		t.Fatal(err)
	}
	m := counter.New(c)
	var all []*puppet
	for i := range sources {
		p := &puppet{table: counter.NewTable(m, string(rune('x'+i))), well: protocol.Everyone(4), blocked: protocol.Never}
		m.Add(p)
		all = append(all, p)
	}
	e := drivetest.Step(m, 0, protocol.Start{})
	if len(e.Views) != 1 || e.Views[0].Leader != protocol.NoIdent || e.Views[0].Cause.Code != protocol.Started {
		t.Fatalf("the start publishes %+v, want no leader: started", e.Views)
	}
	return m, all
}

type note struct{}

func (*note) Copy() protocol.Message { return &note{} }
func (*note) Name() string           { return "test.note" }

func from(r protocol.Rank, inc protocol.Inc) *protocol.Receive {
	return &protocol.Receive{From: protocol.Ident{Rank: r, Inc: inc}, Message: &note{}, Delay: protocol.Unknown}
}

// view takes the only view of a step.
func view(t testing.TB, e protocol.Effects) protocol.View {
	t.Helper()
	if len(e.Views) != 1 {
		t.Fatalf("published %+v, want one view", e.Views)
	}
	return e.Views[0]
}

func TestNoOpinionBeforeEnoughHaveToldWhatTheyKnow(t *testing.T) {
	m, p := stage(t, 2, nil)
	p[0].learned = true
	if e := drivetest.Step(m, ms, protocol.Tick{}); len(e.Views) != 0 {
		t.Fatalf("with one of two sources the view is %+v", e.Views)
	}
	p[1].learned = true
	if v := view(t, drivetest.Step(m, 2*ms, protocol.Tick{})); v.Leader.Rank != 0 || v.Cause.Code != protocol.Elected {
		t.Errorf("got %v because %v, want a, elected", v.Leader, v.Cause)
	}
}

func TestLeastCounterLeadsAndTheBetterRankAmongEquals(t *testing.T) {
	m, p := stage(t, 1, nil)
	p[0].learned = true
	drivetest.Step(m, ms, protocol.Tick{})
	leader := protocol.Rank(0)
	for _, c := range []struct {
		k    protocol.Rank
		to   uint64
		want protocol.Rank
	}{{0, 2, 1}, {1, 1, 2}, {2, 3, 3}, {3, 1, 1}, {1, 2, 3}, {3, 2, 0}, {0, 3, 1}} {
		p[0].table.Raise(c.k, c.to, protocol.Cause{Code: protocol.Suspected, Peer: c.k})
		for _, v := range drivetest.Step(m, 2*ms, protocol.Tick{}).Views {
			leader = v.Leader.Rank
		}
		if leader != c.want {
			t.Errorf("%v leads when the counter of %v has grown to %d, want %v", leader, c.k, c.to, c.want)
		}
	}
	if e := drivetest.Step(m, 3*ms, from(2, 1)); len(e.Views) != 0 {
		t.Errorf("nothing changed, but the view is %+v", e.Views)
	}
}

func TestLesserOfTwoCountersCounts(t *testing.T) {
	m, p := stage(t, 2, nil)
	p[0].learned, p[1].learned = true, true
	drivetest.Step(m, ms, protocol.Tick{})
	raise := func(table int, k protocol.Rank, to uint64) protocol.Effects {
		p[table].table.Raise(k, to, protocol.Cause{Code: protocol.Suspected, Peer: k})
		return drivetest.Step(m, 2*ms, protocol.Tick{})
	}
	if e := raise(0, 0, 100); len(e.Views) != 0 {
		t.Errorf("a was suspected by one source only, and the view became %+v", e.Views)
	}
	if v := view(t, raise(1, 0, 1)); v.Leader.Rank != 1 {
		t.Errorf("a was suspected by both sources: %v leads, want b", v.Leader)
	}
}

func TestStrangersAndTheDeadAreNotHeard(t *testing.T) {
	m, p := stage(t, 1, nil)
	drivetest.Step(m, ms, from(2, 3))
	for name, r := range map[string]*protocol.Receive{"a stranger": from(4, 1), "oneself": from(1, 9), "an earlier life": from(2, 2)} {
		drivetest.Step(m, 2*ms, r)
		if len(p[0].received) != 1 {
			t.Errorf("%s was heard: %v", name, p[0].received)
		}
	}
	drivetest.Step(m, 3*ms, from(2, 3))
	if len(p[0].received) != 2 || len(p[0].restarted) != 0 {
		t.Errorf("c was heard %d times and restarted %v", len(p[0].received), p[0].restarted)
	}
}

func TestNewIncarnationIsToldAsACrash(t *testing.T) {
	m, p := stage(t, 1, nil)
	p[0].learned = true
	drivetest.Step(m, ms, from(0, 1))
	e := drivetest.Step(m, 2*ms, from(0, 2))
	if !slices.Equal(p[0].restarted, []protocol.Rank{0}) {
		t.Errorf("restarted: %v, want a", p[0].restarted)
	}
	if v := view(t, e); v.Leader != (protocol.Ident{Rank: 0, Inc: 2}) || v.Cause.Code != protocol.Restarted {
		t.Errorf("got %v because %v, want a/2, restarted", v.Leader, v.Cause)
	}
}

func TestLeapGoesOverTheNextCandidate(t *testing.T) {
	_, p := stage(t, 1, nil)
	tb := p[0].table
	for r, c := range []uint64{3, 50, 70, 60} {
		tb.Raise(protocol.Rank(r), c, protocol.Cause{})
	}
	if got := tb.Leap(0, 3); got != 51 {
		t.Errorf("a leaps to %d, want 51: over b", got)
	}
	if got := tb.Leap(2, 70); got != 71 {
		t.Errorf("c leaps to %d, want 71: it is behind all anyway", got)
	}
	if got := tb.Leap(0, math.MaxUint64); got != math.MaxUint64 {
		t.Errorf("a counter at its end leaps to %d", got)
	}
	p[0].well = protocol.NewSet(0, 2, 3)
	if got := tb.Leap(0, 3); got != 61 {
		t.Errorf("a leaps to %d, want 61: b does not stand well, d does", got)
	}
	p[0].well = protocol.NewSet(0)
	if got := tb.Leap(0, 3); got != 4 {
		t.Errorf("a leaps to %d, want 4: nobody else stands well", got)
	}
	_, p = stage(t, 1, func(c *counter.Config) { c.Plain = true })
	p[0].table.Raise(1, 50, protocol.Cause{})
	if got := p[0].table.Leap(0, 3); got != 4 {
		t.Errorf("plain: a goes to %d, want 4", got)
	}
}

func TestLeapGoesOverTheNextCandidateOfEachTable(t *testing.T) {
	_, p := stage(t, 2, nil)
	for r := range protocol.Rank(4) {
		p[0].table.Raise(r, 5, protocol.Cause{})
		p[1].table.Raise(r, 900+10*uint64(r), protocol.Cause{})
	}
	p[1].well = protocol.NewSet(0, 2, 3)
	for i := range p {
		if got := p[i].table.Leap(0, 5); got != 921 {
			t.Errorf("in table %d a leaps to %d, want 921: over c, which is the next that stands well in the second", i, got)
		}
	}
}

func TestCountersOnlyGrow(t *testing.T) {
	_, p := stage(t, 1, nil)
	tb := p[0].table
	tb.Raise(2, 5, protocol.Cause{})
	tb.Raise(2, 4, protocol.Cause{})
	tb.Merge(3, []uint64{0, 7, 1, 0})
	if got := tb.Counts(); !slices.Equal(got, []uint64{0, 7, 5, 0}) {
		t.Errorf("counters are %v, want 0 7 5 0", got)
	}
}

func TestUnfitReachesAllSources(t *testing.T) {
	m, p := stage(t, 2, nil)
	drivetest.Step(m, ms, protocol.Unfit{})
	if p[0].unfit != 1 || p[1].unfit != 1 {
		t.Errorf("unfit: %d and %d, want 1 and 1", p[0].unfit, p[1].unfit)
	}
}

func TestBlockedIsReportedAgainWhenItHasDoubledAndEndsTheOpinion(t *testing.T) {
	m, p := stage(t, 2, nil)
	p[0].learned, p[1].learned = true, true
	drivetest.Step(m, ms, protocol.Tick{})
	p[1].blocked = 100 * ms
	type word struct {
		at, bound time.Duration
		leader    protocol.Rank
	}
	var got []word
	e := drivetest.Step(m, 100*ms, protocol.Tick{})
	for e.Wake < 10_000*ms {
		now := e.Wake
		e = drivetest.Step(m, now, protocol.Tick{})
		for _, v := range e.Views {
			if v.Cause.Code != protocol.NoQuorum {
				t.Fatalf("cause %v, want no quorum", v.Cause)
			}
			got = append(got, word{time.Duration(now), v.Cause.Bound, v.Leader.Rank})
		}
	}
	d := time.Millisecond
	want := []word{{600 * d, 500 * d, 0}, {1100 * d, 1000 * d, 0}, {2100 * d, 2000 * d, 0}, {3100 * d, 3000 * d, protocol.Nobody},
		{4100 * d, 4000 * d, protocol.Nobody}, {8100 * d, 8000 * d, protocol.Nobody}}
	if !slices.Equal(got, want) {
		t.Errorf("blocked since 100ms: said\n%v, want\n%v", got, want)
	}
	p[1].blocked = protocol.Never
	if v := view(t, drivetest.Step(m, 20_000*ms, protocol.Tick{})); v.Leader.Rank != 0 || v.Cause.Code != protocol.Returned {
		t.Errorf("afterwards: %v because %v, want a, returned", v.Leader, v.Cause)
	}
}

func TestWithoutLimitTheLastLeaderIsNamedForEver(t *testing.T) {
	m, p := stage(t, 1, func(c *counter.Config) { c.Limit = 0 })
	p[0].learned = true
	drivetest.Step(m, ms, protocol.Tick{})
	p[0].blocked = 0
	if v := view(t, drivetest.Step(m, 3_600_000*ms, protocol.Tick{})); v.Leader.Rank != 0 || v.Cause.String() != "no quorum (for 1h0m0s)" {
		t.Errorf("got %v because %v, want a because no quorum (for 1h0m0s)", v.Leader, v.Cause)
	}
}

func TestWithoutReportAndLimitNothingIsSaid(t *testing.T) {
	m, p := stage(t, 1, func(c *counter.Config) { c.Limit, c.Report = 0, 0 })
	p[0].learned = true
	drivetest.Step(m, ms, protocol.Tick{})
	p[0].blocked = 0
	if e := drivetest.Step(m, 3_600_000*ms, protocol.Tick{}); len(e.Views) != 0 || e.Wake != protocol.Never {
		t.Errorf("got %+v, wake %v", e.Views, e.Wake)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*counter.Config){
		"test: 2 members: must be between 3":                      func(c *counter.Config) { c.Members = 2 },
		"test: member 7":                                          func(c *counter.Config) { c.Self = 7 },
		"test: f = 0 of 5 members: must be between 1 and 3":       func(c *counter.Config) { c.F = 0 },
		"test: f = 4 of 5 members: must be between 1 and 3, or q": func(c *counter.Config) { c.F = 4 },
		"test: report after -1ns":                                 func(c *counter.Config) { c.Report = -1 },
		"test: limit -1ns":                                        func(c *counter.Config) { c.Limit = -1 },
	} {
		c := counter.Default(0, 5, 1)
		change(&c)
		if err := c.Check("test"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error that begins with %q", err, want)
		}
	}
}

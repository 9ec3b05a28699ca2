package hybrid_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hybrid"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

const ms = protocol.Time(time.Millisecond)

// A net is a council whose messages arrive at once, but for those that are dropped.
type net struct {
	*drivetest.Net
	t testing.TB
}

// newNet starts a council of machines made by spawn.
func newNet(t testing.TB, n int, spawn func(protocol.Rank) (protocol.Machine, error)) *net {
	t.Helper()
	w := &net{drivetest.NewNet(t, n, 0, 0), t}
	w.Unproven = true
	for r := range protocol.Rank(n) {
		m, err := spawn(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Start(r, m, 1)
	}
	w.Run(0)
	return w
}

// leader is whom a member trusts.
func (w *net) leader(r protocol.Rank) protocol.Ident { return w.Members[r].Views[""].Leader }

func (w *net) want(leader protocol.Rank) {
	w.t.Helper()
	for _, m := range w.Members {
		if l := w.leader(m.Rank); !m.Down && l.Rank != leader {
			w.t.Errorf("%v trusts %v, want %v", m.Rank, l, leader)
		}
	}
}

func spawn(r protocol.Rank) (protocol.Machine, error) { return hybrid.New(hybrid.Default(r, 4, 1)) }

func TestDeadLeaderIsDeposedByBoth(t *testing.T) {
	w := newNet(t, 4, spawn)
	w.Run(time.Second)
	w.want(0)
	w.Crash(0)
	w.Run(time.Second)
	w.want(1)
}

// sparing returns what holds all messages of a source that come from a, but for those to the given members.
func sparing(prefix string) func(from, to protocol.Rank, m protocol.Message) bool {
	return func(from, _ protocol.Rank, m protocol.Message) bool {
		return from == 0 && strings.HasPrefix(m.Name(), prefix)
	}
}

func TestLeaderSurvivesWhereOneOfTheTwoStillHearsIt(t *testing.T) {
	for _, prefix := range []string{"timefree.Response", "fsource."} {
		w := newNet(t, 4, spawn)
		w.Run(time.Second)
		w.Drop = sparing(prefix)
		w.Run(5 * time.Second)
		w.want(0)
		if t.Failed() {
			t.Errorf("without the %s of a", prefix)
		}
	}
	w := newNet(t, 4, spawn)
	w.Drop = sparing("")
	w.Run(5 * time.Second)
	w.Crash(0) // it cannot know
	w.want(1)
}

// byTurns holds the messages of a kind that come from a, then those from b, and so on, each for the same time: nobody is
// without suspicion for ever.
func (w *net) byTurns(prefix string, each time.Duration) func(from, to protocol.Rank, m protocol.Message) bool {
	return func(from, _ protocol.Rank, m protocol.Message) bool {
		turn := int(time.Duration(w.Now)/each) % len(w.Members)
		return int(from) == turn && strings.HasPrefix(m.Name(), prefix)
	}
}

// A council that has lived long has been suspected often: in one way, let us say. When that way becomes the only one that
// still finds a leader, the counters of the other way must pass all that at once, not one by one.
func TestSuspicionsOfThePastDoNotDelayTheChoice(t *testing.T) {
	const queries, signs = "timefree.Response", "fsource."
	for _, c := range []struct{ before, after string }{{queries, signs}, {signs, queries}} {
		w := newNet(t, 4, spawn)
		w.Drop = w.byTurns(c.before, 20*time.Second)
		w.Run(80 * time.Second)
		w.Drop = w.byTurns(c.after, 1500*time.Millisecond)
		w.Run(12 * time.Second)
		leader := w.leader(0).Rank
		for range 20 {
			w.Run(500 * time.Millisecond)
			w.want(leader)
			if t.Failed() {
				t.Fatalf("%v after messages of %s began to fail by turns, and those of %s no longer did", time.Duration(w.Now)-80*time.Second, c.after, c.before)
			}
		}
	}
}

// A source may have been accused often before it became one, and the others never. From when on they are accused for ever
// they must pass it at once, though most of them hear nobody in time.
func TestMembersThatAreAccusedForEverPassTheSource(t *testing.T) {
	const n, source, receiver = 5, 0, 1
	w := newNet(t, n, func(r protocol.Rank) (protocol.Machine, error) { return fsource.New(fsource.Default(r, n, 1)) })
	w.Drop = w.byTurns("fsource.", 20*time.Second)
	w.Run(40 * time.Second) // source and receiver have each been silent for a while
	w.Drop = func(from, to protocol.Rank, _ protocol.Message) bool {
		timely := from == source && to == receiver
		return !timely && w.Now/ms%2000 > 60 // all others are heard too seldom
	}
	w.Run(10 * time.Second)
	for range 20 {
		w.Run(500 * time.Millisecond)
		w.want(source)
		if t.Failed() {
			t.Fatalf("%v after only the link from a to b was timely any more", time.Duration(w.Now)-40*time.Second)
		}
	}
}

func TestUnfitLeaderLeapsInBoth(t *testing.T) {
	w := newNet(t, 4, spawn)
	w.Run(time.Second)
	w.Step(0, protocol.Unfit{})
	w.Run(200 * time.Millisecond)
	w.want(1)
}

func TestBlockedAsSoonAsOneOfTheTwoIs(t *testing.T) {
	w := newNet(t, 4, spawn)
	w.Run(time.Second)
	w.Drop = func(_, to protocol.Rank, m protocol.Message) bool { return m.Name() == "timefree.Response" && to == 0 }
	w.Run(5 * time.Second)
	if w.leader(0) != protocol.NoIdent || w.leader(1).Rank != 0 {
		t.Errorf("a gets no answers: it trusts %v, and b trusts %v; want nobody and a", w.leader(0), w.leader(1))
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*hybrid.Config){
		"hybrid: f = 3 of 4":            func(c *hybrid.Config) { c.F = 3 },
		"hybrid: timefree: period 0s":   func(c *hybrid.Config) { c.Query.Period = 0 },
		"hybrid: fsource: time-out 1ms": func(c *hybrid.Config) { c.Alive.Timeout = time.Millisecond },
	} {
		c := hybrid.Default(0, 4, 1)
		change(&c)
		if _, err := hybrid.New(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error that begins with %q", err, want)
		}
	}
}

type elector struct {
	name  string
	spawn func(self protocol.Rank, n int) (protocol.Machine, error)
}

// electors are the three of the family, as they are by default.
var electors = []elector{
	{"timefree", func(r protocol.Rank, n int) (protocol.Machine, error) { return timefree.New(timefree.Default(r, n, 1)) }},
	{"fsource", func(r protocol.Rank, n int) (protocol.Machine, error) { return fsource.New(fsource.Default(r, n, 1)) }},
	{"hybrid", func(r protocol.Rank, n int) (protocol.Machine, error) { return hybrid.New(hybrid.Default(r, n, 1)) }},
}

// live drives one machine as a council that is well would: signs of life, queries and answers that win, and a dead member.
type live struct {
	m      protocol.Machine
	buffer drivetest.Buffer
	n      int
	now    protocol.Time
	in     protocol.Receive
	alive  fsource.Alive
	query  timefree.Query
	answer timefree.Response
	mail   []protocol.Message // what the others send it in a round
	dead   uint64
	steps  int
}

func newLive(t testing.TB, n int, e elector) *live {
	t.Helper()
	m, err := e.spawn(1, n)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{m: m, n: n}
	if e.name != "timefree" {
		l.mail = append(l.mail, &l.alive)
	}
	if e.name != "fsource" {
		l.mail = append(l.mail, &l.query, &l.answer)
	}
	l.alive.Row = make([]uint64, n)
	l.query.Counts = make([]uint64, n)
	l.answer.Winners = protocol.Everyone(n).Without(protocol.Rank(n - 1))
	l.look(l.buffer.Step(m, 0, protocol.Start{}))
	for range 50 {
		l.round()
	}
	return l
}

// look finds the number of a query that the machine sends.
func (l *live) look(e *protocol.Effects) {
	l.steps++
	for i := range e.Send {
		if q, ok := e.Send[i].Message.(*timefree.Query); ok {
			l.answer.Number = q.Number
			return
		}
	}
}

// round is 50ms of a member's life: a tick, and from each living peer a sign of life, a query and an answer.
func (l *live) round() {
	l.now += 50 * ms
	l.look(l.buffer.Step(l.m, l.now, protocol.Tick{}))
	l.dead++
	l.alive.Seq++
	l.query.Number++
	l.alive.Row[l.n-1], l.query.Counts[l.n-1] = 1000*l.dead, 1000*l.dead
	for r := range protocol.Rank(l.n - 1) {
		if r == 1 {
			continue
		}
		l.in.From = protocol.Ident{Rank: r, Inc: 1}
		for _, m := range l.mail {
			l.in.Message = m
			l.look(l.buffer.Step(l.m, l.now, &l.in))
		}
	}
}

func TestStepOfARunningCouncilDoesNotAllocate(t *testing.T) {
	for _, e := range electors {
		for _, n := range []int{5, 20, 100} {
			l := newLive(t, n, e)
			if allocs := testing.AllocsPerRun(100, l.round); allocs != 0 {
				t.Errorf("%s, %d members: a round allocates %v times, want none", e.name, n, allocs)
			}
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, e := range electors {
		for _, n := range []int{5, 20, 100} {
			b.Run(fmt.Sprintf("%s/%d", e.name, n), func(b *testing.B) {
				l := newLive(b, n, e)
				b.ReportAllocs()
				l.steps = 0
				for b.Loop() {
					l.round()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(l.steps), "ns/step")
			})
		}
	}
}

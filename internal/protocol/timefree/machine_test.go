package timefree_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

const ms = protocol.Time(time.Millisecond)

// A member is a machine under test and what its last Step led to.
type member struct {
	drivetest.Stepper
	m *counter.Machine
	t testing.TB
	q uint64 // the number of its newest query
}

// start returns the started machine of member a in a council.
func start(t testing.TB, members int, change func(*timefree.Config)) *member {
	t.Helper()
	c := timefree.Default(0, members, 1)
	if change != nil {
		change(&c)
	}
	m, err := timefree.New(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &member{Stepper: drivetest.Stepper{Machine: m}, m: m, t: t}
	a.step(protocol.Start{})
	return a
}

func (a *member) step(ev protocol.Event) protocol.Effects {
	a.Step(ev)
	for _, env := range a.Last.Send {
		if q, ok := env.Message.(*timefree.Query); ok {
			a.q = q.Number
		}
	}
	return a.Last
}

func (a *member) receive(from protocol.Rank, inc protocol.Inc, m protocol.Message) protocol.Effects {
	return a.step(&protocol.Receive{From: protocol.Ident{Rank: from, Inc: inc}, Message: m, Delay: protocol.Unknown})
}

// answer lets a member answer the open query, having had the given winners itself.
func (a *member) answer(from protocol.Rank, winners ...protocol.Rank) protocol.Effects {
	return a.receive(from, 1, &timefree.Response{Asker: 1, Number: a.q, Winners: protocol.NewSet(winners...)})
}

// round lets the members answer in turn, all with the same winners, and begins the next query.
func (a *member) round(winners []protocol.Rank, answers ...protocol.Rank) {
	a.t.Helper()
	q := a.q
	for _, r := range answers {
		a.answer(r, winners...)
	}
	a.Now += 50 * ms
	a.step(protocol.Tick{})
	if a.q != q+1 {
		a.t.Fatalf("after the round of query %d comes %d", q, a.q)
	}
}

// counts returns the counters that the member gossips.
func (a *member) counts() []uint64 {
	a.t.Helper()
	a.receive(1, 1, &timefree.Query{Number: 1, Counts: make([]uint64, a.m.Config().Members), First: true})
	for _, env := range a.Last.Send {
		if r, ok := env.Message.(*timefree.Response); ok {
			return slices.Clone(r.Counts)
		}
	}
	a.t.Fatal("no response to a first query")
	return nil
}

func (a *member) wantCounts(want ...uint64) {
	a.t.Helper()
	if got := a.counts(); !slices.Equal(got, want) {
		a.t.Errorf("counters are %v, want %v", got, want)
	}
}

func ranks(r ...protocol.Rank) []protocol.Rank { return r }

func TestStartAsksAllOthers(t *testing.T) {
	a := start(t, 4, nil)
	if got := a.Sent("timefree.Query"); !slices.Equal(got, ranks(1, 2, 3)) {
		t.Errorf("asked %v, want all others in rank order", got)
	}
	q := a.Last.Send[0].Message.(*timefree.Query)
	if !q.First || len(q.Counts) != 4 {
		t.Errorf("the first query is %+v: want it to say so, with four counters", q)
	}
}

func TestQueryEndsWithTheAnswersOfAllButF(t *testing.T) {
	a := start(t, 5, func(c *timefree.Config) { c.F = 2 })
	a.answer(3, 0, 1, 2, 3, 4)
	if len(a.Last.Views) != 0 {
		t.Fatal("two of three answers, its own counted, ended the query")
	}
	a.answer(4, 0, 1, 2, 3, 4)
	if len(a.Last.Views) != 1 || a.Last.Views[0].Leader.Rank != 0 || a.Last.Views[0].Cause.Code != protocol.Elected {
		t.Errorf("the query ended with %+v, want a elected", a.Last.Views)
	}
	a.answer(1, 0, 1, 2, 3, 4) // has lost
	a.receive(2, 1, &timefree.Query{Number: 7, Counts: make([]uint64, 5)})
	if r := a.Last.Send[0].Message.(*timefree.Response); r.Number != 7 || r.Winners != protocol.NewSet(0, 3, 4) || r.Counts != nil {
		t.Errorf("answered %+v, want query 7, the winners {a d e}, and no counters", r)
	}
}

func TestBeforeTheFirstQueryEndsEverybodyIsAWinner(t *testing.T) {
	a := start(t, 4, nil)
	a.receive(2, 1, &timefree.Query{Number: 7, Counts: make([]uint64, 4)})
	if r := a.Last.Send[0].Message.(*timefree.Response); r.Winners != protocol.Everyone(4) {
		t.Errorf("winners %v, want all", r.Winners)
	}
}

func TestWhoIsNamedByNobodyIsSuspectedAfterPatience(t *testing.T) {
	a := start(t, 4, nil)
	a.round(ranks(0, 1, 2), 1, 2) // a's own list still has everybody
	a.wantCounts(0, 0, 0, 0)
	for range 3 {
		a.round(ranks(0, 1, 2), 1, 2)
		a.wantCounts(0, 0, 0, 0)
	}
	a.round(ranks(0, 1, 2), 1, 2)
	a.wantCounts(0, 0, 0, 1)
	a.round(ranks(0, 1, 2), 1, 2)
	a.wantCounts(0, 0, 0, 2)
	a.round(ranks(0, 1, 2, 3), 1, 2)
	a.round(ranks(0, 1, 2), 1, 2)
	a.wantCounts(0, 0, 0, 2)
}

func TestPlainSuspectsAtOnceAndAddsOne(t *testing.T) {
	a := start(t, 4, func(c *timefree.Config) { c.Plain = true })
	a.receive(2, 1, &timefree.Query{Number: 1, Counts: []uint64{9, 9, 9, 0}})
	a.round(ranks(0, 1, 2), 1, 2)
	a.round(ranks(0, 1, 2), 1, 2)
	a.wantCounts(9, 9, 9, 1)
}

func TestOneWinnerThatNamesItIsEnough(t *testing.T) {
	a := start(t, 4, func(c *timefree.Config) { c.Plain = true })
	a.round(ranks(0, 1, 2), 1, 2)
	a.answer(1, 0, 1, 2)
	a.answer(2, 0, 2, 3)
	a.wantCounts(0, 0, 0, 0)
}

func TestSuspectedLeaderLeapsOverTheNext(t *testing.T) {
	a := start(t, 4, nil)
	a.receive(2, 1, &timefree.Query{Number: 1, Counts: []uint64{70, 60, 50, 3}})
	a.round(ranks(0, 1, 2), 1, 2)
	for range 3 {
		a.round(ranks(0, 1, 2), 1, 2)
	}
	a.answer(1, 0, 1, 2)
	a.answer(2, 0, 1, 2)
	if v := a.Last.Views; len(v) != 1 || v[0].Leader.Rank != 2 || v[0].Cause.String() != "suspected d" {
		t.Errorf("published %+v, want c because d is suspected", v)
	}
	a.wantCounts(70, 60, 50, 51)
}

func TestGossipThatDeposesTheLeaderNamesItsSource(t *testing.T) {
	a := start(t, 4, nil)
	a.round(ranks(0, 1, 2), 1, 2)
	a.receive(2, 1, &timefree.Query{Number: 1, Counts: []uint64{5, 0, 0, 0}})
	if v := a.Last.Views; len(v) != 1 || v[0].Leader.Rank != 1 || v[0].Cause.String() != "doubted c" {
		t.Errorf("published %+v, want b because c doubts a", v)
	}
}

func TestOpenQueryIsRepeatedToTheSilentOnly(t *testing.T) {
	a := start(t, 5, nil)
	a.answer(2, 0, 1, 2, 3, 4)
	var gaps []time.Duration
	for range 8 {
		before := a.Now
		a.Now = a.Last.Wake
		a.step(protocol.Tick{})
		if len(a.Last.Views) > 0 {
			continue // it only says that it is blocked
		}
		if got := a.Sent("timefree.Query"); !slices.Equal(got, ranks(1, 3, 4)) {
			t.Fatalf("at %v asked %v, want those that have not answered", a.Now, got)
		}
		gaps = append(gaps, a.Now.Sub(before))
	}
	d := time.Millisecond
	if want := []time.Duration{20 * d, 40 * d, 80 * d, 160 * d}; !slices.Equal(gaps[:4], want) {
		t.Errorf("repeated after %v, want %v and so on", gaps, want)
	}
	if a.q != 1 {
		t.Errorf("copies have the number %d, want that of the first query of the first incarnation", a.q)
	}
	a.answer(2, 0, 1, 2, 3, 4) // a second copy of an answer
	a.answer(3, 0, 1, 2, 3, 4)
	if len(a.Last.Views) != 0 && a.Last.Views[0].Leader != protocol.NoIdent {
		t.Error("an answer that came twice was counted twice")
	}
	a.answer(4, 0, 1, 2, 3, 4)
	if n := len(a.Last.Views); n == 0 || a.Last.Views[n-1].Leader.Rank != 0 {
		t.Errorf("the answers of four ended with %+v, want a", a.Last.Views)
	}
}

func TestNoTimeoutIsEverInterpreted(t *testing.T) {
	a := start(t, 4, nil)
	a.round(ranks(0, 1, 2, 3), 1, 2)
	a.answer(1, 0, 1, 2, 3)
	for a.Now < 3600*1000*ms {
		a.Now = a.Last.Wake
		a.step(protocol.Tick{})
	}
	a.wantCounts(0, 0, 0, 0)
	if v := lastView(t, a, 2, 3); v.Leader.Rank != 0 || v.Cause.Code != protocol.Returned {
		t.Errorf("after an hour the second answer gave %v because %v, want a again", v.Leader, v.Cause)
	}
}

func lastView(t *testing.T, a *member, from protocol.Rank, winners ...protocol.Rank) protocol.View {
	t.Helper()
	a.answer(from, winners...)
	if len(a.Last.Views) == 0 {
		t.Fatal("no view")
	}
	return a.Last.Views[len(a.Last.Views)-1]
}

func TestRoundTripDecidesWhenToRepeat(t *testing.T) {
	a := start(t, 4, nil)
	for range 100 {
		a.Now += 45 * ms
		a.answer(1, 0, 1, 2, 3)
		a.answer(2, 0, 1, 2, 3)
		a.Now += 5 * ms
		a.step(protocol.Tick{})
	}
	if wait := a.Last.Wake.Sub(a.Now); wait < 80*time.Millisecond || wait > 90*time.Millisecond {
		t.Errorf("repeats after %v, want nearly twice the round trip of 45ms", wait)
	}
}

func TestAnswersToAnEarlierLifeDoNotCount(t *testing.T) {
	a := start(t, 3, func(c *timefree.Config) { c.Inc = 2 })
	for number := uint64(1); number < 10; number++ {
		a.receive(1, 1, &timefree.Response{Asker: 1, Number: number, Winners: protocol.Everyone(3)})
		if len(a.Last.Views) != 0 {
			t.Fatalf("an answer to query %x of the first life ended query %x: %+v", number, a.q, a.Last.Views)
		}
	}
}

func TestFirstAnswerBringsTheCounters(t *testing.T) {
	a := start(t, 3, nil)
	a.receive(1, 1, &timefree.Response{Asker: 1, Number: a.q, Winners: protocol.Everyone(3), Counts: []uint64{4, 2, 9}})
	if v := a.Last.Views; len(v) != 1 || v[0].Leader.Rank != 1 {
		t.Errorf("published %+v, want b: it has the least of 4 2 9", v)
	}
}

func TestRestartedMemberLeapsWithoutPatience(t *testing.T) {
	a := start(t, 4, nil)
	a.receive(3, 1, &timefree.Query{Number: 1, Counts: []uint64{5, 8, 7, 0}})
	a.round(ranks(0, 1, 2, 3), 1, 3)
	a.receive(3, 2, &timefree.Query{Number: 1, Counts: []uint64{0, 0, 0, 0}, First: true})
	if v := a.Last.Views; len(v) != 1 || v[0].Leader.Rank != 0 || v[0].Cause.String() != "restarted d" {
		t.Errorf("published %+v, want a because d restarted", v)
	}
	if r := a.Last.Send[0].Message.(*timefree.Response); !slices.Equal(r.Counts, []uint64{5, 8, 7, 6}) {
		t.Errorf("d learns %v, want 5 8 7 6", r.Counts)
	}
	a.receive(3, 2, &timefree.Query{Number: 2, Counts: []uint64{0, 0, 0, 0}})
	a.wantCounts(5, 8, 7, 6)
}

func TestUnfitMakesTheMemberItselfLeap(t *testing.T) {
	a := start(t, 4, nil)
	a.receive(3, 1, &timefree.Query{Number: 1, Counts: []uint64{5, 8, 7, 9}})
	a.round(ranks(0, 1, 2, 3), 1, 2)
	a.step(protocol.Unfit{})
	if v := a.Last.Views; len(v) != 1 || v[0].Leader.Rank != 2 || v[0].Cause.String() != "no quorum a" {
		t.Errorf("published %+v, want c because a gathers no quorum", v)
	}
	a.wantCounts(8, 8, 7, 9)
}

func TestMessagesOfAnotherSizeAreDropped(t *testing.T) {
	a := start(t, 4, nil)
	for _, m := range []protocol.Message{
		&timefree.Query{Number: 1, Counts: []uint64{1, 2, 3}},
		&timefree.Query{Number: 1, Counts: []uint64{1, 2, 3, 4, 5}},
		&timefree.Query{Number: 1},
		&timefree.Response{Asker: 1, Number: a.q, Counts: []uint64{1}},
		&timefree.Response{Asker: 1, Number: a.q, Counts: make([]uint64, 5)},
	} {
		if e := a.receive(1, 1, m); len(e.Send)+len(e.Views)+len(e.Facts) != 0 {
			t.Errorf("%s %+v led to %+v", m.Name(), m, e)
		}
	}
}

func TestQueriesArePaced(t *testing.T) {
	a := start(t, 3, nil)
	a.Now = 10 * ms
	a.answer(1, 0, 1, 2)
	if a.Last.Wake != 50*ms {
		t.Errorf("the next query is due at %v, want 50ms", a.Last.Wake)
	}
	if e := a.step(protocol.Tick{}); len(e.Send) != 0 {
		t.Errorf("an early tick sends %+v", e.Send)
	}
	a.Now = 50 * ms
	a.step(protocol.Tick{})
	a.Now = 500 * ms
	a.answer(2, 0, 1, 2)
	if a.q != 3 || a.Last.Wake <= a.Now {
		t.Errorf("an answer that took longer than a period must be followed by a query at once; the newest is %d", a.q&0xff)
	}
}

func TestCopiesShareNothing(t *testing.T) {
	q := &timefree.Query{Counts: []uint64{1}}
	r := &timefree.Response{Counts: []uint64{1}}
	q2, r2 := q.Copy().(*timefree.Query), r.Copy().(*timefree.Response)
	q.Counts[0], r.Counts[0] = 2, 2
	if q2.Counts[0] != 1 || r2.Counts[0] != 1 {
		t.Error("a copy follows its original")
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*timefree.Config){
		"timefree: f = 4 of 5":          func(c *timefree.Config) { c.F = 4 },
		"timefree: 2 members":           func(c *timefree.Config) { c.Members = 2 },
		"timefree: period 0s":           func(c *timefree.Config) { c.Period = 0 },
		"timefree: patience 0":          func(c *timefree.Config) { c.Patience = 0 },
		"timefree: repeat after 0s":     func(c *timefree.Config) { c.RepeatMin = 0 },
		"timefree: repeat after at mos": func(c *timefree.Config) { c.RepeatMax = 1 },
	} {
		c := timefree.Default(0, 5, 1)
		change(&c)
		if _, err := timefree.New(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error that begins with %q", err, want)
		}
	}
}

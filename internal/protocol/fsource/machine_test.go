package fsource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/fsource"
)

const ms = protocol.Time(time.Millisecond)

// A member is a machine under test and what its last Step led to.
type member struct {
	drivetest.Hand
	m   *counter.Machine
	t   testing.TB
	seq uint64
}

// start returns the started machine of member a in a council.
func start(t testing.TB, members int, change func(*fsource.Config)) *member {
	t.Helper()
	c := fsource.Default(0, members, 1)
	if change != nil {
		change(&c)
	}
	m, err := fsource.New(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &member{Hand: drivetest.Hand{Machine: m}, m: m, t: t}
	a.Step(protocol.Start{})
	return a
}

// alive lets a peer say that it is alive, and how often it accused each member.
func (a *member) alive(from protocol.Rank, inc protocol.Inc, row ...uint64) protocol.Effects {
	if row == nil {
		row = make([]uint64, a.m.Config().Members)
	}
	a.seq++
	return a.Step(&protocol.Receive{From: protocol.Ident{Rank: from, Inc: inc}, Message: &fsource.Alive{Seq: a.seq, Row: row}})
}

// all lets the given peers say that they are alive, every 50ms for so long.
func (a *member) all(length protocol.Time, peers ...protocol.Rank) {
	for end := a.Now + length; a.Now < end; a.Now += 50 * ms {
		for _, r := range peers {
			a.alive(r, 1)
		}
		a.Step(protocol.Tick{})
	}
}

// row returns the accusations that the member gossips as its own.
func (a *member) row() []uint64 {
	a.t.Helper()
	a.Now += 50 * ms
	for _, env := range a.Step(protocol.Tick{}).Send {
		return slices.Clone(env.Message.(*fsource.Alive).Row)
	}
	a.t.Fatal("nothing was sent")
	return nil
}

func (a *member) leader() protocol.View {
	a.t.Helper()
	if len(a.Last.Views) == 0 {
		a.t.Fatal("no view was published")
	}
	return a.Last.Views[len(a.Last.Views)-1]
}

func TestStartSaysAliveToAllOthers(t *testing.T) {
	a := start(t, 4, nil)
	var to []protocol.Rank
	for _, env := range a.Last.Send {
		to = append(to, env.To)
	}
	if !slices.Equal(to, []protocol.Rank{1, 2, 3}) {
		t.Errorf("said it to %v, want all others in rank order", to)
	}
	if m := a.Last.Send[0].Message.(*fsource.Alive); m.From != 1 || len(m.Rows) != 3*4 || len(m.Row) != 4 {
		t.Errorf("sent %+v, want its own row and those of the three others", m)
	}
}

func TestNoOpinionBeforeAllButFWereHeard(t *testing.T) {
	a := start(t, 4, nil)
	a.alive(1, 1)
	if len(a.Last.Views) != 0 {
		t.Fatalf("two of three were heard, its own counted: %+v", a.Last.Views)
	}
	a.alive(2, 1)
	if a.leader().Leader.Rank != 0 {
		t.Errorf("three were heard: %v leads, want a", a.leader().Leader)
	}
}

func TestSilentPeerIsAccusedForEver(t *testing.T) {
	a := start(t, 4, func(c *fsource.Config) { c.Plain = true })
	a.all(1000*ms, 1, 2)
	if row := a.row(); row[1] != 0 || row[2] != 0 || row[3] < 6 {
		t.Errorf("a accused %v in a second, want d once for each time-out of 120ms and nobody else", row)
	}
}

func TestFirstAccusationIsToldAtOnce(t *testing.T) {
	a := start(t, 3, nil)
	a.all(100*ms, 1, 2)
	a.Now = 50*ms + 120*ms
	a.alive(1, 1)
	if len(a.Last.Send) == 0 {
		t.Fatal("nothing was sent when c missed its deadline")
	}
	if m := a.Last.Send[0].Message.(*fsource.Alive); m.Row[2] != 1 {
		t.Errorf("sent %+v, want one accusation of c", m)
	}
}

func TestCounterIsWhatAllButFAgreeOn(t *testing.T) {
	a := start(t, 5, func(c *fsource.Config) { c.F = 2 })
	for r := protocol.Rank(1); r < 5; r++ {
		a.alive(r, 1)
	}
	for i, c := range []struct {
		from   protocol.Rank
		count  uint64
		leader protocol.Rank
	}{{1, 9, 0}, {2, 4, 0}, {3, 7, 1}} {
		a.alive(c.from, 1, c.count, 0, 0, 0, 0)
		if len(a.Last.Views) > 0 && (i < 2 || a.leader().Leader.Rank != c.leader) {
			t.Fatalf("after %d accusers %v leads, want %v", i+1, a.leader().Leader, c.leader)
		}
	}
	if got := a.leader(); got.Cause.String() != "doubted d" {
		t.Errorf("b leads because %v, want the third who doubts a", got.Cause)
	}
	for _, f := range a.Last.Facts {
		if f.Ev == counter.EvCount && (f.Peer.Rank != 0 || f.Seq != 4) {
			t.Errorf("the counter of %v is %d, want 4 for a: the third largest of 9 7 4 0 0", f.Peer, f.Seq)
		}
	}
}

func TestRowsOfOthersArePassedOn(t *testing.T) {
	a := start(t, 4, nil)
	a.Step(&protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 1}, Message: &fsource.Alive{
		Seq: 1, Row: make([]uint64, 4), From: 3, Rows: []uint64{0, 5, 0, 0, 0, 6, 0, 0}}}) // of d and, all around, a
	a.Now += 50 * ms
	m := a.Step(protocol.Tick{}).Send[0].Message.(*fsource.Alive)
	if m.Row[1] != 6 {
		t.Errorf("a's own row is %v: it learns from others what it said before it restarted", m.Row)
	}
	if m.From != 1 || m.Rows[2*4+1] != 5 {
		t.Errorf("passed on %+v, want d's five accusations of b", m)
	}
}

func TestLargeCouncilsPassRowsOnInTurn(t *testing.T) {
	const n = 40
	a := start(t, n, nil)
	var seen protocol.Set
	for range n {
		a.Now += 50 * ms
		e := a.Step(protocol.Tick{})
		if len(e.Send) == 0 {
			continue
		}
		m := e.Send[0].Message.(*fsource.Alive)
		if len(m.Rows) != 6*n {
			t.Fatalf("an Alive passes on %d numbers, want %d", len(m.Rows), 6*n)
		}
		for i := range len(m.Rows) / n {
			seen.Add((m.From + protocol.Rank(i)) % n)
		}
	}
	if seen != protocol.Everyone(n) {
		t.Errorf("passed on only %v", seen)
	}
}

func TestAccusationLeapsOverTheNextCandidate(t *testing.T) {
	a := start(t, 4, nil)
	for r := protocol.Rank(1); r < 4; r++ {
		a.alive(r, 1, 40, 0, 30, 30)
	}
	if a.leader().Leader.Rank != 1 {
		t.Fatalf("%v leads, want b", a.leader().Leader)
	}
	a.Now = 100 * ms
	a.alive(2, 1, 40, 0, 30, 30)
	a.alive(3, 1, 40, 0, 30, 30)
	a.Now = 120 * ms
	a.Step(protocol.Tick{})
	if row := a.Last.Send[0].Message.(*fsource.Alive).Row; row[1] != 31 {
		t.Errorf("a accused %v, want b up to 31: over the 30 of c and d", row)
	}
	if len(a.Last.Views) != 0 {
		t.Errorf("one accuser of three deposed b: %+v", a.Last.Views)
	}
	a.alive(2, 1, 40, 31, 30, 30)
	a.alive(3, 1, 40, 31, 30, 30)
	if a.leader().Leader.Rank != 2 {
		t.Errorf("three accusers: %v leads, want c", a.leader().Leader)
	}
}

// silence returns how long a lets b be silent after a sign of life now.
func (a *member) silence() time.Duration {
	a.t.Helper()
	since := a.Now
	for ; a.Now < since+3000*ms; a.Now += ms {
		for _, f := range a.Step(protocol.Tick{}).Facts {
			if f.Ev == protocol.EvSuspect && f.Peer.Rank == 1 {
				return a.Now.Sub(since)
			}
		}
	}
	a.t.Fatal("b is never suspected")
	return 0
}

func TestTimeoutGrowsWithEachMistakeUpToTheCap(t *testing.T) {
	a := start(t, 3, nil)
	want := 120 * time.Millisecond
	for range 25 {
		a.alive(1, 1)
		if got := a.silence(); got != want {
			t.Fatalf("b may be silent for %v, want %v", got, want)
		}
		a.Now += 500 * ms // accused over and over: that is one mistake
		want = min(want+50*time.Millisecond, time.Second)
	}
	a.alive(1, 2)
	if got := a.silence(); got != 120*time.Millisecond {
		t.Errorf("after a restart b may be silent for %v, want the first time-out", got)
	}
}

func TestOldAndRepeatedSignsOfLifeDoNotCount(t *testing.T) {
	a := start(t, 3, nil)
	a.seq = 10
	a.alive(1, 1)
	a.Now = 100 * ms
	for _, seq := range []uint64{10, 11} {
		a.seq = seq - 1
		a.alive(1, 1, 0, 0, 5)
	}
	if got := a.silence(); got != 20*time.Millisecond {
		t.Errorf("b is suspected %v after a repeated sign of life, want 20ms: 120ms after the first", got)
	}
}

func TestRestartedPeerIsAccusedAtOnce(t *testing.T) {
	a := start(t, 4, nil)
	a.all(100*ms, 1, 2, 3)
	a.seq = 0
	a.alive(2, 2)
	if row := a.Last.Send[0].Message.(*fsource.Alive).Row; row[2] != 1 {
		t.Errorf("a accused %v, want c once, and told at once", row)
	}
}

func TestUnfitCountsAlone(t *testing.T) {
	a := start(t, 4, nil)
	a.alive(1, 1, 0, 6, 9, 9)
	a.alive(2, 1, 0, 6, 9, 9)
	a.alive(3, 1, 0, 6, 9, 9)
	a.Step(protocol.Unfit{})
	if v := a.leader(); v.Leader.Rank != 1 || v.Cause.String() != "no quorum a" {
		t.Errorf("%v leads because %v, want b because a gathers no quorum", v.Leader, v.Cause)
	}
	if row := a.row(); row[0] != 7 {
		t.Errorf("a says %v, want 7 of itself: over the 6 of b", row)
	}
	b := start(t, 4, func(c *fsource.Config) { c.Self = 1 })
	b.alive(0, 1, 7, 0, 0, 0)
	b.alive(2, 1)
	if b.leader().Leader.Rank != 1 {
		t.Errorf("b heard a speak against itself, but %v leads", b.leader().Leader)
	}
}

func TestMoreThanFSilentIsReported(t *testing.T) {
	a := start(t, 4, nil)
	a.all(1000*ms, 1, 2, 3)
	heard := a.Now - 50*ms
	for a.Now < heard+5000*ms {
		a.Now = a.Last.Wake
		a.alive(1, 1)
		if len(a.Last.Views) > 0 {
			break
		}
	}
	if v := a.leader(); v.Leader.Rank != 0 || v.Cause.String() != "no quorum (for 500ms)" || a.Now != heard+500*ms {
		t.Errorf("%v after the last sign of life of c and d: %v because %v", a.Now.Sub(heard), v.Leader, v.Cause)
	}
	a.alive(2, 1)
	if v := a.leader(); v.Leader.Rank != 0 || v.Cause.Code != protocol.Returned {
		t.Errorf("c is back: %v because %v", v.Leader, v.Cause)
	}
}

func TestLinksThatAreNotTimelyDoNotBlock(t *testing.T) {
	a := start(t, 4, func(c *fsource.Config) { c.Cap = c.Timeout })
	a.alive(1, 1)
	for end := a.Now + 60_000*ms; a.Now < end; a.Now += 100 * ms {
		a.alive(1+protocol.Rank(a.Now/(100*ms)%3), 1) // each of them every 300ms: beyond any time-out
		for _, v := range a.Last.Views {
			if v.Cause.Code == protocol.NoQuorum {
				t.Fatalf("at %v: %v", a.Now, v.Cause)
			}
		}
	}
}

func TestMessagesOfAnotherSizeAreDropped(t *testing.T) {
	a := start(t, 4, nil)
	four := make([]uint64, 4)
	for _, m := range []*fsource.Alive{
		{Seq: 1}, {Seq: 2, Row: make([]uint64, 3)}, {Seq: 3, Row: make([]uint64, 5)}, {Seq: 4, Row: four, From: 4},
		{Seq: 5, Row: four, Rows: make([]uint64, 5)}, {Seq: 6, Row: four, Rows: make([]uint64, 20)},
	} {
		a.Step(&protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 1}, Message: m})
		a.Step(&protocol.Receive{From: protocol.Ident{Rank: 2, Inc: 1}, Message: m})
		if len(a.Last.Views) != 0 {
			t.Errorf("%+v was taken for a sign of life", m)
		}
	}
}

func TestWakeIsNeverInThePast(t *testing.T) {
	a := start(t, 3, nil)
	for a.Now < 5000*ms {
		if a.Last.Wake <= a.Now {
			t.Fatalf("at %v the machine wants to be woken at %v", a.Now, a.Last.Wake)
		}
		a.Now = a.Last.Wake
		a.Step(protocol.Tick{})
	}
}

func TestCopySharesNothing(t *testing.T) {
	m := &fsource.Alive{Row: []uint64{1}, Rows: []uint64{1}}
	c := m.Copy().(*fsource.Alive)
	m.Row[0], m.Rows[0] = 2, 2
	if c.Row[0] != 1 || c.Rows[0] != 1 {
		t.Error("a copy follows its original")
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*fsource.Config){
		"fsource: f = 4 of 5":   func(c *fsource.Config) { c.F = 4 },
		"fsource: period 0s":    func(c *fsource.Config) { c.Period = 0 },
		"fsource: time-out 1ms": func(c *fsource.Config) { c.Timeout = time.Millisecond },
		"fsource: growth -1ns":  func(c *fsource.Config) { c.Grow = -1 },
		"fsource: cap 1ms":      func(c *fsource.Config) { c.Cap = time.Millisecond },
	} {
		c := fsource.Default(0, 5, 1)
		change(&c)
		if _, err := fsource.New(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error that begins with %q", err, want)
		}
	}
}

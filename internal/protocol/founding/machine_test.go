package founding

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/record"
)

const retry = 100 * time.Millisecond

var (
	none   protocol.CouncilID
	x      = protocol.CouncilID{1}
	y      = protocol.CouncilID{2}
	drawn  = protocol.CouncilID{9}
	listed = [32]byte{7}
)

// A member is a machine of a council of n that a test drives.
type member struct {
	drivetest.Stepper
	t *testing.T
	m *Machine
}

func start(t *testing.T, me protocol.Rank, n int, id protocol.CouncilID, change ...func(*Config)) *member {
	t.Helper()
	c := Config{Me: me, Quorums: protocol.Majority(n), Listing: listed, ID: id, Drawn: drawn, Bootstrap: true, Retry: retry}
	for _, f := range change {
		f(&c)
	}
	m, err := New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := &member{Stepper: drivetest.Stepper{Machine: m, Now: 1e9}, t: t, m: m}
	x.Step(protocol.Start{})
	return x
}

// hear lets members answer the present question.
func (x *member) hear(id protocol.CouncilID, from ...protocol.Rank) {
	for _, r := range from {
		x.Receive(protocol.Ident{Rank: r}, &Tell{Nonce: x.m.nonce, Listing: listed, ID: id, Begins: id == none}, protocol.Unknown)
	}
}

// asked lets a member ask.
func (x *member) asked(from protocol.Rank, nonce uint64) []protocol.Rank {
	x.Receive(protocol.Ident{Rank: from}, &Ask{Nonce: nonce, Listing: listed}, protocol.Unknown)
	return x.Sent("founding.Tell")
}

func (x *member) pass(d time.Duration) { x.Tick(x.Now.Add(d)) }

// want checks what the member is about to write.
func (x *member) want(id protocol.CouncilID) {
	x.t.Helper()
	var got protocol.CouncilID
	if len(x.Last.Persist) > 0 {
		r, err := record.Decode(x.Last.Persist)
		if err != nil || r.Inc != 0 {
			x.t.Fatalf("it writes %+v, %v", r, err)
		}
		got = r.Council
	}
	if got != id {
		x.t.Fatalf("it takes %v, want %v", got, id)
	}
}

func TestBestRankedMemberDrawsTheIDWhenAllOthersHaveNone(t *testing.T) {
	a := start(t, 0, 3, none)
	a.hear(none, 1)
	a.want(none)
	a.hear(none, 2)
	a.want(drawn)
	if a.m.ID() != none || len(a.asked(1, 5)) != 0 {
		t.Error("it names the id before that is on disk")
	}
	a.Step(protocol.Persisted{})
	if a.m.ID() != drawn || len(a.asked(1, 5)) != 1 {
		t.Error("it does not name the id that is on disk")
	}
	if alone := start(t, 0, 1, none); alone.m.id != drawn {
		t.Error("a council of one has no id")
	}
}

func TestNobodyDrawsWithoutConsent(t *testing.T) {
	b := start(t, 1, 3, none)
	b.hear(none, 0, 2)
	b.want(none)
	a := start(t, 0, 3, none, func(c *Config) { c.Bootstrap = false })
	a.hear(none, 1, 2)
	a.want(none)
	a = start(t, 0, 3, none)
	a.Receive(protocol.Ident{Rank: 1}, &Tell{Nonce: a.m.nonce, Listing: listed}, protocol.Unknown)
	a.hear(none, 2)
	a.want(none)
}

// Answers count for one Retry: those who gave them are bound no longer.
func TestAnswersOfTheBestRankedMembersQuestionGrowOld(t *testing.T) {
	a := start(t, 0, 3, none)
	a.hear(none, 1)
	late := &Tell{Nonce: a.m.nonce, Listing: listed, Begins: true}
	a.Now = a.Now.Add(retry) // it was held up, and sees to its timer afterwards
	a.Receive(protocol.Ident{Rank: 2}, late, protocol.Unknown)
	a.want(none)
	a.pass(retry)
	a.Receive(protocol.Ident{Rank: 2}, late, protocol.Unknown)
	a.hear(none, 1)
	a.want(none)
}

// The best-ranked member lost its disk after one other member had taken the id: no quorum names it, and none may draw another.
func TestBestRankedMemberAdoptsWhatIsLeft(t *testing.T) {
	a := start(t, 0, 3, none)
	a.hear(x, 1)
	a.want(none)
	a.hear(none, 2)
	a.want(x)
	a = start(t, 0, 4, none)
	a.hear(x, 1)
	a.hear(y, 2)
	a.hear(none, 3)
	a.want(none)
}

// One member's word is not enough, not even the best-ranked one's: its disk may be of earlier days.
func TestOthersTakeTheIDWhenNobodyNamesAnother(t *testing.T) {
	b := start(t, 1, 3, none)
	b.hear(x, 0)
	b.want(none)
	b.hear(none, 2)
	b.want(x)
	b = start(t, 1, 4, none)
	b.hear(x, 0)
	b.hear(y, 2)
	b.hear(none, 3)
	b.want(none)
	b = start(t, 1, 3, none)
	b.hear(x, 2) // the best-ranked member has not got it yet
	b.hear(none, 0)
	b.want(none)
}

func TestMemberThatLostItsRecordIsToldByMembersThatMeetEveryQuorum(t *testing.T) {
	b := start(t, 1, 5, none)
	b.pass(bindFor * retry)
	b.hear(x, 2, 3)
	b.want(none)
	b.hear(x, 4)
	b.want(x)
}

// While the best-ranked member may be drawing an id, what others name may be the last copy of an older one.
func TestMemberIsBoundWhileTheBestRankedOneMayDraw(t *testing.T) {
	b := start(t, 1, 5, none)
	b.hear(x, 2, 3, 4)
	b.want(none) // it may have answered before it was started again
	b.pass(bindFor * retry)
	before := b.m.nonce
	if got := b.asked(0, 5); len(got) != 1 {
		t.Fatal("no answer")
	}
	if b.m.nonce == before {
		t.Error("answers from before still count")
	}
	b.hear(x, 2, 3, 4)
	b.want(none)
	old := b.m.nonce
	b.pass(bindFor * retry)
	for _, r := range []protocol.Rank{2, 3, 4} {
		b.Receive(protocol.Ident{Rank: r}, &Tell{Nonce: old, Listing: listed, ID: x}, protocol.Unknown)
	}
	b.want(none)
	b.hear(x, 2, 3, 4)
	b.want(x)
}

func TestMembersOfAnotherListAreNotHeard(t *testing.T) {
	b := start(t, 1, 3, x)
	b.Receive(protocol.Ident{Rank: 0}, &Ask{Nonce: 3, Listing: [32]byte{8}}, protocol.Unknown)
	if len(b.Sent("founding.Tell")) != 0 {
		t.Error("answered")
	}
	a := start(t, 0, 2, none)
	a.Receive(protocol.Ident{Rank: 1}, &Tell{Nonce: a.m.nonce, Begins: true}, protocol.Unknown)
	a.want(none)
}

// Who records questions and plays them cannot make a member send much.
func TestAnswersAreRationed(t *testing.T) {
	b := start(t, 1, 3, x)
	n := 0
	for range 100 {
		b.Now = b.Now.Add(time.Millisecond)
		n += len(b.asked(0, 5))
	}
	if n != 4 {
		t.Errorf("%d answers within one Retry, want 4", n)
	}
}

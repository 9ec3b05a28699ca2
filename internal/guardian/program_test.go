package guardian

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A guarded member leads groups for programs, on a page in memory.
type guardedMember struct {
	*testing.T
	w *mortal
	l *Leases
}

func newMember(t *testing.T) *guardedMember {
	w := newMortal(8)
	p := newPage(t, w, 8)
	p.SetMode(WithinProcess)
	return &guardedMember{t, w, NewLeases(p)}
}

// expect says which groups a report keeps that is made now, with programs of which is known what they are.
func (m *guardedMember) expect(when string, programs []Program, open int, want ...protocol.Group) {
	m.Helper()
	s, err := Read(m.w)
	if err != nil {
		m.Fatal(err)
	}
	kept, n := s.Keeps(programs)
	if !slices.Equal(kept, want) || n != open {
		m.Errorf("%s: keeps %q, %d of them open; want %q, %d", when, kept, n, want, open)
	}
}

// gone is a program that is proven gone.
func gone(tenure uint64) Program {
	p := Program{Tenure: tenure}
	p.Saw(true, true)
	return p
}

func TestProgramIsGoneOnceItsRunnerIsDeadAndItsCgroupEmptyAfterwards(t *testing.T) {
	p := Program{Tenure: 1}
	for _, look := range []struct{ runner, empty, gone bool }{
		{false, false, false}, {false, true, false}, {true, false, false}, {true, true, true}, {true, false, true},
	} {
		p.Saw(look.runner, look.empty)
		if p.Gone() != look.gone {
			t.Errorf("after %+v: %v", look, p.Gone())
		}
	}
}

func TestGroupIsReleasedOnceItsProgramIsGone(t *testing.T) {
	m := newMember(t)
	m.l.Begins(0, "a")
	m.l.Begins(0, "b")
	m.l.Begins(0, "c")
	a, b := m.l.Tenure("a"), m.l.Tenure("b")
	m.expect("without programs", nil, 0, "a", "b", "c")
	m.expect("with two that may live", []Program{{Tenure: a}, {Tenure: b}}, 2, "a", "b", "c")
	m.expect("with one that is gone", []Program{gone(a), {Tenure: b}}, 1, "b", "c")
	m.expect("with one of no tenure", []Program{gone(0), gone(99)}, 0, "a", "b", "c")
}

// A lease that is over at the member may be one that a program still holds: the member was suspended, or began a new life.
func TestGroupIsKeptUntilTheLastEndThatWasShown(t *testing.T) {
	m := newMember(t)
	m.l.Begins(0, "a")
	m.l.Shown(second)
	m.l.Ended(second/2, "a")
	m.expect("within the lease", nil, 0, "a")
	m.l.Begins(second, "b")
	m.expect("at its end", nil, 0, "a", "b")
	m.l.Ended(second+1, "b")
	m.expect("after its end", nil, 0)
}

// The proof that one program is gone says nothing of the one before it.
func TestProofOfOneTenureReleasesNoOther(t *testing.T) {
	m := newMember(t)
	m.l.Begins(0, "a")
	first := m.l.Tenure("a")
	m.l.Shown(second)
	m.l.Ended(second/2, "a")
	m.l.Begins(second/2, "a")
	if n := m.l.Tenure("a"); n != 0 {
		t.Errorf("the second tenure has the number %d while the first may still act", n)
	}
	m.expect("while the first may act", []Program{gone(first)}, 0, "a")
	m.l.Shown(2 * second)
	m.l.Ended(2*second, "a")
	m.l.Begins(3*second, "a")
	if n := m.l.Tenure("a"); n == 0 || n == first {
		t.Errorf("the third tenure has the number %d, the first had %d", n, first)
	}
	m.expect("after both", []Program{gone(first)}, 0, "a")
}

func TestGroupWithoutASlotHasNoTenure(t *testing.T) {
	w := newMortal(1)
	l := NewLeases(newPage(t, w, 1))
	l.Begins(0, "a")
	l.Begins(0, "b")
	if n := l.Tenure("b"); n != 0 {
		t.Errorf("tenure %d", n)
	}
	if !Holds(w, l.Tenure("a")) || Holds(w, 99) {
		t.Error("the page does not know its tenures")
	}
}

// The programs of a member that dies go one after the other. Each makes the guardian report anew, and one that lives on does not hold it without end.
func TestReportIsSentAnewWhenAProgramIsGone(t *testing.T) {
	s, d := &Statement{Mode: WithinProcess}, &Duty{}
	var sent []protocol.Time
	now := second
	for {
		open := 2
		if now >= second.Add(300*time.Millisecond) {
			open = 1
		}
		do, at := d.Next(now, s, nil, open)
		if do == End {
			break
		}
		if do == Send {
			sent = append(sent, now)
		}
		if at > now.Add(200*time.Millisecond) || at < now {
			t.Fatalf("at %v it waits until %v", now, at)
		}
		now = at
	}
	if len(sent) != 2*repeats || sent[0] != second {
		t.Fatalf("sent %d times: %v", len(sent), sent)
	}
	if late := sent[repeats].Sub(second.Add(300 * time.Millisecond)); late < 0 || late > 30*time.Millisecond {
		t.Errorf("sent %v after a program was gone", late)
	}
	if stayed := now.Sub(second); stayed < outlast || stayed > outlast+200*time.Millisecond {
		t.Errorf("it stayed for %v", stayed)
	}
}

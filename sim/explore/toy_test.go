package explore

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// A toy elects by a rule that is easy to break: who campaigns asks the others, who has not yet said yes says yes, and two
// of three make a leader, for ever. It forgets in a crash whom it said yes to.
type toy struct {
	me    protocol.Rank
	inc   protocol.Inc
	said  bool // yes, to anybody
	eager bool // says yes to everybody: wrong
	leads bool
	got   protocol.Set
	out   *protocol.Effects
}

type ask struct{ Yes bool }

func (*ask) Name() string             { return "toy.Ask" }
func (a *ask) Copy() protocol.Message { c := *a; return &c }

func (m *toy) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	out.Wake = protocol.Never
	switch ev := ev.(type) {
	case protocol.Campaign:
		if !m.said || m.eager {
			m.grant(now, protocol.Ident{Rank: m.me, Inc: m.inc})
			m.got.Add(m.me)
			for r := range protocol.Rank(3) {
				if r != m.me {
					m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: &ask{}})
				}
			}
		}
	case *protocol.Receive:
		if a := ev.Message.(*ask); a.Yes {
			m.got.Add(ev.From.Rank)
		} else if !m.said || m.eager {
			m.grant(now, ev.From)
			m.out.Send = append(m.out.Send, protocol.Envelope{To: ev.From.Rank, Message: &ask{Yes: true}})
		}
		if !m.leads && m.got.Len() >= 2 {
			m.leads = true
			m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvLease, Dom: protocol.Quorum, Group: "g", Tenure: 1,
				Term: 1 + uint64(m.me), Until: protocol.Never, Seq: 1})
		}
	}
}

func (m *toy) grant(now protocol.Time, to protocol.Ident) {
	m.said = true
	m.out.Facts = append(m.out.Facts,
		protocol.Fact{Ev: protocol.EvPromise, Dom: protocol.Quorum, Peer: to, Gen: 1, Seq: 1, Until: protocol.Never},
		protocol.Fact{Ev: protocol.EvAssign, Dom: protocol.Quorum, Group: "g", Peer: to, Gen: 1, Tenure: 1, Term: 1, At: now})
}

func (m *toy) Clone() protocol.Machine { c := *m; return &c }

func (m *toy) AppendState(b []byte) []byte {
	for _, x := range []bool{m.said, m.leads} {
		if x {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for r := range m.got.All() {
		b = append(b, byte(r))
	}
	return b
}

func toys(eager bool) Options {
	return Options{
		Members: 3, Group: "g", Candidates: []protocol.Rank{0, 1}, Quorums: protocol.Majority(3), Quarter: 1, Quarters: 2,
		Spawn: func(b sim.Boot) (protocol.Machine, error) { return &toy{me: b.Self, inc: b.Inc, eager: eager}, nil },
	}
}

func TestAFaultlessToyIsVisitedWhole(t *testing.T) {
	for _, free := range []bool{false, true} {
		o := toys(false)
		o.Free, o.Duplicates, o.Holds = free, 1, 1
		r, err := Run(o)
		if err != nil || r.Violation != nil || !r.Complete || r.Led == 0 {
			t.Errorf("free %v: %v, %v", free, err, r.String())
		}
	}
}

func TestAVoterThatForgetsIsFoundOut(t *testing.T) {
	o := toys(false)
	o.Crashes = 1
	r, err := Run(o)
	if err != nil || r.Violation == nil || !strings.Contains(r.Violation.Error(), "N-LU") {
		t.Fatalf("%v, %v", err, r.String())
	}
	way := strings.Join(r.Way, "\n")
	if !strings.Contains(way, "crash of") || !strings.Contains(way, "restart of") {
		t.Errorf("the way does not show it:\n%s", way)
	}
}

func TestAVoterThatSaysYesTwiceIsFoundOut(t *testing.T) {
	r, err := Run(toys(true))
	if err != nil || r.Violation == nil || !strings.Contains(r.Violation.Error(), "N-16'") {
		t.Fatalf("%v, %v", err, r.String())
	}
}

// Without remembering states, every way is gone to its end: a dumb twin of the search, which must meet the same states.
func TestTheSearchMissesNothing(t *testing.T) {
	for _, free := range []bool{false, true} {
		o := toys(false)
		o.Free, o.Duplicates = free, 1
		start, err := begin(&o)
		if err != nil {
			t.Fatal(err)
		}
		met := make(map[key]bool)
		ways := 0
		var walk func(w *world)
		walk = func(w *world) {
			met[w.key()] = true
			turns := w.turns()
			if len(turns) == 0 {
				ways++
			}
			for _, x := range turns {
				to, err := w.take(x)
				if err != nil {
					t.Fatal(err)
				}
				walk(to)
			}
		}
		walk(start)
		r, err := Run(o)
		if err != nil || r.States != len(met) || ways < r.States/4 {
			t.Errorf("free %v: %v, the search met %d states, %d ways meet %d", free, err, r.States, ways, len(met))
		}
	}
}

func TestTheSameExplorationGivesTheSameStates(t *testing.T) {
	o := Nerio(6)
	o.Free, o.States = true, 3000
	a, errA := Run(o)
	b, errB := Run(o)
	if errA != nil || errB != nil || a.String() != b.String() {
		t.Errorf("%v, %v; %v, %v", a.String(), errA, b.String(), errB)
	}
}

func TestAWorldIsNotChangedByItsTurns(t *testing.T) {
	o := Nerio(6)
	o.Free, o.Crashes, o.Resignations = true, 1, 1
	w, err := begin(&o)
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		before := w.key()
		var next *world
		for _, x := range w.turns() {
			if next, err = w.take(x); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range w.members {
			m.state = key{} // worked out again
		}
		if w.key() != before {
			t.Fatal("a turn changed the world that it was taken from")
		}
		w = next
	}
}

func TestMessagesThatDifferHaveDifferentKeys(t *testing.T) {
	a := protocol.Ident{Rank: 0, Inc: 1}
	keys := map[key]string{}
	for name, k := range map[string]key{
		"yes":           hashMessage(a, 1, &ask{Yes: true}),
		"no":            hashMessage(a, 1, &ask{}),
		"to another":    hashMessage(a, 2, &ask{}),
		"from another":  hashMessage(protocol.Ident{Rank: 2, Inc: 1}, 1, &ask{}),
		"from the next": hashMessage(protocol.Ident{Rank: 0, Inc: 2}, 1, &ask{}),
	} {
		if other, ok := keys[k]; ok {
			t.Errorf("%q and %q look alike", name, other)
		}
		keys[k] = name
	}
}

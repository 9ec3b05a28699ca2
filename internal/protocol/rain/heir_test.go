package rain

import (
	"reflect"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
)

// heir returns the council with which the named members go on from one with number 4 of a to e, of which d came with number 3.
func heir(number uint64, survivors string) *council.Config {
	c := configuration(number, survivors, "")
	c.Council = protocol.CouncilID{1}
	c.Parents = []council.Parent{{Number: 4}}
	for _, r := range "abcde" {
		since := uint64(0)
		if r == 'd' {
			since = 3
		}
		if x := c.At(protocol.Rank(r - 'a')); x != nil {
			x.Since = since
		} else {
			c.Former = append(c.Former, council.Former{Seat: protocol.Rank(r - 'a'), Since: since, Until: 5, Name: string(r)})
		}
	}
	return c
}

func TestSurvivorThatHasAgreedVouchesForNobody(t *testing.T) {
	s := seat(t, configuration(4, "abc", "abc"), 'a', true)
	s.g().view = View{Number: Number{7, 1}, Members: seats("abc"), Epoch: 4}
	s.g().phase = Alive
	s.c.stopped = true
	s.tick(1)
	if s.g().phase == Alive {
		t.Error("R-OUT: it is in the group")
	}
	s.out.said = nil
	s.Machine.out = &protocol.Effects{}
	s.Machine.onReceive(s.now, &protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 1}, Message: &Stay{Group: "g", Inc: 1, At: 5, Epoch: 4}})
	if n := len(s.Machine.out.Send); n != 0 {
		t.Errorf("R-OUT: it answers %d times", n)
	}
}

func TestViewsOfACouncilThatWasGivenUpAreNobodysOwn(t *testing.T) {
	last := View{Number: Number{7, 3}, Members: seats("abc"), Joined: seats("a"), Epoch: 4}
	s := seat(t, configuration(4, "abcde", "abcde"), 'a', true)
	s.g().view, s.g().phase = last, Alive
	s.move(heir(5, "ab"))
	if s.g().phase == Alive || !reflect.DeepEqual(s.g().view, last) {
		t.Errorf("R-HEIR: it is %v, in %+v", s.g().phase, s.g().view)
	}
	s.g().phase = Joining
	s.get('b', &State{Group: "g", Phase: Joining, View: View{Number: Number{7, 5}, Members: seats("abd"), Joined: seats("a"), Epoch: 4}})
	if s.g().phase == Alive {
		t.Error("R-HEIR: it takes part by a view of the council before")
	}
	later := View{Number: Number{8, 1}, Members: seats("ab"), Epoch: 6}
	s = seat(t, configuration(4, "abcde", "abcde"), 'a', true)
	s.g().view, s.g().reported = later, later.Number
	s.move(heir(5, "ab"))
	if !reflect.DeepEqual(s.g().view, View{}) || s.g().reported != (Number{}) {
		t.Errorf("R-HEIR: it keeps a view of a configuration that nobody knows: %+v", s.g().view)
	}
	s.g().view = later // of the council of the survivors now
	s.move(heir(7, "ab"))
	if !reflect.DeepEqual(s.g().view, later) {
		t.Error("R-UNIQ: it forgets a view of its own council")
	}
	b := s.appendMemory(nil)
	again := &Machine{cfg: s.cfg}
	if err := again.recall(b); err != nil || again.halted.heirs != 1 {
		t.Errorf("R-UNIQ: after a start it takes its views for those of council %d: %v", again.halted.heirs, err)
	}
}

func TestFirstViewOfSurvivorsWaitsForAllOfThem(t *testing.T) {
	m := seat(t, heir(5, "abc"), 'a', true)
	r := reading{answered: seats("ab"), known: seats("ab"), best: View{Number: Number{7, 3}, Members: seats("abc"), Epoch: 4}}
	if r.hasAll(m.Machine) {
		t.Error("R-HEIR: a survivor was not asked that may know a later view")
	}
	r.best.Epoch = 5
	if !r.hasAll(m.Machine) {
		t.Error("a view of this council is on record, and the reading waits for a member that may be away")
	}
	r.best.Epoch, r.answered = 4, seats("abc")
	if !r.hasAll(m.Machine) {
		t.Error("all survivors have answered, and the reading goes on")
	}
}

func TestFirstViewOfSurvivorsNamesAllThatMayHaveFailed(t *testing.T) {
	m := seat(t, heir(5, "ab"), 'a', true)
	g := m.g()
	g.view = View{Number: Number{7, 3}, Members: seats("abcd"), Epoch: 2, Failed: seats("e"), Before: 1}
	g.reading = reading{token: 9, known: seats("ab")}
	g.lease.token = 9
	v := g.next(g.view.Members, seats("ab"))
	// In number 2 the seat of d was another one's. That of d in number 4 may have had work, and so may e.
	want := []protocol.Loss{{Number: 1, Members: seats("e")}, {Number: 4, Members: seats("de")}}
	if v.Failed != seats("abcd") || v.Before != 2 || !reflect.DeepEqual(v.Unfinished, want) {
		t.Errorf("R-HEIR: failed %v of %d, not recovered %v", v.Failed, v.Before, v.Unfinished)
	}
	g.view.Members, g.reading.known = seats("d"), seats("a")
	want[1].Members = seats("bcde") // nobody knows what b has forgotten
	v = g.next(g.view.Members, seats("ab"))
	if !reflect.DeepEqual(v.Unfinished, want) {
		t.Errorf("R-HEIR: not recovered %v", v.Unfinished)
	}
	g.view, g.reported = v, Number{7, 3}
	if g.stopped() {
		t.Error("R-OUT: the first view does not wait for those that lost members may have admitted")
	}
	g.view = View{}
	v = g.next(protocol.Set{}, seats("ab"))
	if len(v.Unfinished) > 0 {
		t.Errorf("a group that nobody knows has lost %v", v.Unfinished)
	}
}

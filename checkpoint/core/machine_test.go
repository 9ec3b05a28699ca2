package core

import "testing"

// owner returns the machine of member 0, which owns the key in a view of all seven, and has saved a state.
func owner(t *testing.T) *Machine {
	t.Helper()
	m := New(config(t, 7, 4))
	m.SetView(Roster{Number: Number{1, 1}, Members: 127, Manager: 6})
	m.Receive(6, &Message{Kind: Assign, View: Number{1, 1}, Keys: []string{"x"}})
	for from := range 7 {
		m.Receive(from, &Message{Kind: Shares, View: Number{1, 1}, Key: "x"})
	}
	if got := m.Take(); len(got.Inherit) != 1 || !got.Inherit[0].Begin {
		t.Fatalf("the member inherits %v", got.Inherit)
	}
	m.Save("x", 4, []byte("state"))
	return m
}

func acknowledge(m *Machine, view Number, seq uint64, from ...int) bool {
	for _, f := range from {
		m.Receive(f, &Message{Kind: Stored, View: view, Key: "x", Seq: seq})
	}
	return len(m.Take().Complete) > 0
}

func TestOnlyAcknowledgementsOfThePresentViewCount(t *testing.T) {
	m := owner(t)
	if acknowledge(m, Number{1, 1}, 4, 0, 1, 2, 3, 4, 5) {
		t.Error("six shares of seven are acknowledged, and the checkpoint is complete: three of them and the owner may fail")
	}
	m.SetView(Roster{Number: Number{1, 2}, Members: 127 &^ 64, Manager: 5})
	m.Take()
	if acknowledge(m, Number{1, 1}, 4, 0, 1, 2, 3, 4, 5) {
		t.Error("acknowledgements of the earlier view make a checkpoint complete")
	}
	if acknowledge(m, Number{1, 2}, 3, 0, 1, 2, 3, 4, 5) {
		t.Error("acknowledgements of another state make a checkpoint complete")
	}
	if acknowledge(m, Number{1, 2}, 4, 0, 0, 1, 1, 2, 2, 3, 6) || !acknowledge(m, Number{1, 2}, 4, 4, 5) {
		t.Error("a checkpoint is not complete exactly when all six members of the view acknowledged it")
	}
}

func TestAMemberInheritsFromTheManagerOfItsViewOnly(t *testing.T) {
	m := New(config(t, 7, 4))
	m.SetView(Roster{Number: Number{2, 1}, Members: 127, Manager: 6})
	for _, test := range []struct {
		from int
		view Number
	}{{5, Number{2, 1}}, {6, Number{1, 9}}, {6, Number{2, 2}}} {
		m.Receive(test.from, &Message{Kind: Assign, View: test.view, Keys: []string{"x"}})
		if got := m.Take(); len(got.Send) > 0 {
			t.Errorf("an order of member %d in view %v is followed: %v", test.from, test.view, got.Send)
		}
	}
}

// The manager of the next view may assign the key to another member.
func TestAnInheritanceEndsWithItsView(t *testing.T) {
	m := New(config(t, 7, 4))
	m.SetView(Roster{Number: Number{1, 1}, Members: 127, Manager: 6})
	m.Receive(6, &Message{Kind: Assign, View: Number{1, 1}, Keys: []string{"x"}})
	m.SetView(Roster{Number: Number{2, 2}, Members: 63, Manager: 5})
	m.Tick()
	for from := range 6 {
		m.Receive(from, &Message{Kind: Shares, View: Number{2, 2}, Key: "x"})
	}
	if got := m.Take(); len(got.Inherit) > 0 {
		t.Errorf("the member inherits %v in a view whose manager assigned nothing", got.Inherit)
	}
}

func TestAMemberThatSavesAllTheTimeIsSafe(t *testing.T) {
	m := owner(t)
	acknowledge(m, Number{1, 1}, 4, 0, 1, 2, 3, 4, 5, 6)
	m.Save("x", 8, []byte("later"))
	m.Take()
	m.Tick()
	for _, e := range m.Take().Send {
		if e.Kind == Safe {
			return
		}
	}
	t.Error("a later state is on its way, and the member does not report the one that is complete")
}

// What an heir can read need not be complete: it goes no further than an interval beyond what is.
func TestAnHeirKnowsWhatIsComplete(t *testing.T) {
	c := config(t, 7, 4)
	m := New(c)
	m.SetView(Roster{Number: Number{2, 1}, Members: 127 &^ 64, Manager: 5})
	m.Receive(5, &Message{Kind: Assign, View: Number{2, 1}, Keys: []string{"x"}})
	shares, err := cut(c.Coder, "x", ID{Number{1, 1}, 8}, ID{Number{1, 1}, 4}, 127, []byte("state"))
	if err != nil {
		t.Fatal(err)
	}
	for from := range 6 {
		m.Receive(from, &Message{Kind: Shares, View: Number{2, 1}, Key: "x", Found: Found{Shares: shares[from : from+1]}})
	}
	if got := m.Take().Inherit; len(got) != 1 || got[0].Seq != 8 || got[0].Complete != 4 {
		t.Errorf("the heir inherits %+v, want 8, of which 4 is complete", got)
	}
}

package party

import (
	"fmt"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

func TestNamesThatWereNotEnteredAreNobody(t *testing.T) {
	var n Names
	a, b := n.Enter("a"), n.Enter("b")
	if a == b || n.Enter("a") != a || n.Rank("b") != b || n.Name(b) != "b" {
		t.Errorf("a has rank %d, b has rank %d, which is %q", a, b, n.Name(b))
	}
	for _, name := range []string{"", "c"} {
		if r := n.Rank(name); r != protocol.Nobody {
			t.Errorf("%q has rank %d", name, r)
		}
	}
	if r := n.Enter(""); r != protocol.Nobody || n.Name(r) != "" {
		t.Errorf("no name has rank %d, which is %q", r, n.Name(r))
	}
}

func TestNamesAreNoMoreThanMembersOfACouncil(t *testing.T) {
	var n Names
	for i := range protocol.MaxMembers {
		if r := n.Enter(fmt.Sprint("member ", i)); r != protocol.Rank(i) {
			t.Fatalf("member %d has rank %d", i, r)
		}
	}
	if r := n.Enter("another"); r != protocol.Nobody {
		t.Errorf("a name beyond those of a council has rank %d", r)
	}
	if r := n.Enter("member 0"); r != 0 {
		t.Errorf("member 0 has rank %d when there is no room", r)
	}
}

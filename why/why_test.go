package why

import (
	"strings"
	"testing"
)

func TestKindsAreReadAsTheyAreWritten(t *testing.T) {
	names := make(map[string]Kind)
	for k := Unexplained; k <= last; k++ {
		text, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := names[string(text)]; ok {
			t.Errorf("%d and %d are both called %q", other, k, text)
		}
		names[string(text)] = k
		var got Kind
		if err := got.UnmarshalText(text); err != nil || got != k {
			t.Errorf("%q was read as %v, %v", text, got, err)
		}
	}
}

// A kind that the protocols know and this package does not would be read back as unexplained.
func TestEveryKindThatHasANameIsHere(t *testing.T) {
	if name := (last + 1).String(); !strings.HasPrefix(name, "#") {
		t.Errorf("the kind %q has no constant here", name)
	}
}

func TestAKindOfALaterVersionIsUnexplained(t *testing.T) {
	k := Merged
	if err := k.UnmarshalText([]byte("struck by lightning")); err != nil || k != Unexplained {
		t.Errorf("got %v, %v", k, err)
	}
}

// A new kind needs a clause for people.
func TestEveryKindEndsLeadershipsInWords(t *testing.T) {
	const unknown = "no cause is known"
	for k := Unexplained; k <= last; k++ {
		got := Cause{Why: k, Member: "m"}.Ending("a")
		if none := k == Unexplained || k == Started || k == TooMany || k == Announced; (got == unknown) != none {
			t.Errorf("%v: %q", k, got)
		}
		if got := (Cause{Why: k}).Ending(""); got == "" || got[0] == ' ' {
			t.Errorf("%v of nobody: %q", k, got)
		}
	}
}

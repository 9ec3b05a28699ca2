package replay

import (
	"strings"
	"testing"
)

func TestLinksAreNamedByTheirEnds(t *testing.T) {
	for links, want := range map[string]string{
		"ab":                "from a to b",
		"ab ba":             "between a and b",
		"ac bc":             "from a b to c",
		"ac ca bc cb ad da": "from a to c, from a to d, from b to c, from c to a, from c to b, from d to a",
		"ac ca bc cb":       "between a b and c",
		"*a a*":             "between all members and a",
	} {
		pairs := make(map[[2]string]bool)
		for _, l := range strings.Fields(links) {
			pairs[[2]string{l[:1], l[1:]}] = true
		}
		if got := where(pairs); got != want {
			t.Errorf("%s: %s, want %s", links, got, want)
		}
	}
}

// The end of a fault says what is the case again, and not for how long the fault was to last.
func TestEndOfAFaultIsToldAsOne(t *testing.T) {
	for fault, want := range map[string]string{"cut a b for 1s": "packets pass again from a to b", "partition {a} for 1s": "packets pass again between a and the others",
		"slow a b by 2s for 1s": "packets are no longer slow from a to b", "lose a b 10% for 1s": "packets are no longer lost from a to b",
		"duplicate a b 10% for 1s": "packets no longer arrive twice from a to b"} {
		kind, _, _ := strings.Cut(fault, " ")
		recording := trace(t, `{"t":0,"node":"a","inc":1,"ev":"start"}`, `{"t":0,"node":"b","inc":1,"ev":"start"}`,
			`{"t":1000,"node":"a","ev":"fault","why":"`+kind+`","detail":"`+fault+`"}`, `{"t":900000000,"node":"a","ev":"heal","why":"`+kind+`","detail":"`+fault+`"}`)
		log := recording.State(recording.Steps()).Log
		if got := log[len(log)-2].Text; got != want {
			t.Errorf("%s ends with %q, want %q", fault, got, want)
		}
	}
}

func TestWhatIsSaidOfSeveralMembers(t *testing.T) {
	for one, want := range map[string]string{"starts": "start", "has agreed": "have agreed", "is paused, for 1s": "are paused, for 1s", "goes on": "go on", "crashes": "crash",
		"no longer trusts a to be alive": "no longer trust a to be alive", "does not vote yet": "do not vote yet", "loses its disk": "lose their disks"} {
		if got := plural(one); got != want {
			t.Errorf("%s: %s, want %s", one, got, want)
		}
	}
}

func TestLengthsHaveThreeDigits(t *testing.T) {
	for text, want := range map[string]string{"silent for 76.599298ms": "silent for 76.6ms", "for 61.2345s": "for 1m1.2s", "by 60ms": "by 60ms", "by 1.5ms, 3 of 5s": "by 1.5ms, 3 of 5s"} {
		if got := rounded(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// What several members report is one entry, which the page can tell from the one that it replaces, and one instant to go to.
func TestOneEntryForWhatSeveralMembersReport(t *testing.T) {
	recording := trace(t,
		`{"t":0,"node":"a","inc":1,"ev":"start"}`, `{"t":0,"node":"b","inc":1,"ev":"start"}`,
		`{"t":1000,"node":"a","ev":"fault","why":"cut","detail":"cut a b for 1s"}`, `{"t":1000,"node":"b","ev":"fault","why":"cut","detail":"cut b a for 1s"}`,
		`{"t":900000000,"node":"b","inc":1,"ev":"crash"}`)
	recording.Explain("what it is about", "All is well")
	var out strings.Builder
	if err := recording.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "what it is about\n\n     time  what happened\n   0.000s  a, b start\n   0.000s  nothing passes between a and b, for 1s\n   0.900s  b crashes\n   0.900s  end of the run: 0 leaderships. All is well\n"
	if out.String() != want {
		t.Errorf("the story is\n%s", out.String())
	}
	if m := recording.Marks(); len(m) != 3 || m[0].Text != "nothing passes between a and b, for 1s" || m[0].Step != 3 {
		t.Errorf("the marks are %+v", m)
	}
	seen := make(map[uint64]string)
	for step := range recording.Steps() + 1 {
		for _, e := range recording.State(step).Log {
			if text, ok := seen[e.ID]; ok && text != e.Text {
				t.Errorf("entry %d is %q and %q", e.ID, text, e.Text)
			}
			seen[e.ID] = e.Text
		}
	}
}

package protocol

import "testing"

type word struct{ Letters []byte }

// TestMessagesStayUntilTheEffectsAreReset makes messages in two Steps over the same effects.
func TestMessagesStayUntilTheEffectsAreReset(t *testing.T) {
	var out Effects
	a := Keep(&out, word{Letters: []byte("a")})
	b := Keep(&out, word{Letters: []byte("b")})
	n := Keep(&out, 7)
	if a == b || string(a.Letters) != "a" || string(b.Letters) != "b" || *n != 7 {
		t.Fatalf("kept %q, %q and %d", a.Letters, b.Letters, *n)
	}
	out.Reset()
	if c := Make[word](&out); c != a || string(c.Letters) != "a" {
		t.Errorf("the first message after a reset has other memory than the first one before it: %q", c.Letters)
	}
	if allocs := testing.AllocsPerRun(100, func() {
		out.Reset()
		Keep(&out, word{})
		Make[int](&out)
	}); allocs > 0 {
		t.Errorf("%v allocations where memory was there", allocs)
	}
}

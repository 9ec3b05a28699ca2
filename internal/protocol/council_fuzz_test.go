package protocol

import (
	"strings"
	"testing"
)

func FuzzParseCouncilID(f *testing.F) {
	f.Add("c0ffee00c0ffee00c0ffee00c0ffee00")
	f.Add("C0FFEE00C0FFEE00C0FFEE00C0FFEE00")
	f.Add("00000000000000000000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseCouncilID(text); err == nil && (id.String() != strings.ToLower(text) || id == CouncilID{}) {
			t.Fatalf("%q was read as %v", text, id)
		}
	})
}

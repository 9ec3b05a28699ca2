package names

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzCheck looks for names that are taken and that a person cannot read as they are.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"billing", "a\u202eb", "gro\u0308ße", "größe", " x", "\xff", "結"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Check(s) != nil {
			return
		}
		if !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) && unicode.In(r, unicode.C, unicode.Z) }) {
			t.Errorf("%q was taken", s)
		}
	})
}

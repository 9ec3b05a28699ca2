package fence

import "testing"

// FuzzParse looks for stamps that are taken and have another text form: two spellings would be two marks.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"42", "0.42.7:0/1@5,2/1@9", "007", "9007199254740992", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Parse(text); err == nil && s.String() != text {
			t.Fatalf("%q was read as %q", text, s)
		}
	})
}

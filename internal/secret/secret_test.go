package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadTakesTheOneLineBesideComments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for _, c := range []struct{ text, want, fails string }{
		{"# a comment\n\n  word \n# another\n", "word", ""},
		{"word", "word", ""},
		{"# only a comment\n", "", "holds nothing"},
		{"a\nb\n", "", "more than one line"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "chmod o=") {
		t.Errorf("a secret that everybody may read was taken: %v", err)
	}
}

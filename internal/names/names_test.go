package names

import (
	"strings"
	"testing"
)

func TestNamesThatPeopleCanTellApart(t *testing.T) {
	for _, good := range []string{"billing", "one more", "batch/eu-1", "größe", "Đà Nẵng", "деплой", "課金", "결제", "ガス", "हिंदी", "a🙂", ""} {
		if err := Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, c := range []struct{ name, fails string }{
		{"a\x00b", "control"}, {"a\nb", "control"}, {"a\x7f", "control"}, {"\xff", "UTF-8"},
		{"a\u202eb", "bidirectional"}, {"a\u2066b", "bidirectional"}, {"a\u200fb", "bidirectional"}, {"a\u061cb", "bidirectional"}, {"a\u200bb", "zero-width"},
		{"a\ufeffb", "zero-width"}, {"a\u00adb", "no shape"}, {"a\u00a0b", "spaces"}, {"a\u3000b", "spaces"}, {"a\u2028b", "no shape"}, {"a\ue000", "no shape"},
		{"a\U000e0041", "no shape"}, {"a\ufe0f", "no shape"}, {"a\u115fb", "no shape"}, {"a\u3164b", "no shape"},
		{"gro\u0308ße", "composed"}, {"\u212bngstrom", "composed"}, {"\u212aelvin", "composed"}, {"か\u3099", "composed"}, {"\u1100\u1161", "composed"}, {"\uf900", "composed"},
		{" a", "space"}, {"a ", "space"},
	} {
		if err := Check(c.name); err == nil || !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q: %v, want %q", c.name, err, c.fails)
		}
	}
}

package names

import (
	"encoding/json"
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

func TestShowEscapesWhatDoesNotShow(t *testing.T) {
	for text, want := range map[string]string{
		"http://10.0.0.1:80/é 漢":            "http://10.0.0.1:80/é 漢",
		"\x1b]0;title\a\x1b[31mred\r\n\t":   `\x1b]0;title\a\x1b[31mred\r\n\t`,
		"\u009b31m":                         `\u009b31m`,
		"a\u202eb\u2066c\u200d\u2028\u00a0": `a\u202eb\u2066c\u200d\u2028\u00a0`,
		"\xff\x00":                          `\xff\x00`,
		"\ufffd":                            "\ufffd",
		`\x1b`:                              `\\x1b`,
		"\U000e0041\ufe0f":                  `\U000e0041\ufe0f`,
	} {
		if got := Show(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

func TestShownJSONMeansTheSame(t *testing.T) {
	text := "é漢\x1b\x7f\u009b\u202e\u200d\U000e0041\n\"\\"
	plain, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	shown := ShowJSON(plain)
	var got string
	if err := json.Unmarshal(shown, &got); err != nil || got != text {
		t.Errorf("%s is read as %q, %v", shown, got, err)
	}
	if want := `"é漢\u001b\u007f\u009b\u202e\u200d\udb40\udc41\n\"\\"`; string(shown) != want {
		t.Errorf("got %s, want %s", shown, want)
	}
}

func TestTheNearestNameIsFewChangesAway(t *testing.T) {
	all := []string{"billing", "host1", "host-two", "x"}
	for got, want := range map[string]string{"biling": "billing", "host_two": "host-two", "hots1": "host1", "bill": "billing", "search": "", "y": "", "": ""} {
		if near := Nearest(got, all); near != want {
			t.Errorf("nearest to %q: %q, want %q", got, near, want)
		}
	}
}

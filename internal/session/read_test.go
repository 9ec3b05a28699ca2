package session

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLinesAreBoundedAndWhole(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	r := NewReader(strings.NewReader("a\r\n\n"+long+"\nrest"), 20_000)
	for _, want := range []string{"a", "", long} {
		if got, err := r.Line(); err != nil || string(got) != want {
			t.Fatalf("got %.20q, %v; want %.20q", got, err, want)
		}
	}
	if got, err := r.Line(); !errors.Is(err, io.EOF) {
		t.Errorf("a line that breaks off was read as %q, %v", got, err)
	}
	r = NewReader(strings.NewReader(long+"\n"), 9_999)
	if _, err := r.Line(); !errors.Is(err, ErrLong) {
		t.Errorf("a line over the limit: %v", err)
	}
}

// requestTexts are lines, and what is wrong with them; empty: nothing.
var requestTexts = map[string]string{
	`{"do":"campaign","id":1,"group":"g"}`:                                                            "",
	`{"do":"bye"}`:                                                                                    "",
	`{"do":"campaign","id":1,"group":"g","mode":"local"}`:                                             "",
	`{"do":"campaign","id":1,"group":"g","mode":"eventual"}`:                                          "",
	`{"do":"campaign","id":1,"group":"g","mode":"consistent"}`:                                        "",
	`{"do":"campaign","id":1,"group":"g","mode":"majority"}`:                                          "must be quorum, local, eventual or consistent",
	`{"do":"campaign","id":1,"group":"g","mode":"consistent","tree":{"mark":"012345678","runner":2}}`: "a member must report what it has recovered",
	`{"do":"recovered","id":2,"of":1,"token":7,"number":3}`:                                           "",
	`{"do":"recovered","id":2,"token":7,"number":3}`:                                                  "without of",
	`{"do":"hello"}`: "",
	`{"do":"transfer","id":1,"of":2,"to":"b"}`: "",
	``:                                      "EOF",
	`{`:                                     "unexpected",
	`[]`:                                    "array",
	`{"do":"dance","id":1}`:                 `no such request: "dance"`,
	`{"do":"campaign","group":"g"}`:         "without an id",
	`{"do":"campaign","id":1}`:              "must have 1 to 255",
	`{"do":"campaign","id":-1,"group":"g"}`: "cannot unmarshal",
	`{"do":"campaign","id":1,"group":"g","grop":"h"}`:                                      `unknown field "grop"`,
	`{"do":"campaign","id":1,"group":"g"} {}`:                                              "something follows",
	`{"do":"campaign","id":1,"group":"g","heartbeat_ns":5}`:                                "must be at least 10ms",
	`{"do":"campaign","id":1,"group":"g","grace_ns":-5}`:                                   "negative",
	`{"do":"campaign","id":1,"group":"g","guard_ns":-5}`:                                   "negative",
	`{"do":"campaign","id":1,"group":"g","tree":{"mark":"x","runner":9}}`:                  "a mark of 8 to 64 bytes",
	`{"do":"campaign","id":1,"group":"g","tree":{"mark":"01234567","runner":1}}`:           "and a runner",
	`{"do":"campaign","id":1,"group":"g","tree":{"mark":"01234567","runner":99}}`:          "",
	`{"do":"resign","id":1}`:                                                               "which candidacy",
	`{"do":"transfer","id":1,"of":1}`:                                                      "name a member",
	`{"do":"view","id":1,"group":"` + long(256) + `"}`:                                     "must have 1 to 255",
	`{"do":"view","id":1,"group":"g","name":"` + long(65) + `"}`:                           "more than 64",
	`{"do":"freeze","id":1,"of":1,"cause":{"why":"resigned","member":"` + long(65) + `"}}`: "more than 64",
	`{"do":"keep","id":1,"keeper":"short"}`:                                                "a secret of",
	`{"do":"keep","id":1,"keeper":"012345678"}`:                                            "",
	`{"do":"started","id":1,"of":1,"first":1}`:                                             "must be a process",
	`{"do":"campaign","id":1,"group":"g","page":true}`:                                     "page without a heartbeat",
	`{"do":"alive"}`: "",
	`{"do":"campaign","id":1,"group":"g\u202e"}`:            "its name",
	`{"do":"campaign","id":1,"group":"g","name":"n\u202e"}`: "the program's name",
}

func TestRequestsThatMakeNoSenseAreRefusedWithTheReason(t *testing.T) {
	for text, want := range requestTexts {
		_, err := Decode([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// FuzzDecode looks for lines that make the decoder crash, or that it takes and would not take again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"do":"campaign","id":1,"group":"g","name":"n","heartbeat_ns":20000000,"grace_ns":1}`))
	f.Add([]byte(`{"do":"transfer","id":1,"of":2,"to":"b"}`))
	f.Add([]byte(`{"DO":"bye","id":18446744073709551615}`))
	for _, text := range slices.Sorted(maps.Keys(requestTexts)) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := Decode(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Decode(again); err != nil || !reflect.DeepEqual(s, r) {
			t.Errorf("%s was read as %+v, and %s as %+v, %v", line, r, again, s, err)
		}
	})
}

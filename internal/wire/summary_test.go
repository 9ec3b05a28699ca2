package wire

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSummaryDigestDependsOnEveryField(t *testing.T) {
	base := summaryOf("a")
	if base.Digest() != summaryOf("b").Digest() {
		t.Error("the digest depends on whose summary it is")
	}
	seen := map[Digest]string{base.Digest(): "the same"}
	for name, s := range map[string]*Summary{
		"another value":  NewSummary("a").Set("members", "a b c").Set("quorum", "3 of 3").Set("rho", "0.001"),
		"another order":  NewSummary("a").Set("quorum", "2 of 3").Set("members", "a b c").Set("rho", "0.001"),
		"one less":       NewSummary("a").Set("members", "a b c").Set("quorum", "2 of 3"),
		"shifted bounds": NewSummary("a").Set("members", "a b cquorum").Set("", "2 of 3").Set("rho", "0.001"),
	} {
		if other, ok := seen[s.Digest()]; ok {
			t.Errorf("%s: digest of %s", name, other)
		}
		seen[s.Digest()] = name
	}
	if base.Digest("members", "quorum") != NewSummary("").Set("members", "a b c").Set("quorum", "2 of 3").Digest() {
		t.Error("a digest of some fields is not that of a summary with only these")
	}
}

func TestDiffNamesFields(t *testing.T) {
	mine := NewSummary("a").Set("members", "a b c").Set("rho", "0.001").Set("mode", "quorum")
	theirs := NewSummary("b").Set("rho", "0.01").Set("members", "a b c").Set("promise", "2s")
	want := []Difference{{"rho", "0.001", "0.01"}, {"mode", "quorum", "(none)"}, {"promise", "(none)", "2s"}}
	if got := mine.Diff(theirs); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if s := want[0].String(); s != "rho: 0.001 here, 0.01 there" {
		t.Error(s)
	}
	if got := mine.Diff(mine); len(got) != 0 {
		t.Errorf("differs from itself in %v", got)
	}
}

// A value that is too long for a packet is cut, and still compared as a whole.
func TestLongValuesAreCutButCompared(t *testing.T) {
	long := strings.Repeat("älter ", 100)
	b, err := NewSummary("a").Set("members", long+"x").encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeSummary(b)
	if err != nil {
		t.Fatal(err)
	}
	v := got.Fields[0].Value
	if len(v) > maxValue || !utf8.ValidString(v) || !strings.HasSuffix(v, "…") || !strings.HasPrefix(long, strings.TrimSuffix(v, "…")) {
		t.Errorf("cut to %q", v)
	}
	if diff := NewSummary("b").Set("members", long+"x").Diff(got); len(diff) != 0 {
		t.Errorf("differs from itself in %v", diff)
	}
	if diff := NewSummary("b").Set("members", long+"y").Diff(got); len(diff) != 1 {
		t.Errorf("differences %v", diff)
	}
}

func TestSummariesHaveLimits(t *testing.T) {
	many := NewSummary("a")
	for i := range maxFields + 1 {
		many.Set(strings.Repeat("x", i+1), "")
	}
	wide := NewSummary("a")
	for i := range maxFields {
		wide.Set(strings.Repeat("x", i+1), strings.Repeat("v", maxValue))
	}
	for name, s := range map[string]*Summary{
		"no fields":     NewSummary("a"),
		"many fields":   many,
		"wide fields":   wide,
		"a long member": NewSummary(strings.Repeat("a", 65)).Set("x", ""),
		"a long name":   NewSummary("a").Set(strings.Repeat("x", 17), ""),
		"no name":       NewSummary("a").Set("", "x"),
		"a double":      NewSummary("a").Set("x", "1").Set("x", "2"),
	} {
		if b, err := s.encode(); err == nil {
			t.Errorf("%s: encoded to %d bytes", name, len(b))
		}
	}
	uncut := Summary{Member: "a", Fields: []Field{{Name: "x", Value: strings.Repeat("v", maxValue+1)}}}
	b, err := encMode.Marshal(&uncut)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeSummary(b); err == nil {
		t.Error("a value beyond the limit was taken")
	}
	if _, err := decodeSummary(make([]byte, maxSummary+1)); err == nil {
		t.Error("a summary beyond the limit was taken")
	}
}

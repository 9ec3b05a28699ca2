package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `# a comment
Breaks: two and two
  make five
Caught-by: Sum
Test: go test ./...

File: sum.go
--- find
	return a + b
--- replace
	return a + b + 1
--- end
`

func TestParseReadsHeadersAndPassages(t *testing.T) {
	m, err := Parse(good + "File: dir/other.go\n--- find\na\nb\n--- replace\n--- end\n--- find\nc\n--- replace\nd\n--- end\n")
	if err != nil {
		t.Fatal(err)
	}
	if m.Breaks != "two and two make five" || m.CaughtBy != "Sum" || m.Test != "go test ./..." {
		t.Errorf("headers: %+v", m)
	}
	want := []Edit{{"sum.go", "\treturn a + b\n", "\treturn a + b + 1\n"}, {"dir/other.go", "a\nb\n", ""}, {"dir/other.go", "c\n", "d\n"}}
	if len(m.Edits) != len(want) {
		t.Fatalf("edits: %+v", m.Edits)
	}
	for i := range want {
		if m.Edits[i] != want[i] {
			t.Errorf("edit %d: %+v, want %+v", i, m.Edits[i], want[i])
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no breaks":         {"Breaks: two and two\n  make five\n", "", "no Breaks"},
		"no invariant":      {"Caught-by: Sum\n", "", "no Caught-by"},
		"no test":           {"Test: go test ./...\n", "", "no Test"},
		"no file":           {"File: sum.go\n", "", "line 7: no File before --- find"},
		"no passage":        {good[strings.Index(good, "--- find"):], "", "no passage between"},
		"empty passage":     {"\treturn a + b\n--- replace", "\n--- replace", "is empty"},
		"changes nothing":   {" + 1", "", "replaced by itself"},
		"not closed":        {"--- end\n", "", "not closed"},
		"no replace":        {"--- replace\n", "", `"--- end" is out of place`},
		"unknown header":    {"Caught-by:", "Cought-by:", `unknown header "Cought-by"`},
		"twice":             {"Caught-by: Sum", "Caught-by: Sum\nCaught-by: Sum", "a second Caught-by"},
		"stray indentation": {"# a comment\n", "  x\n", "continues a header"},
		"test code":         {"File: sum.go", "File: sum_test.go", "belongs to the tests"},
		"testdata":          {"File: sum.go", "File: testdata/sum.go", "belongs to the tests"},
		"outside":           {"File: sum.go", "File: ../sum.go", "want a path from the root"},
		"absolute":          {"File: sum.go", "File: /sum.go", "want a path from the root"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: nothing to replace", name)
		}
		_, err := Parse(strings.Replace(good, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestApplyDemandsExactlyOnePassage(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f.go", "one\ntwo\n\ttwo\nthree\nthree\n")
	for _, c := range []struct {
		name  string
		edits []Edit
		want  string // of the file; "!..." of the error
	}{
		{"first line", []Edit{{"f.go", "one\n", "1\n"}}, "1\ntwo\n\ttwo\nthree\nthree\n"},
		{"whole lines only", []Edit{{"f.go", "two\n", "2\n"}}, "one\n2\n\ttwo\nthree\nthree\n"},
		{"removal", []Edit{{"f.go", "two\n\ttwo\n", ""}}, "one\nthree\nthree\n"},
		{"one after the other", []Edit{{"f.go", "one\n", "1\n"}, {"f.go", "1\ntwo\n", "2\n"}}, "2\n\ttwo\nthree\nthree\n"},
		{"absent", []Edit{{"f.go", "four\n", "4\n"}}, "!has no passage\nfour"},
		{"part of a line", []Edit{{"f.go", "ne\n", "4\n"}}, "!has no passage"},
		{"overlapping", []Edit{{"f.go", "three\nthree\n", "3\n"}}, "one\ntwo\n\ttwo\n3\n"},
		{"ambiguous", []Edit{{"f.go", "three\n", "3\n"}}, "!has 2 passages"},
		{"no such file", []Edit{{"g.go", "x\n", "y\n"}}, "!g.go"},
	} {
		got, err := (&Mutant{Edits: c.edits}).Apply(root)
		if want, wrong := strings.CutPrefix(c.want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "does not apply") {
				t.Errorf("%s: got %v, want %q", c.name, err, want)
			}
		} else if err != nil || got["f.go"] != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got["f.go"], err, c.want)
		}
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

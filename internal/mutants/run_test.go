package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module makes a small module with a function, its test, and a program that checks it too.
func module(t *testing.T, mutants map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "go.mod", "module example.org/m\n\ngo 1.24\n")
	write(t, root, "sum/sum.go", "package sum\n\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n\nfunc Twice(a int) int {\n\treturn 2 * a\n}\n")
	write(t, root, "sum/sum_test.go", `package sum

import "testing"

func TestSum(t *testing.T) {
	if got := Sum(2, 2); got != 4 {
		t.Errorf("invariant N-SUM+: got %d", got)
	}
	if Sum(0, 0) > 100 {
		panic("far off")
	}
}

func TestNothing(t *testing.T) {}
`)
	write(t, root, "cmd/main.go", "package main\n\nimport (\n\t\"os\"\n\n\t\"example.org/m/sum\"\n)\n\nfunc main() {\n\tif sum.Twice(2) != 4 {\n\t\tprintln(\"violated: N-TWICE\")\n\t\tos.Exit(1)\n\t}\n}\n")
	for name, text := range mutants {
		write(t, root, "mutants/"+name, text)
	}
	return root
}

func mutant(by, test, find, replace string) string {
	return "Breaks: arithmetic\nCaught-by: " + by + "\nTest: " + test + "\nFile: sum/sum.go\n--- find\n" + find + "\n--- replace\n" + replace + "\n--- end\n"
}

const (
	sums    = "go test ./sum -run '^TestSum$'"
	nothing = "go test ./sum -run '^TestNothing$'"
)

// play runs the command and returns its exit code, output and progress.
func play(t *testing.T, root string, args ...string) (int, string, string) {
	t.Helper()
	var out, progress bytes.Buffer
	code := run(t.Context(), root, args, &out, &progress)
	return code, out.String(), progress.String()
}

// row finds the line of the table about a mutant, with its white space made single.
func row(t *testing.T, out, name string) string {
	t.Helper()
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == name {
			return strings.Join(f[:len(f)-1], " ")
		}
	}
	t.Fatalf("no line about %s in\n%s", name, out)
	return ""
}

func TestEveryOutcome(t *testing.T) {
	root := module(t, map[string]string{
		"sum/caught.mutant":     mutant("N-SUM+", sums, "\treturn a + b", "\treturn a + b + 1"),
		"sum/by-a-run.mutant":   mutant("N-TWICE", "go run ./cmd", "\treturn 2 * a", "\treturn 3 * a"),
		"sum/survives.mutant":   mutant("N-SUM+", nothing, "\treturn a + b", "\treturn a - b"),
		"sum/prefix.mutant":     mutant("N-SUM", sums, "\treturn a + b", "\treturn a - b"),
		"sum/other.mutant":      mutant("N-EO", sums, "\treturn a + b", "\treturn a - b"),
		"sum/stale.mutant":      mutant("N-SUM+", sums, "\treturn a + c", "\treturn a - c"),
		"sum/garbage.mutant":    mutant("N-SUM+", sums, "\treturn a + b", "\treturn a +"),
		"sum/type.mutant":       mutant("N-SUM+", sums, "func Sum(a, b int) int {", "func Sum(a, b int) (n string) {"),
		"sum/signature.mutant":  mutant("N-SUM+", sums, "func Sum(a, b int) int {", "func Sum(a, b, c int) int {"),
		"sum/run-build.mutant":  mutant("N-TWICE", "go run ./cmd", "func Twice(a int) int {", "func Thrice(a int) int {"),
		"sum/plain-bad.mutant":  mutant("N-SUM+", "go test ./sum -run TestSum -nosuchflag", "\treturn a + b", "\treturn a - b"),
		"sum/vet.mutant":        mutant("N-SUM+", sums, "\treturn a + b", "\ta = a\n\treturn a - b"),
		"sum/bystander.mutant":  mutant("TestSum", sums, "\treturn a + b", "\treturn a * b * 2"),
		"sum/panics.mutant":     mutant("N-EO", sums, "\treturn a + b", "\treturn a + b + 1000"),
		"sum/two-files.mutant":  mutant("N-SUM+", sums, "\treturn a + b", "\treturn a + b - 1") + "File: cmd/main.go\n--- find\n\t\tos.Exit(1)\n--- replace\n\t\tos.Exit(3)\n--- end\n",
		"sum/unknown-pk.mutant": mutant("N-SUM+", "go test ./nosuch", "\treturn a + b", "\treturn a - b"),
	})
	before, err := os.ReadFile(filepath.Join(root, "sum/sum.go"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, progress := play(t, root)
	if code != someSurvived {
		t.Errorf("exit code %d", code)
	}
	for name, want := range map[string]string{
		"caught":     "N-SUM+ N-SUM+",
		"by-a-run":   "N-TWICE N-TWICE",
		"survives":   "N-SUM+ SURVIVED",
		"prefix":     "N-SUM MISSED N-SUM+, TestSum",
		"other":      "N-EO MISSED N-SUM+, TestSum",
		"stale":      "N-SUM+ ERROR",
		"garbage":    "N-SUM+ ERROR",
		"type":       "N-SUM+ ERROR",
		"signature":  "N-SUM+ ERROR",
		"run-build":  "N-TWICE ERROR",
		"plain-bad":  "N-SUM+ ERROR",
		"vet":        "N-SUM+ N-SUM+",
		"panics":     "N-EO MISSED N-SUM+, TestSum",
		"two-files":  "N-SUM+ N-SUM+",
		"unknown-pk": "N-SUM+ ERROR",
	} {
		if got := row(t, out, name); got != "sum "+name+" "+want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{
		"sum/stale: ERROR: does not apply: sum/sum.go has no passage",
		"sum/garbage: ERROR: does not compile",
		"sum/signature: ERROR: does not compile",
		"sum/run-build: ERROR: does not compile",
		"sum/plain-bad: ERROR: fails without the mutant",
		"sum/other: MISSED: fails, but its output does not name N-EO",
		"try it alone: make mutants MUTANTS=sum/survives",
		"5 of 16 mutants caught",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if !strings.Contains(progress, "[16/16] ") {
		t.Errorf("the progress does not reach the end:\n%s", progress)
	}
	after, err := os.ReadFile(filepath.Join(root, "sum/sum.go"))
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the tree was changed")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestAllCaughtIsSuccess(t *testing.T) {
	root := module(t, map[string]string{"sum/caught.mutant": mutant("N-SUM+", sums, "\treturn a + b", "\treturn a + b + 1")})
	if code, out, _ := play(t, root); code != allCaught || !strings.Contains(out, "1 of 1 mutants caught") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestEndlessMutantIsStopped(t *testing.T) {
	root := module(t, map[string]string{"sum/endless.mutant": mutant("N-SUM+", sums, "\treturn a + b", "\tfor {\n\t}")})
	all, err := ReadAll(root)
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(root, time.Minute, nil)
	defer r.close()
	if err := r.passesPlain(t.Context(), sums); err != nil {
		t.Fatal(err)
	}
	r.timeout = 4 * time.Second
	got := r.runAll(t.Context(), all, 1, io.Discard)[0]
	if got.Outcome != Broken || !strings.Contains(got.Detail, "stopped after 4s") || strings.Contains(got.Detail, "without the mutant") {
		t.Errorf("%s: %s", got.Outcome, got.Detail)
	}
}

func TestFiltersAndQuick(t *testing.T) {
	root := module(t, map[string]string{
		"a/one.mutant": mutant("N-SUM+", sums, "\treturn a + b", "\treturn a + b + 1"),
		"a/two.mutant": mutant("N-SUM+", sums, "\treturn a + b", "\treturn a + b + 2"),
		"b/one.mutant": mutant("N-TWICE", sums, "\treturn a + b", "\treturn a + b + 3"),
		"b/two.mutant": mutant("TestSum", sums, "\treturn a + b", "\treturn a + b + 4"),
	})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a"}, "a/one a/two"},
		{[]string{"mutants/a/"}, "a/one a/two"},
		{[]string{"a/two"}, "a/two"},
		{[]string{"mutants/b/one.mutant", "a/one"}, "a/one b/one"},
		{[]string{"--quick"}, "a/one b/one"},
		{nil, "a/one a/two b/one b/two"},
	} {
		all, err := ReadAll(root)
		if err != nil {
			t.Fatal(err)
		}
		quick := len(c.args) > 0 && c.args[0] == "--quick"
		filters := c.args
		if quick {
			filters = nil
		}
		chosen, err := choose(all, filters, quick)
		var got []string
		for _, m := range chosen {
			got = append(got, m.String())
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%v: got %v, %v, want %s", c.args, got, err, c.want)
		}
	}
}

func TestQuickNoticesThatAnotherMutantNoLongerApplies(t *testing.T) {
	root := module(t, map[string]string{
		"sum/a.mutant": mutant("N-SUM+", sums, "\treturn a + b", "\treturn a + b + 1"),
		"sum/b.mutant": mutant("N-SUM+", sums, "\treturn a + c", "\treturn a"),
		"sum/c.mutant": mutant("N-SUM+", nothing, "\treturn a + b", "\treturn a"),
	})
	code, out, _ := play(t, root, "--quick")
	if code != someSurvived || !strings.Contains(out, "sum/b: ERROR: does not apply") || !strings.Contains(out, "1 of 2 mutants caught") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestBadUsage(t *testing.T) {
	root := module(t, map[string]string{"sum/a.mutant": mutant("N-SUM+", sums, "\treturn a + b", "\treturn a")})
	unreadable := module(t, map[string]string{"sum/a.mutant": "Breaks: nothing\n"})
	for _, c := range []struct {
		root string
		args []string
		want string
	}{
		{root, []string{"sum/nosuch"}, "no mutant is called sum/nosuch"},
		{root, []string{"-j", "0"}, "must be at least 1"},
		{root, []string{"--nosuch"}, "flag provided but not defined"},
		{t.TempDir(), nil, "no mutants in"},
		{unreadable, nil, "no Caught-by"},
	} {
		if code, _, progress := play(t, c.root, c.args...); code != badUsage || !strings.Contains(progress, c.want) {
			t.Errorf("%v: exit code %d, %q, want %q", c.args, code, progress, c.want)
		}
	}
}

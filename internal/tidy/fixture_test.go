package tidy

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fixtures loads the packages of testdata once.
var fixtures = sync.OnceValues(func() (map[string]*Package, error) {
	packages, err := Load(".", "./testdata/impure", "./testdata/pure", "./testdata/constrained", "./testdata/drift",
		"./testdata/docless", "./testdata/twodocs", "./testdata/misnamed", "./testdata/tests", "./testdata/upward",
		"./testdata/long", "./testdata/program", "./testdata/unsaid", "./testdata/header", "./testdata/timers", "./testdata/waits", "./testdata/shapes")
	byName := map[string]*Package{}
	for _, p := range packages {
		byName[path.Base(p.Rel)] = p
	}
	return byName, err
})

func fixture(t *testing.T, name string) *Package {
	t.Helper()
	packages, err := fixtures()
	if err != nil {
		t.Fatal(err)
	}
	if packages[name] == nil {
		t.Fatalf("no fixture %s", name)
	}
	return packages[name]
}

// wanted finds what a line of a fixture says must be found on it, or below it.
var wanted = regexp.MustCompile(`want(-below)? "([^"]+)"`)

// asWanted compares what a rule found in a package with what the package's own comments announce.
func asWanted(t *testing.T, p *Package, found []Problem) {
	t.Helper()
	want := map[string][]string{} // file:line -> what its problems must say
	for _, f := range p.Files {
		n := 0
		for line := range strings.Lines(string(f.Src)) {
			n++
			for _, m := range wanted.FindAllStringSubmatch(line, -1) {
				at := fmt.Sprintf("%s:%d", f.Path, n+min(len(m[1]), 1))
				want[at] = append(want[at], m[2])
			}
		}
	}
	if len(want) == 0 {
		t.Fatalf("%s announces nothing", p.Rel)
	}
	for _, problem := range found {
		at := fmt.Sprintf("%s:%d", problem.File, problem.Line)
		i := slices.IndexFunc(want[at], func(w string) bool { return strings.Contains(problem.Text, w) })
		if i < 0 {
			t.Errorf("found, but not announced: %v", problem)
			continue
		}
		want[at] = slices.Delete(want[at], i, i+1)
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		for _, w := range want[at] {
			t.Errorf("%s: announced, but not found: %q", at, w)
		}
	}
}

func TestPurityFindsEveryWayOut(t *testing.T) {
	p := fixture(t, "impure")
	asWanted(t, p, impurities(p))
}

func TestShapesFindsFurtherTypesOfTakenNames(t *testing.T) {
	p := *fixture(t, "shapes")
	asWanted(t, &p, Shapes(&p))
	p.Rel = "."
	if found := Shapes(&p); len(found) > 0 {
		t.Errorf("in the package that has them: %v", found)
	}
}

func TestPurityLeavesPureCodeAlone(t *testing.T) {
	if found := impurities(fixture(t, "pure")); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestPurityLooksOnlyAtPureCode(t *testing.T) {
	p := *fixture(t, "impure")
	for rel, pure := range map[string]bool{"internal/protocol": true, "internal/protocol/rank": true, "internal/datagram": true,
		"internal/stamp": true, "internal/stamp/x": true, "internal/runtime": false, ".": false, "internal/protocolish": false} {
		p.Rel = rel
		if got := len(Purity(&p)) > 0; got != pure {
			t.Errorf("%s is held to purity: %v", rel, got)
		}
	}
}

func TestPurityRefusesFilesThatItCannotSee(t *testing.T) {
	found := impurities(fixture(t, "constrained"))
	if len(found) != 1 || !strings.HasSuffix(found[0].File, "constrained/plan9.go") {
		t.Errorf("found %v", found)
	}
}

func TestOnlyThePublishedLeaseUsesAtomics(t *testing.T) {
	p := *fixture(t, "impure")
	for rel, refused := range map[string]bool{"internal/stamp": false, "internal/stamp/x": true, "internal/protocol": true} {
		p.Rel = rel
		found := slices.ContainsFunc(Purity(&p), func(f Problem) bool { return strings.Contains(f.Text, "imports sync/atomic") })
		if found != refused {
			t.Errorf("%s: atomics refused: %v", rel, found)
		}
	}
}

func TestDriftFindsHomeMadeArithmetic(t *testing.T) {
	p := fixture(t, "drift")
	asWanted(t, p, drifts(p))
	free := *p
	free.Rel = "sim"
	if found := Drift(&free); len(found) > 0 {
		t.Errorf("the simulator may set the rate of a clock: %v", found)
	}
}

func TestTestsThatSleepOrSkipAreFound(t *testing.T) {
	p := fixture(t, "tests")
	asWanted(t, p, Tests(p))
}

func TestLayersRefuseWhatTheyMustNotKnow(t *testing.T) {
	p := *fixture(t, "upward") // imports fmt, rapid, internal/protocol and internal/stamp
	for rel, want := range map[string][]string{
		"internal/stamp":         {"rapid", "internal/protocol of the layer"},
		"fence":                  {"rapid", "internal/protocol of the layer"},
		"internal/protocol":      {"rapid"},
		"internal/protocol/rank": {"rapid"},
		"sim/check":              {"rapid"},
		"internal/runtime":       {"rapid"},
		"examples/jobs":          {"rapid", "internal/protocol of the layer", "internal/stamp of the layer"},
		"internal/tidy":          {"rapid", "internal/protocol of the layer", "internal/stamp of the layer"},
		"internal/nowhere":       {"belongs to no layer"},
	} {
		p.Rel = rel
		found := Layers([]*Package{&p})
		if len(found) != len(want) {
			t.Errorf("%s: found %v, want %q", rel, found, want)
			continue
		}
		for _, w := range want {
			if !slices.ContainsFunc(found, func(f Problem) bool { return strings.Contains(f.Text, w) }) {
				t.Errorf("%s: found %v, want %q", rel, found, w)
			}
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	const tree = "example.org/m"
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"cmd/regent", ".", true},
		{"cmd/regent", "sim/script", false},
		{"cmd/regent", "agent/cli", true},
		{"agent", "agent/cli", false},
		{"agent", "agent/cluster", false},
		{"agent", "internal/transport", false},
		{"agent/demo", "agent/cluster", true},
		{"agent/demo", "agent", false},
		{"sim/cmd/regent-sim", "agent/cli", true},
		{"sim/cmd/regent-sim", "agent", false},
		{"sim/replay", "agent/web", true},
		{"sim/check", "agent/web", false},
		{"bench/quick", "agent/cluster", true},
		{"bench/quick", "sim", false},
		{".", "sim", false},
		{".", "internal/transport/relay", false},
		{"internal/runtime", "internal/transport/memory", false},
		{"agent/demo", "internal/transport/relay", true},
		{".", "bench/quick", false},
		{".", "cmd/regent", false},
		{".", "internal/runtime", true},
		{"internal/runtime", ".", false},
		{"agent/web", ".", true},
		{".", "agent", false},
		{"internal/runtime", "sim", false},
		{"sim", "internal/runtime", false},
		{"sim", "internal/wire", true},
		{"sim", "internal/transport", false},
		{"sim/suite", "internal/protocol/rank", true},
		{"internal/protocol/stack", "internal/protocol/nerio", true},
		{"internal/protocol", "internal/protocol/nerio", false},
		{"internal/protocol/nerio", "internal/datagram", false},
		{"internal/datagram", "internal/protocol", true},
		{"internal/protocol", "internal/stamp", true},
		{"internal/stamp", "internal/protocol", false},
		{"fence", "internal/runtime", false},
		{"sim/lab", "sim/check", true},
		{"sim", "sim/lab", false},
		{"examples/jobs", "fence", true},
		{"examples/jobs", "internal/stamp", false},
		{"internal/protocol/rank", "internal/unheard", false},
	} {
		path := tree + "/" + c.to
		if c.to == "." {
			path = tree
		}
		if why := layerOf(c.from).refuses(tree, path); (why == "") != c.allowed {
			t.Errorf("%s imports %s: %q", c.from, c.to, why)
		}
	}
}

func TestModulesKnowOnlyWhatTheyMay(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{".", "internal/runtime", true},
		{".", "agent", false},
		{"internal/protocol/ring", "sim/check", false},
		{"fence", "bench/quick", false},
		{"agent/web", "sim/replay", false},
		{"agent", "internal/clock", true},
		{"sim/check", "internal/stamp", true},
		{"sim/replay", "agent/web", true},
		{"bench/quick", "internal/runtime", true},
		{"cmd/regent", "sim", false},
		{"examples/jobs", "fence", true},
		{"examples/jobs", "agent/cluster", true},
		{"examples/jobs", "internal/stamp", false},
		{"examples/jobs", "sim", false},
		{"internal/tools/release", ".", false},
	} {
		if why := moduleOf(c.from).refuses(c.to); (why == "") != c.allowed {
			t.Errorf("%s imports %s: %q", c.from, c.to, why)
		}
	}
	p := *fixture(t, "upward") // imports internal/protocol and internal/stamp
	for rel, want := range map[string]int{"examples/jobs": 2, "internal/tools/x": 2, "sim": 0} {
		p.Rel = rel
		if found := Modules(&p); len(found) != want {
			t.Errorf("%s: found %v, want %d", rel, found, want)
		}
	}
}

func TestRequirementsWithoutNeedAreFound(t *testing.T) {
	root := t.TempDir()
	gomod := "module example.org/m/x\n\nrequire example.org/m v0.0.0-test\nrequire example.org/a v1.0.0\nrequire example.org/b v1.0.0\n" +
		"require example.org/c v1.0.0 // indirect\nreplace example.org/m => ../\n"
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte(gomod), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := Requirements(root, "example.org/m", module{dir: ".", needs: []string{"example.org/a"}})
	if err != nil || len(found) != 2 || !strings.Contains(found[0].Text, "requires example.org/b") || !strings.Contains(found[1].Text, "replaces example.org/m") {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestSideEffectsInHeadersAreFound(t *testing.T) {
	p := fixture(t, "header")
	asWanted(t, p, Headers(p))
	const key = "header internal/tidy/testdata/header/header.go"
	for list, want := range map[string]string{"": "l.void", key + " 5": "l.void", key + " 6": "", key + " 7": "has 6 left: lower its entry from 7",
		key + " 6\nheader x.go 1": "header x.go is within its budget"} {
		found := Budgets([]*Package{p}, "budget.txt", []byte(list))
		if (len(found) == 0) != (want == "") || want != "" && !strings.Contains(found[0].Text, want) {
			t.Errorf("%q: found %v, want %q", list, found, want)
		}
	}
}

func TestBudgetIsARatchet(t *testing.T) {
	p := fixture(t, "long")
	const file, fn = "file internal/tidy/testdata/long/long.go", "func internal/tidy/testdata/long/long.go list.over"
	for _, c := range []struct {
		name, list string
		want       []string
	}{
		{"no exceptions", "", []string{file + ": 501 lines, over the budget of 500", fn + ": 72 lines, over the budget of 70"}},
		{"exact", file + " 501\n\n# a comment\n" + fn + " 72\n", nil},
		{"it grew", file + " 500\n" + fn + " 71\n", []string{"it had 500", "it had 71"}},
		{"it shrank", file + " 510\n" + fn + " 72\n", []string{"shrank to 501 lines: lower its entry from 510"}},
		{"it is gone", file + " 501\n" + fn + " 72\nfunc x.go gone 99\n", []string{"func x.go gone is within its budget, or gone"}},
		{"twice", file + " 501\n" + fn + " 72\n" + fn + " 72\n", []string{"listed twice"}},
		{"nonsense", file + " 501\n" + fn + " 72\nfile x.go\n", []string{"want \"file PATH LINES\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Budgets([]*Package{p}, "budget.txt", []byte(c.list))
			if len(found) != len(c.want) {
				t.Fatalf("found %v, want %q", found, c.want)
			}
			for _, w := range c.want {
				if !slices.ContainsFunc(found, func(f Problem) bool { return strings.Contains(f.Text, w) }) {
					t.Errorf("found %v, want %q", found, w)
				}
			}
		})
	}
}

func TestPackageDocsAreFound(t *testing.T) {
	for name, want := range map[string]string{
		"docless": "has no package doc", "twodocs": "has a second package doc", "misnamed": "does not begin with", "pure": "",
		"unsaid": `does not begin with "unsaid"`, "program": "",
	} {
		found := PackageDoc(fixture(t, name))
		if want == "" && len(found) == 0 {
			continue
		}
		if len(found) != 1 || want == "" || !strings.Contains(found[0].Text, want) {
			t.Errorf("%s: found %v, want %q", name, found, want)
		}
	}
}

func TestExportedNamesAreCounted(t *testing.T) {
	p := fixture(t, "pure") // Machine, New
	if found := ExportedNames(p, 2); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if found := ExportedNames(p, 1); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

func TestMachinePathsAreFound(t *testing.T) {
	bad := []string{"/wo" + "rk/main/x", "see (/wo" + "rk/a)", `"/ro` + `ot/go"`, "cd /tmp/ba" + "sh_jobs", "/ho" + "me/ann/src", "x=/ro" + "ot/.cache"}
	for _, line := range bad {
		if found := MachinePaths("f", []byte("fine\n"+line+"\n")); len(found) != 1 || found[0].Line != 2 {
			t.Errorf("%q: found %v", line, found)
		}
	}
	for _, line := range []string{"docs/work/plan", "https://example.org/wo" + "rk/x", "a/ro" + "ot/b", "/work in progress", "/var/lib/x", "~/work/x"} {
		if found := MachinePaths("f", []byte(line)); len(found) != 0 {
			t.Errorf("%q: found %v", line, found)
		}
	}
	if found := MachinePaths("f", []byte("\x00/ro"+"ot/x")); len(found) != 0 {
		t.Errorf("a binary file: found %v", found)
	}
}

func TestPackageThatDoesNotBuildIsAnError(t *testing.T) {
	if _, err := Load(".", "./testdata/nosuch"); err == nil {
		t.Error("a package that does not exist was loaded")
	}
}

func TestLinksThatLeadNowhereAreFound(t *testing.T) {
	page := "[a](there.md) [b](../top.md#part) [c](#here) [d](https://example.org/x.md)\n" +
		"![picture](gone.svg) and [e](../gone.md)\n```\n[f](code.md)\n```\n[g](/gone/too.md)\n"
	exists := func(file string) bool { return file == "docs/there.md" || file == "top.md" }
	var got []string
	for _, p := range Links("docs/page.md", []byte(page), exists) {
		got = append(got, p.String())
	}
	want := []string{
		"docs/page.md:2: links to docs/gone.svg, which does not exist",
		"docs/page.md:2: links to gone.md, which does not exist",
		"docs/page.md:6: links to docs/gone/too.md, which does not exist",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestTimersOutsideTheAlarmAreFound(t *testing.T) {
	p := fixture(t, "timers")
	asWanted(t, p, timersOutside(p, map[string]string{"alarm.go": "the alarm"}))
	found := timersOutside(p, map[string]string{"alarm.go": "the alarm", "timers.go": "all", "gone.go": "nothing"})
	if len(found) != 1 || !strings.Contains(found[0].Text, "has none") {
		t.Errorf("found %v", found)
	}
	if Timers(p) != nil {
		t.Error("a package that drives no tenure is held to the rule")
	}
}

func TestWaitsOfDriversAreFound(t *testing.T) {
	p := fixture(t, "waits")
	asWanted(t, p, waitsOutside(p, map[string]string{"driver.listed": "passes an event on", "driver.unreasoned": " "}))
	all := map[string]string{"gone": "nothing", "beside": "is in a file that drives nothing"}
	for _, name := range []string{"driver.listed", "driver.unreasoned", "driver.race", "driver.expire", "driver.drain", "driver.look", "driver.decide"} {
		all[name] = "a reason"
	}
	found := waitsOutside(p, all)
	if len(found) != 2 || !strings.Contains(found[0].Text, "beside may wait and does not") || !strings.Contains(found[1].Text, "gone may wait and does not") {
		t.Errorf("found %v", found)
	}
	if found := Waits(p); len(found) != 1 || !strings.Contains(found[0].Text, "list its package") {
		t.Errorf("a package that drives tenures and is not listed: %v", found)
	}
	if Waits(fixture(t, "timers")) != nil {
		t.Error("a package that drives no tenure is held to the rule")
	}
}

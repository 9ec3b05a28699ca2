package tidy

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the top of the tree, seen from this package.
const root = "../.."

// treePath begins the paths of all modules of the tree.
const treePath = "github.com/regentproject/regent"

// tree loads the packages of all modules once: all of them, or those that are not heavy.
var tree = sync.OnceValues(func() ([]*Package, error) {
	if os.Getenv("REGENT_TEST") == "long" {
		return Load(root, treePath+"/...")
	}
	cmd := exec.Command("go", "list", treePath+"/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	light := slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool {
		rel, _ := relative(treePath, path)
		return matchesAny(moduleOf(rel).heavy, rel)
	})
	return Load(root, light...)
})

// Make leaves out the same packages.
func TestMakeKnowsWhatIsHeavy(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var heavy []string
	for _, m := range modules {
		for _, pattern := range m.heavy {
			heavy = append(heavy, "./"+pattern)
		}
	}
	if line := "\nHEAVY := " + strings.Join(heavy, " ") + "\n"; !strings.Contains(string(content), line) {
		t.Errorf("the Makefile does not have the line %q", line)
	}
}

func TestEveryPackageBuilds(t *testing.T) {
	if _, err := tree(); err != nil {
		t.Error(err)
	}
}

// hold applies a rule to every package that builds. About the others TestEveryPackageBuilds complains.
func hold(t *testing.T, rule func(*Package) []Problem) {
	t.Helper()
	packages, _ := tree()
	if len(packages) < 3 {
		t.Fatalf("only %d packages were loaded", len(packages))
	}
	for _, p := range packages {
		report(t, rule(p))
	}
}

func report(t *testing.T, found []Problem) {
	t.Helper()
	for _, p := range found {
		t.Error(p)
	}
}

func TestPureCodeIsPure(t *testing.T)               { hold(t, Purity) }
func TestDriftIsComputedInOnePlace(t *testing.T)    { hold(t, Drift) }
func TestMachinesDecideWhenTenuresEnd(t *testing.T) { hold(t, Timers) }
func TestDriversOfTenuresDoNotWait(t *testing.T)    { hold(t, Waits) }
func TestEveryPackageSaysWhatItIsOnce(t *testing.T) { hold(t, PackageDoc) }
func TestTestsNeitherSleepNorSkip(t *testing.T)     { hold(t, Tests) }
func TestOneFactHasOneShape(t *testing.T)           { hold(t, Shapes) }
func TestModulesRespectOneAnother(t *testing.T)     { hold(t, Modules) }
func TestImportsRespectTheLayers(t *testing.T) {
	hold(t, func(p *Package) []Problem { return Layers([]*Package{p}) })
}

// Every go.mod of the tree is a row of the table, every row is loaded, and requires what it may.
func TestEveryModuleIsHeld(t *testing.T) {
	packages, _ := tree()
	var rows, dirs []string
	for _, m := range modules {
		rows = append(rows, m.dir)
		if !slices.ContainsFunc(packages, func(p *Package) bool { return p.Module == m.dir }) {
			t.Errorf("no package of the module %q was loaded: is it in go.work?", m.dir)
		}
		found, err := Requirements(root, treePath, m)
		if err != nil {
			t.Error(err)
		}
		report(t, found)
	}
	for _, name := range files(t) {
		if filepath.Base(name) == "go.mod" {
			dirs = append(dirs, filepath.ToSlash(filepath.Dir(name)))
		}
	}
	slices.Sort(rows)
	slices.Sort(dirs)
	if !slices.Equal(rows, dirs) {
		t.Errorf("the table in internal/tidy/modules.go has %q, the tree %q", rows, dirs)
	}
	for _, p := range packages {
		if m := moduleOf(p.Rel); m.dir != p.Module {
			t.Errorf("%s belongs to the module %q, and the table says %q", p.Rel, p.Module, m.dir)
		}
	}
}

func TestRootPackageIsSmallEnoughToKnow(t *testing.T) {
	hold(t, func(p *Package) []Problem {
		if p.Rel != "." {
			return nil
		}
		return ExportedNames(p, 40)
	})
}

func TestFilesAndFunctionsAreWithinTheirBudgets(t *testing.T) {
	packages, _ := tree()
	list, err := os.ReadFile("budget.txt")
	if err != nil {
		t.Fatal(err)
	}
	report(t, Budgets(packages, "internal/tidy/budget.txt", list))
}

func TestNoFileNamesAPlaceOnSomebodysMachine(t *testing.T) {
	for _, name := range files(t) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not committed yet
		}
		if err != nil {
			t.Error(err)
			continue
		}
		report(t, MachinePaths(name, content))
	}
}

func TestLinksInTheDocsLeadSomewhere(t *testing.T) {
	pages := 0
	for _, name := range files(t) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || filepath.Ext(name) != ".md" {
			continue
		}
		pages++
		report(t, Links(name, content, func(file string) bool {
			_, err := os.Stat(filepath.Join(root, file))
			return err == nil
		}))
	}
	if pages < 3 {
		t.Errorf("only %d pages were found", pages)
	}
}

func TestArchitectureDocShowsEveryLayer(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if !strings.Contains(string(page), "\n| `"+m.dir+"` |") {
			t.Errorf("docs/architecture.md: no row of the module `%s`", m.dir)
		}
	}
	for _, l := range slices.Concat(column, beside) {
		var row string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| "+l.name+" |") {
				row = line
			}
		}
		for _, pattern := range l.packages {
			if dir := strings.TrimSuffix(pattern, "/..."); !strings.Contains(row, "`"+dir+"`") && !strings.Contains(row, "`"+dir+"/…`") {
				t.Errorf("docs/architecture.md: the row of the layer %q does not show `%s`", l.name, dir)
			}
		}
	}
}

// files lists what is tracked and what could be; outside of a repository, everything.
func files(t *testing.T) []string {
	t.Helper()
	var names []string
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil {
		for name := range bytes.SplitSeq(out, []byte{0}) {
			if len(name) > 0 {
				names = append(names, string(name))
			}
		}
	} else {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names = append(names, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 10 {
		t.Fatalf("only %d files were found", len(names))
	}
	return names
}

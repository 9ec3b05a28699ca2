package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A promise is what a page says about programs, runners, keepers, hooks, deadlines, releases, kills, causes and restarts. One of held fails
// if it is broken: a test, or a mutant (DIR/NAME), whose file names the test or the checker.
type promise struct {
	quote string
	held  []string
}

// promises has the promises of each page.
var promises = map[string][]promise{
	"docs/agent.md":      agentPromises,
	"docs/operations.md": operationsPromises,
}

// promising are the sections in which every item and every paragraph has a promise that is held.
var promising = map[string][]string{
	"docs/agent.md":      {"What it promises", "Where programs read their deadlines", "Who is killed for a runner"},
	"docs/operations.md": {"What `regent run` promises"},
}

var (
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	blockStart   = regexp.MustCompile(`\n\n|\n(?:\*|\d\.) `)
)

// testNames returns the names of all tests of the repository.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(b, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// oneLine returns text as if it were not wrapped.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// The pages are the list of what must not be broken: what they promise stands there, and something holds it.
func TestPromisesAreHeld(t *testing.T) {
	const root = ".."
	tests := testNames(t, root)
	for page, all := range promises {
		b, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		text := oneLine(string(b))
		for _, p := range all {
			if !strings.Contains(text, p.quote) {
				t.Errorf("%s does not promise any more: %s", page, p.quote)
			}
			if len(p.held) == 0 {
				t.Errorf("%s: nothing holds: %s", page, p.quote)
			}
			for _, name := range p.held {
				_, missing := os.Stat(filepath.Join(root, "mutants", name+".mutant"))
				if !tests[name] && (missing != nil || !strings.Contains(name, "/")) {
					t.Errorf("%s: no test or mutant %s holds: %s", page, name, p.quote)
				}
			}
		}
		for _, section := range promising[page] {
			_, rest, found := strings.Cut(string(b), "\n## "+section+"\n")
			if !found {
				t.Errorf("%s has no section %q", page, section)
			}
			rest, _, _ = strings.Cut(rest, "\n## ")
			for _, block := range blockStart.Split(rest, -1) {
				if !promised(oneLine(block), all) {
					t.Errorf("%s: what holds this? Add it to the list: %s", page, oneLine(block))
				}
			}
		}
	}
}

// promised says whether a block has a promise of the list, or is none: a table, a link to more, or an introduction to a list.
func promised(block string, all []promise) bool {
	if block == "" || strings.HasPrefix(block, "|") || strings.HasPrefix(block, "[") || strings.HasSuffix(block, ":") {
		return true
	}
	for _, p := range all {
		if strings.Contains(block, p.quote) {
			return true
		}
	}
	return false
}

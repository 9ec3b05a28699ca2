package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing that a run downloads of our modules may reach the cache of the machine, nor what is there reach the run.
func TestTheBorrowedCacheHasNothingOfOurs(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	write(t, from, map[string]string{"github.com/us/lib@v1/a.go": "", "github.com/them/lib@v1/a.go": "", "golang.org/x/sys@v1/a.go": "",
		"cache/lock": "", "cache/download/github.com/us/lib/@v/v1.zip": "", "cache/download/github.com/them/lib/@v/v1.zip": "",
		"cache/download/golang.org/x/sys/@v/v1.zip": ""})
	if err := borrow(from, to, "github.com/us"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"github.com/them/lib@v1/a.go", "golang.org/x/sys@v1/a.go", "cache/lock",
		"cache/download/github.com/them/lib/@v/v1.zip", "cache/download/golang.org/x/sys/@v/v1.zip"} {
		if _, err := os.Stat(filepath.Join(to, name)); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{"github.com", "cache/download/github.com"} {
		if _, err := os.Stat(filepath.Join(to, dir, "us")); err == nil {
			t.Errorf("%s has our modules of an earlier run", dir)
		}
		if err := os.Mkdir(filepath.Join(to, dir, "ours"), 0o755); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(from, dir, "ours")); err == nil {
			t.Errorf("what is new in %s reaches the cache of the machine", dir)
		}
	}
	remove(to)
	if _, err := os.Stat(filepath.Join(from, "cache/lock")); err != nil {
		t.Errorf("the cache of the machine was removed, too: %v", err)
	}
}

func TestAFileBelongsToTheInnermostModule(t *testing.T) {
	all := []*tree{{dir: "."}, {dir: "cmd/x"}, {dir: "cmd"}}
	for name, want := range map[string]string{"a.go": ".", "cmdline.go": ".", "cmd/a.go": "cmd", "cmd/x/y/a.go": "cmd/x"} {
		if got := owner(all, name).dir; got != want {
			t.Errorf("%s is of %s, want %s", name, got, want)
		}
	}
}

func parsed(t *testing.T, text string) *modfile.File {
	t.Helper()
	f, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWhatWorksOnlyInThisTreeIsNotReleased(t *testing.T) {
	c := &check{modules: []*tree{{path: "example.org/a"}}}
	for text, want := range map[string]string{
		"require example.org/a " + version:                         "",
		"require example.org/other v1.0.0":                         "",
		"require example.org/a v0.0.0-20200101000000-0123456789ab": "b/go.mod:3: requires example.org/a@v0.0.0-2020",
		"replace example.org/a => ../a":                            "b/go.mod:3: replaces example.org/a",
	} {
		err := c.releasable(&tree{dir: "b", file: parsed(t, "module example.org/b\n\n"+text+"\n")})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestGoSumIsComparedWithoutOurOwnModules(t *testing.T) {
	c := &check{modules: []*tree{{path: "example.org/a"}}}
	const foreign = "example.org/ab v1.0.0 h1:x=\nexample.org/ab v1.0.0/go.mod h1:y=\n"
	if got := c.foreign("example.org/a v0.0.0-test h1:z=\nexample.org/a v0.0.0-test/go.mod h1:z=\n" + foreign); got != foreign {
		t.Errorf("%q", got)
	}
}

func TestDifferencesAreReportedOrMended(t *testing.T) {
	var out bytes.Buffer
	c := &check{root: t.TempDir(), out: &out}
	write(t, c.root, map[string]string{"list": "a\nb\n"})
	if err := c.same("list", "a\nb\n"); err != nil {
		t.Error(err)
	}
	if err := c.same("none", ""); err != nil {
		t.Errorf("no file is an empty one: %v", err)
	}
	if err := c.same("list", "b\nc\n"); err == nil || !strings.Contains(err.Error(), "  - a\n  + c") {
		t.Errorf("error %v", err)
	}
	c.fix = true
	if err := c.same("list", "b\nc\n"); err != nil || c.wrote != 1 {
		t.Errorf("%d files written, %v", c.wrote, err)
	}
	c.fix = false
	if err := c.same("list", "b\nc\n"); err != nil {
		t.Error(err)
	}
}

// Two small modules, one of which needs the other, in the state that git has and does not ignore.
func TestModulesComeFromTheTree(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./b\n)\n", ".gitignore": "ignored.go\n",
		"go.mod": "module " + library + "\n\ngo 1.26.0\n", "a.go": "package regent\n\nconst A = 1\n", "ignored.go": "not Go\n",
		"b/go.mod": "module " + library + "/b\n\ngo 1.26.0\n\nrequire " + library + " " + version + "\n",
		"b/b.go":   "package b\n\nimport _ \"" + library + "\"\n",
	})
	git := exec.Command("git", "init", "-q")
	git.Dir = root
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	look := func() error {
		modules, err := read(context.Background(), root)
		if err != nil {
			t.Fatal(err)
		}
		c := &check{root: root, temp: t.TempDir(), modules: modules}
		defer remove(c.temp)
		if err := c.environment(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.serve(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c.tidy(t.Context())
	}
	if err := look(); err != nil {
		t.Errorf("a tidy tree: %v", err)
	}
	write(t, root, map[string]string{"b/b.go": "package b\n"})
	if err := look(); err == nil || !strings.Contains(err.Error(), "b/go.mod is not up to date") {
		t.Errorf("a requirement too many: %v", err)
	}
	write(t, root, map[string]string{"b/b.go": "package b\n\nimport _ \"" + library + "/none\"\n"})
	if err := look(); err == nil || !strings.Contains(err.Error(), library+"/none") {
		t.Errorf("a package that does not exist: %v", err)
	}
}

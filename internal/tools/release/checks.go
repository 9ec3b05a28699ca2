package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	library   = "github.com/regentproject/regent"
	agent     = library + "/cmd/regent"
	simulator = library + "/sim/cmd/regent-sim"
	// lists is where the lists of modules are, seen from the root of the tree.
	lists = "internal/tools/release"
)

// tidy compares go.mod and go.sum of every module with what `go mod tidy` makes of them. It does so in a copy, and does not
// use `go mod tidy -diff`, because of our own lines in go.sum: they hold digests of the other modules of this tree, and so
// change with every change. No commit could state its own. They are left out of the tree and of the comparison; in the
// workspace nobody needs them.
func (c *check) tidy(ctx context.Context) error {
	var failed []error
	for _, t := range c.modules {
		dir, err := c.unpack(t)
		if err == nil {
			_, err = c.run(ctx, dir, "go", "mod", "tidy")
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t.dir, err))
			continue
		}
		for _, name := range []string{"go.mod", "go.sum"} {
			tidied, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			text := string(tidied)
			if name == "go.sum" {
				text = c.foreign(text)
			}
			failed = append(failed, c.same(path.Join(t.dir, name), text))
		}
	}
	return errors.Join(failed...)
}

// foreign returns the lines of a go.sum that are not about modules of this tree.
func (c *check) foreign(sum string) string {
	var kept strings.Builder
	for line := range strings.Lines(sum) {
		if path, _, _ := strings.Cut(line, " "); !c.ours(path) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// same compares a file of the tree with what it should be, or makes it so. A file that should be empty need not be there.
func (c *check) same(name, want string) error {
	place := filepath.Join(c.root, filepath.FromSlash(name))
	is, err := os.ReadFile(place)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if string(is) == want {
		return nil
	}
	if c.fix {
		fmt.Fprintf(c.out, "           wrote %s\n", name)
		c.wrote++
		return os.WriteFile(place, []byte(want), 0o644)
	}
	return fmt.Errorf("%s is not up to date (run: make release-fix)\n%s", name, difference(string(is), want))
}

// difference shows which lines are in one text and not in the other.
func difference(is, want string) string {
	var text strings.Builder
	has, needs := slices.Collect(strings.Lines(is)), slices.Collect(strings.Lines(want))
	for _, l := range has {
		if !slices.Contains(needs, l) {
			fmt.Fprintf(&text, "  - %s\n", strings.TrimSpace(l))
		}
	}
	for _, l := range needs {
		if !slices.Contains(has, l) {
			fmt.Fprintf(&text, "  + %s\n", strings.TrimSpace(l))
		}
	}
	return strings.TrimRight(text.String(), "\n")
}

// install builds the programs as users do, runs the agent's, and compares the modules in it with a list.
func (c *check) install(ctx context.Context) error {
	for _, program := range []string{agent, simulator} {
		if _, err := c.run(ctx, c.temp, "go", "install", program+"@"+version); err != nil {
			return err
		}
		info, err := os.Stat(c.binary(program))
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "           %s: %.1f MB\n", path.Base(program), float64(info.Size())/1e6)
	}
	said, err := c.run(ctx, c.temp, c.binary(agent), "version")
	if err != nil {
		return err
	}
	if !strings.Contains(said, version) {
		return fmt.Errorf("regent version: %q: want %s", said, version)
	}
	built, err := c.run(ctx, c.temp, "go", "version", "-m", c.binary(agent))
	if err != nil {
		return err
	}
	var inside []string
	for line := range strings.Lines(built) {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "dep" || f[0] == "mod") {
			inside = append(inside, f[1])
		}
	}
	return c.same(lists+"/regent.txt", list("The modules in the program regent.", inside))
}

func (c *check) binary(program string) string {
	name := path.Base(program)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(c.temp, "bin", name)
}

// importer builds a program that imports the library, and compares its modules with a list.
func (c *check) importer(ctx context.Context) error {
	dir := filepath.Join(c.temp, "importer")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	program := "package main\n\nimport _ \"" + library + "\"\n\nfunc main() {}\n"
	gomod := "module example.org/importer\n\ngo 1.26.0\n\nrequire " + library + " " + version + "\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644), os.WriteFile(filepath.Join(dir, "go.mod"), []byte(gomod), 0o644)); err != nil {
		return err
	}
	steps := [][]string{{"mod", "tidy"}, {"build", "-o", os.DevNull, "."}}
	if c.quick {
		steps = steps[:1]
	}
	for _, args := range steps {
		if _, err := c.run(ctx, dir, "go", args...); err != nil {
			return err
		}
	}
	all, err := c.run(ctx, dir, "go", "list", "-m", "-f", "{{if not .Main}}{{.Path}}{{end}}", "all")
	if err != nil {
		return err
	}
	return c.same(lists+"/importer.txt", list("The modules that a program has in its module graph because it imports the library.", strings.Fields(all)))
}

// list writes a list of modules. It leaves versions out: they change more often, and go.mod has them.
func list(title string, paths []string) string {
	slices.Sort(paths)
	return "# " + title + "\n" + strings.Join(paths, "\n") + "\n"
}

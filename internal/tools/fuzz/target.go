package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A target is one fuzz target.
type target struct {
	// pkg is the import path of its package, rel the directory below the root of the tree with slashes, and dir the whole path.
	pkg, rel, dir string
	name          string
}

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)

// list returns the targets of packages whose names match, in their order.
func list(ctx context.Context, names *regexp.Regexp, patterns []string) ([]target, error) {
	work, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	root := filepath.Dir(strings.TrimSpace(string(work)))
	if err != nil || root == "." {
		return nil, errors.New("no go.work found (run it inside the tree)")
	}
	// Files that this system leaves out are not listed.
	args := append([]string{"list", "-f", `{{.ImportPath}}|{{.Dir}}|{{join .TestGoFiles "|"}}|{{join .XTestGoFiles "|"}}`}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var all []target
	for line := range strings.Lines(string(text)) {
		words := strings.Split(strings.TrimSpace(line), "|")
		rel, err := filepath.Rel(root, words[1])
		if err != nil {
			return nil, err
		}
		for _, file := range words[2:] {
			if file == "" {
				continue
			}
			source, err := os.ReadFile(filepath.Join(words[1], file))
			if err != nil {
				return nil, err
			}
			for _, found := range declaration.FindAllStringSubmatch(string(source), -1) {
				if names.MatchString(found[1]) {
					all = append(all, target{pkg: words[0], rel: filepath.ToSlash(rel), dir: words[1], name: found[1]})
				}
			}
		}
	}
	return all, nil
}

// counted is a line of the fuzzer's log. The counts are of one run.
var counted = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, execs: (\d+) .*?(?:new interesting: (\d+)|$)`)

// missed is what the fuzzer prints if it missed its own deadline: the failure of the target as a whole, whose text is this error alone. The text of
// a seed's failure stands deeper, below the seed's name.
var missed = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w* \(.*\)\n    context deadline exceeded\n(?:FAIL|exit status|$)`)

// parseOutput reads what a run of the fuzzer printed.
func parseOutput(text string) attempt {
	a := attempt{text: text}
	if all := counted.FindAllStringSubmatch(text, -1); len(all) > 0 {
		last := all[len(all)-1]
		a.executions, _ = strconv.ParseUint(last[1], 10, 64)
		a.inputs, _ = strconv.ParseUint(last[2], 10, 64)
	}
	a.late = missed.MatchString(text) && !strings.Contains(text, "seed corpus entry") && !strings.Contains(text, "Failing input written to")
	return a
}

// readReport returns the rows of a report, and none if there is no report.
func readReport(path string) (rows []row, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		return nil, fmt.Errorf("report %s: %w", path, err)
	}
	return rows, nil
}

// writeReport replaces a report as a whole.
func writeReport(path string, rows []row) error {
	b, err := json.MarshalIndent(rows, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}

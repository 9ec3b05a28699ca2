package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome says what became of a mutant.
type Outcome string

const (
	Caught   Outcome = "caught"   // the command failed and named the invariant
	Missed   Outcome = "MISSED"   // the command failed, but for another reason
	Survived Outcome = "SURVIVED" // the command passed
	Broken   Outcome = "ERROR"    // nothing was shown: it does not apply or compile, or the command fails without it
)

// A Result is what became of one mutant.
type Result struct {
	Mutant  *Mutant
	Outcome Outcome
	By      []string // what the output names
	Detail  string   // why it is not caught
	Took    time.Duration
}

// A runner runs mutants of one tree.
type runner struct {
	root    string
	timeout time.Duration
	known   []string // all that mutants are caught by
	temp    string
	mu      sync.Mutex
	plain   map[string]func() error // by command: that it passes on the code as it is, found out once
}

func newRunner(root string, timeout time.Duration, known []string) *runner {
	return &runner{root: root, timeout: timeout, known: known, plain: map[string]func() error{}}
}

func (r *runner) close() {
	if r.temp != "" {
		os.RemoveAll(r.temp)
	}
}

// runAll runs mutants, at most jobs at once, tells of each as it ends, and returns the results in the given order.
func (r *runner) runAll(ctx context.Context, mutants []*Mutant, jobs int, progress io.Writer) []Result {
	results := make([]Result, len(mutants))
	temp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		for i, m := range mutants {
			results[i] = Result{Mutant: m, Outcome: Broken, Detail: err.Error()}
		}
		return results
	}
	r.temp = temp
	next, done := make(chan int), 0
	var wg sync.WaitGroup
	for range min(jobs, len(mutants)) {
		wg.Go(func() {
			for i := range next {
				res := r.runOne(ctx, mutants[i])
				r.mu.Lock()
				results[i] = res
				done++
				fmt.Fprintf(progress, "[%d/%d] %v: %s, %.1fs\n", done, len(mutants), res.Mutant, res.Outcome, res.Took.Seconds())
				r.mu.Unlock()
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// runOne shows that the command passes without the mutant, and then what it does with it.
func (r *runner) runOne(ctx context.Context, m *Mutant) Result {
	changed, err := m.Apply(r.root)
	if err != nil {
		return Result{Mutant: m, Outcome: Broken, Detail: err.Error()}
	}
	if err := r.passesPlain(ctx, m.Test); err != nil {
		return Result{Mutant: m, Outcome: Broken, Detail: err.Error()}
	}
	start := time.Now()
	overlay, err := r.lay(m, changed)
	if err != nil {
		return Result{Mutant: m, Outcome: Broken, Detail: err.Error()}
	}
	if err := r.compiles(ctx, changed, overlay); err != nil {
		return Result{Mutant: m, Outcome: Broken, Detail: err.Error(), Took: time.Since(start)}
	}
	out, err := r.command(ctx, m.Test, overlay)
	res := r.judge(m, out, err)
	res.Took = time.Since(start)
	return res
}

// judge decides by the output of the command and how it ended.
func (r *runner) judge(m *Mutant, out string, err error) Result {
	res := Result{Mutant: m, By: r.named(out)}
	var exit *exec.ExitError
	switch {
	case err == nil:
		res.Outcome, res.Detail = Survived, "passes with the mutant in place: "+m.Test
	case !errors.As(err, &exit):
		res.Outcome, res.Detail = Broken, fmt.Sprintf("%s: %v\n%s", m.Test, err, tail(out))
	case unbuilt.MatchString(out):
		res.Outcome, res.Detail = Broken, "does not compile\n"+tail(out)
	case !slices.Contains(res.By, m.CaughtBy):
		res.Outcome, res.Detail = Missed, fmt.Sprintf("fails, but its output does not name %s: %s\n%s", m.CaughtBy, m.Test, tail(out))
	default:
		res.Outcome = Caught
	}
	return res
}

// unbuilt finds what the go command says when a package, or its tests, cannot be built.
var unbuilt = regexp.MustCompile(`(?m)\[(build|setup) failed\]$|^# [\w.-]+/[\w./-]+( \[[\w./-]+\])?$`)

// failed finds tests that failed.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// named returns what the output names of all that catches mutants, and the tests that failed.
func (r *runner) named(out string) []string {
	var by []string
	for _, name := range r.known {
		// A name is not found inside of a longer one, such as S-OM in S-OM+.
		if regexp.MustCompile(`(^|[^\w+'-])` + regexp.QuoteMeta(name) + `($|[^\w+'-])`).MatchString(out) {
			by = append(by, name)
		}
	}
	if len(by) == 0 {
		for _, m := range failed.FindAllStringSubmatch(out, 3) {
			by = append(by, m[1])
		}
	}
	return by
}

// passesPlain runs a command on the code as it is; for each command once, however many mutants use it.
func (r *runner) passesPlain(ctx context.Context, command string) error {
	r.mu.Lock()
	plain, ok := r.plain[command]
	if !ok {
		plain = sync.OnceValue(func() error {
			if out, err := r.command(ctx, command, overlay{}); err != nil {
				return fmt.Errorf("fails without the mutant: %s: %w\n%s", command, err, tail(out))
			}
			return nil
		})
		r.plain[command] = plain
	}
	r.mu.Unlock()
	return plain()
}

// An overlay is where the changed files of a mutant are.
type overlay struct {
	// description is what the compiler reads, which takes them for the real ones.
	description string
	// tree is a directory that has those in other languages at their paths; empty if there are none.
	tree string
}

// lay writes the changed files. Tests of other languages find theirs in the directory that REGENT_MUTANT_TREE names.
func (r *runner) lay(m *Mutant, changed map[string]string) (o overlay, err error) {
	dir := filepath.Join(r.temp, m.Dir, m.Name)
	replace := map[string]string{}
	for file, text := range changed {
		fake := filepath.Join(dir, "tree", filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(fake), 0o755); err != nil {
			return o, err
		}
		if err := os.WriteFile(fake, []byte(text), 0o644); err != nil {
			return o, err
		}
		real, err := filepath.Abs(filepath.Join(r.root, filepath.FromSlash(file)))
		if err != nil {
			return o, err
		}
		if isGo(file) {
			replace[real] = fake
		} else {
			o.tree = filepath.Join(dir, "tree")
		}
	}
	description, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return o, err
	}
	o.description = filepath.Join(dir, "overlay.json")
	return o, os.WriteFile(o.description, description, 0o644)
}

func isGo(file string) bool { return path.Ext(file) == ".go" }

// compiles builds the packages that were changed.
func (r *runner) compiles(ctx context.Context, changed map[string]string, o overlay) error {
	dirs := map[string]bool{}
	for file := range changed {
		if isGo(file) {
			dirs["./"+path.Dir(file)] = true
		}
	}
	for dir := range dirs {
		if out, err := r.command(ctx, "go build -o "+os.DevNull+" "+dir, o); err != nil {
			return fmt.Errorf("does not compile: %w\n%s", err, tail(out))
		}
	}
	return nil
}

// command runs a command at the root of the tree. Every go command in it sees the overlay, if there is one; go vet,
// which would complain about some mutants, is left out of go test.
func (r *runner) command(ctx context.Context, command string, o overlay) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = r.root
	flags := os.Getenv("GOFLAGS") + " -vet=off"
	if o.description != "" {
		flags += " -overlay=" + o.description
	}
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(flags), "REGENT_MUTANT_TREE="+o.tree)
	killGroup(cmd)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped after %v: %w", r.timeout, ctx.Err())
	}
	return out.String(), err
}

// tail returns the last lines of an output.
func tail(out string) string {
	const keep = 20
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if len(lines) > keep {
		lines = append([]string{fmt.Sprintf("(%d lines left out)", len(lines)-keep)}, lines[len(lines)-keep:]...)
	}
	return strings.Join(lines, "\n")
}

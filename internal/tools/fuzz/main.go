// Fuzz runs every fuzz target of the packages for a given processor time, one after the other.
//
//	fuzz [-cpu 10s] [-run REGEXP] [-cache DIR] [-report FILE] [PACKAGES]
//
// It measures the time from the rusage of the processes that it starts, so a busy host makes it slower and not less thorough. Inputs
// that reach new code stay in the cache. The report has a row for each target. If the file exists, the targets that have had
// their time are left out, and the others go on from where they were: interrupt it at any time.
//
// The exit status is 1 if a target fails. The go command has then written the input below testdata/fuzz of the package: commit it with the fix.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// allPackages are those of all modules of the tree.
const allPackages = "github.com/regentproject/regent/..."

func main() {
	cpu := flag.Duration("cpu", 10*time.Second, "processor time of each target")
	only := flag.String("run", "", "run only targets whose name matches the regular expression")
	cache := flag.String("cache", "bin/fuzz", "directory for inputs that reach new code, and for test programs")
	report := flag.String("report", "bin/fuzz/report.json", "write a row for each target, and go on with those that lack time")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{allPackages}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *cpu, *only, *cache, *report, patterns); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cpu time.Duration, only, cache, path string, patterns []string) error {
	if cpu <= 0 {
		return fmt.Errorf("processor time %v: must be above 0", cpu)
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return err
	}
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	targets, err := list(ctx, chosen, patterns)
	if err != nil {
		return err
	}
	rows, err := readReport(path)
	if err != nil {
		return err
	}
	h := &host{cache: cache, built: make(map[string]string)}
	c := &campaign{cpu: cpu, commit: commit(ctx), out: os.Stdout, fuzz: h.fuzz, now: time.Now, rows: rows,
		save: func(rows []row) error { return writeReport(path, rows) }}
	return c.run(ctx, targets)
}

// commit returns the commit of the tree, or "unknown".
func commit(ctx context.Context) string {
	b, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// A host builds and runs fuzz targets.
type host struct {
	cache string
	// built is the test program of each package.
	built map[string]string
}

// stopWithin is how long a target may take to stop after the interrupt, and signalWithin how much later this process may learn of a signal to
// both.
const (
	stopWithin   = 10 * time.Second
	signalWithin = time.Second
)

// fuzz runs a target for a length of time on the wall clock.
func (h *host) fuzz(ctx context.Context, t target, length time.Duration) (a attempt, err error) {
	program, err := h.build(ctx, t)
	if err != nil {
		return a, err
	}
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", length.String(),
		"-test.fuzzminimizetime", "200x", "-test.parallel", "1", "-test.fuzzcachedir", filepath.Join(h.cache, filepath.FromSlash(t.rel)))
	cmd.Dir, cmd.WaitDelay = t.dir, stopWithin
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return a, err
	}
	a = parseOutput(string(text))
	// The kernel adds to it what the process has waited for: the worker that runs the target.
	a.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		select { // a terminal interrupts both, and the target may be the first to end
		case <-ctx.Done():
		case <-time.After(signalWithin):
		}
	}
	a.failed = err != nil && ctx.Err() == nil && !a.late
	return a, nil
}

// build builds the test program of a package, with the instrumentation of the fuzzer.
func (h *host) build(ctx context.Context, t target) (string, error) {
	if program, ok := h.built[t.pkg]; ok {
		return program, nil
	}
	program := filepath.Join(h.cache, "programs", strings.ReplaceAll(t.rel, "/", "-")+".test")
	text, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-fuzz", ".", "-o", program, t.pkg).CombinedOutput()
	if err != nil {
		return "", errors.Join(fmt.Errorf("build %s: %w", t.rel, err), errors.New(string(text)))
	}
	h.built[t.pkg] = program
	return program, nil
}

// Release checks, before anything is tagged, that the modules of this tree can be released together. It serves the files that
// git knows as version v0.0.0-test from a module proxy in a temporary directory, and then does what users do, without the
// workspace:
//
//	tidy      go.mod and go.sum of every module are as `go mod tidy` leaves them
//	install   `go install` builds regent and regent-sim; regent holds the modules of regent.txt, and no others
//	importer  a program that imports the library gets the modules of importer.txt, and no others
//
// With -fix it writes what differs into the tree instead of reporting it, and with -quick it builds nothing: it leaves install out, and compiles no importer. Modules from elsewhere come from the cache of this
// machine, or from where the go command is configured to download them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	fix := flag.Bool("fix", false, "write go.mod, go.sum and the lists of modules instead of comparing them")
	quick := flag.Bool("quick", false, "build nothing")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: release [-fix] [-quick]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *fix, *quick, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release-check:", err)
		os.Exit(1)
	}
}

// A check runs the go command as a user of the released modules does.
type check struct {
	root    string // of the tree
	temp    string
	modules []*tree
	env     []string
	out     io.Writer
	fix     bool
	quick   bool // build nothing
	wrote   int  // files, with fix
}

func run(ctx context.Context, fix, quick bool, out io.Writer) error {
	work, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	root := filepath.Dir(strings.TrimSpace(string(work)))
	if err != nil || root == "." {
		return errors.New("no go.work found: run it inside the tree")
	}
	for {
		wrote, err := once(ctx, root, fix, quick, out)
		if err != nil || wrote == 0 {
			return err
		}
		// What was written for one module may change what others need.
		fmt.Fprintf(out, "wrote %d files; checking them\n", wrote)
	}
}

// once checks the tree as it is. With fix it returns how many files it wrote.
func once(ctx context.Context, root string, fix, quick bool, out io.Writer) (int, error) {
	temp, err := os.MkdirTemp("", "release-check-")
	if err != nil {
		return 0, err
	}
	defer remove(temp)
	modules, err := read(ctx, root)
	if err != nil {
		return 0, err
	}
	c := &check{root: root, temp: temp, modules: modules, out: out, fix: fix, quick: quick}
	if err := c.environment(ctx); err != nil {
		return 0, err
	}
	var failed []error
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"proxy", c.serve}, {"tidy", c.tidy}, {"install", c.install}, {"importer", c.importer}} {
		if quick && step.name == "install" {
			continue
		}
		start := time.Now()
		err := step.do(ctx)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		result := "ok"
		if err != nil {
			result = "FAILED"
		}
		fmt.Fprintf(out, "%-10s %-6s %.1f s\n", step.name, result, time.Since(start).Seconds())
		failed = append(failed, err)
		if err != nil && step.name == "proxy" || c.wrote > 0 {
			break // the later steps would judge modules that are about to change
		}
	}
	return c.wrote, errors.Join(failed...)
}

// environment makes the go command see our modules as the proxy has them, and all others as this machine has them.
func (c *check) environment(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY").Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 {
		return fmt.Errorf("go env: %q, %w", out, err)
	}
	cache, proxies := filepath.Join(c.temp, "cache"), lines[1]
	if err := borrow(lines[0], cache, path.Dir(library)); err != nil {
		return err
	}
	c.env = append(os.Environ(),
		"GOWORK=off",
		"GOMODCACHE="+cache,
		"GOPROXY=file://"+filepath.ToSlash(c.proxy())+","+proxies,
		// Our version is in no public database. All others are compared with the go.sum files.
		"GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=",
		// Without the path of the cache in them, packages of other modules are compiled once and not in every run.
		"GOFLAGS=-trimpath -buildvcs=false",
		"GOBIN="+filepath.Join(c.temp, "bin"),
	)
	return nil
}

// run runs a command in a directory, and returns what it prints. An error has what it complained about.
func (c *check) run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, c.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

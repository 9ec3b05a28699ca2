package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

func TestMain(m *testing.M) {
	cluster.Main()
	os.Exit(m.Run())
}

func TestTenSecondsOfTorture(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "regent")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/regentproject/regent/cmd/regent").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "t"))
	if err := os.Mkdir(os.Getenv("TMPDIR"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := parse([]string{"-for", "10s", "-seed", "1", "-regent", program}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), s, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.HasPrefix(out.String(), "seed 1, for 10s\n") || !strings.Contains(out.String(), "no two led at once") {
		t.Errorf("it reports\n%s", out.String())
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("it left %v behind: %v", left, err)
	}
}

// A run in which something cannot be done, or in which two led at once, fails.
func TestRunThatProvesNothingFails(t *testing.T) {
	c := cluster.Open(t, cluster.Options{Names: []string{"a"}, Timing: timing(), Command: cluster.Child(), Groups: cluster.OneGroup, Poll: time.Millisecond})
	var out bytes.Buffer
	a := &arena{Cluster: c, out: &out, done: make(map[string]int), hosts: []*host{{name: "a", undo: func() error { return c.Crash("a") }}}}
	if err := c.Start("a"); err != nil {
		t.Fatal(err)
	}
	if err := a.led("at first", 0); err != nil {
		t.Fatal(err)
	}
	a.try("nothing", nil)
	a.try("fly", c.Cut("a"))
	if err := a.judge(); err == nil || !strings.Contains(err.Error(), "fly: there is no relay") {
		t.Errorf("got %v", err)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"-hosts", "moon", "-regent", "."}, {"-regent", "/no/such/file"}} {
		if _, err := parse(args, os.Stderr); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

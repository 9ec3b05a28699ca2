//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

func TestMain(m *testing.M) {
	child()
	cluster.Main()
	os.Exit(m.Run())
}

// A few faults, without what keeps the processors busy: other tests run at the same time.
func TestAShortTorture(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "regent")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/regentproject/regent/cmd/regent").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "t"))
	if err := os.Mkdir(os.Getenv("TMPDIR"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := parse([]string{"-faults", "40", "-busy", "0", "-seed", "1", "-regent", program}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), s, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.HasPrefix(out.String(), "seed 1, 40 faults") || !strings.Contains(out.String(), "no program ran beside its successor") {
		t.Errorf("it reports\n%s", out.String())
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("it left %v behind: %v", left, err)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"-hosts", "moon", "-regent", "."}, {"-regent", "/no/such/file"}} {
		if _, err := parse(args, os.Stderr); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

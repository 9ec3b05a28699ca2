package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/lab"
	"github.com/regentproject/regent/sim/suite"
)

// The commands that test scripts run: regent-sim itself, one whose protocol rank is broken, and one that expects too much of
// random runs.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"regent-sim": main,
		"broken": func() {
			lookup = brokenRank
			main()
		},
		"greedy": func() {
			lookup = greedyRank
			main()
		},
	})
}

// brokenRank is rank with time-outs so short that no core ever agrees.
func brokenRank(name string) (*suite.Protocol, error) {
	p, err := suite.Lookup(name)
	if err == nil {
		p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
			c := rank.Default(b.Self, b.Members, b.Inc)
			c.Timeout, c.Cap = c.Period+time.Millisecond, c.Period+time.Millisecond
			return rank.New(c)
		}
	}
	return p, err
}

// greedyRank is rank with a row that no run covers.
func greedyRank(name string) (*suite.Protocol, error) {
	p, err := suite.Lookup(name)
	if err == nil {
		p.Rows = append(slices.Clone(p.Rows), "the sky fell")
	}
	return p, err
}

// What takes too long can be stopped. The lengths here are beyond anybody's patience.
func TestLongRunsEndWhenInterrupted(t *testing.T) {
	endless := filepath.Join(t.TempDir(), "endless.txt")
	if err := os.WriteFile(endless, []byte("protocol rank\nmembers 3\nrun 1000000h\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"run", endless},
		{"fuzz", "--protocol", "rank", "--seeds", "1..1000000000"},
		{"lab", "hall-fig26"},
	} {
		var out, errOut bytes.Buffer
		if got := run(ctx, args, strings.NewReader(""), &out, &errOut); got != cli.Failed || !strings.Contains(errOut.String(), "interrupted") {
			t.Errorf("%v: status %d, %q, want to hear that it was interrupted", args, got, errOut.String())
		}
	}
}

func TestAClaimThatDoesNotHoldFailsTheCommand(t *testing.T) {
	good := &lab.Report{Name: "x-1", Checks: []lab.Check{{Claim: "it grows", Measured: "by 2", Holds: true}}}
	bad := &lab.Report{Name: "x-2", Seed: 7, Quick: true, Checks: append(good.Checks, lab.Check{Claim: "it shrinks", Measured: "not at all"})}
	if err := failed(good); err != nil {
		t.Errorf("all claims hold: %v", err)
	}
	if err := failed(good, bad); err == nil || !strings.Contains(err.Error(), "x-2: claim does not hold: it shrinks: not at all (repeat: regent-sim lab x-2 --seed 7 --quick)") {
		t.Errorf("a claim does not hold: %v", err)
	}
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// status runs a command and compares its exit status: status 2 regent-sim run nothing.txt
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, args[1:]); got != want {
		ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
	}
}

// exitStatus runs a command and returns its exit status.
func exitStatus(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	return 0
}

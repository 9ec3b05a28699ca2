package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	runner "github.com/regentproject/regent/agent/run"
	"github.com/rogpeppe/go-internal/testscript"
)

// commands are those that tests run: regent itself, and on Linux a program that leads.
var commands = map[string]func(){"regent": main}

func TestMain(m *testing.M) {
	runner.Main()
	testscript.Main(m, commands)
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			regent, err := exec.LookPath("regent")
			e.Setenv("REGENT", regent)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "eventually": eventually, "council": councilFiles, "free": freeAddrs, "documented": documented,
		},
	})
}

// status runs a command and compares its exit status: status 2 regent sim run nothing.txt
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

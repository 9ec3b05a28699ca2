package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
)

// simulator is the program that runs the simulator. It is installed beside this one.
const simulator = "regent-sim"

func simCommand() *cobra.Command {
	return simulatorCommand("sim", "Run scenarios and fuzz the protocols in the simulator", `  regent sim list
  regent sim scenarios
  regent sim run hall/fig1
  regent sim fuzz --protocol rank --members 5 --seeds 1..1000`)
}

func labCommand() *cobra.Command {
	return simulatorCommand("lab", "Reproduce the figures, tables and theorems of the papers", `  regent lab list
  regent lab hall-fig26 --out figures
  regent lab all --out report`, "lab")
}

func replayCommand() *cobra.Command {
	return simulatorCommand("replay", "Watch a recorded run of the simulator in the browser",
		`  regent replay hall/fig1
  regent sim fuzz --protocol nerio --seed 42 --trace trace.jsonl && regent replay trace.jsonl`, "replay")
}

// simulatorCommand passes its arguments on to the simulator, after those given here.
func simulatorCommand(name, short, example string, first ...string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short,
		Long:               "regent " + name + " runs " + simulator + ", which is installed beside regent or in PATH.",
		Example:            example,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			return runSimulator(c, name, append(first, args...))
		},
	}
}

func runSimulator(c *cobra.Command, name string, args []string) error {
	path, err := findSimulator()
	if err != nil {
		return cli.Failf("regent %s: %s is not installed (run: go install github.com/regentproject/regent/sim/cmd/%s@latest;"+
			" in a checkout: go run ./sim/cmd/%s)", name, simulator, simulator, simulator)
	}
	child := exec.CommandContext(c.Context(), path, args...)
	child.Stdin, child.Stdout, child.Stderr = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	err = child.Run()
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() > 0 {
		return cli.Silently(status.ExitCode())
	}
	if err != nil {
		return cli.Failf("regent %s: %w", name, err)
	}
	return nil
}

// findSimulator looks beside this program first, so that the two are of the same version.
func findSimulator() (string, error) {
	name := simulator
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); !errors.Is(err, fs.ErrNotExist) {
			return beside, err
		}
	}
	return exec.LookPath(name)
}

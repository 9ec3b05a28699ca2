package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/internal/sim"
	"github.com/regentproject/regent/internal/sim/suite"
)

// lookup finds a protocol. Tests put broken ones in its place.
var lookup = suite.Lookup

func simCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "Play stories about protocols, and look for bad ones",
		Long: `The simulator runs the same protocols as the real thing, on virtual time, with faults:
crashes, restarts, pauses, cuts, slow and lossy links, clocks that are off.`,
		Example: `  regent sim list
  regent sim run story.txt
  regent sim fuzz --protocol rank --members 5 --seeds 1..1000`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(simListCommand(), simRunCommand(), simFuzzCommand())
	return c
}

// withTrace calls do with an observer that writes the trace to a file; with none if the name is empty.
func withTrace(name string, do func(...sim.Observer) error) (err error) {
	if name == "" {
		return do()
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	t := sim.NewTrace(f)
	defer func() {
		for _, end := range []func() error{t.Flush, f.Close} {
			if e := end(); e != nil && err == nil {
				err = fmt.Errorf("trace: %w", e)
			}
		}
	}()
	return do(t)
}

// readScript reads a file, or standard input if it is called -.
func readScript(c *cobra.Command, name string) (string, []byte, error) {
	if name == "-" {
		text, err := io.ReadAll(c.InOrStdin())
		return "stdin", text, err
	}
	text, err := os.ReadFile(name)
	return name, text, err
}

// Regent-sim runs Regent's protocols in the simulator: scenarios, random faults, experiments and recorded runs. The
// command regent starts it for `regent sim`, `regent lab` and `regent replay`; it is a program of its own so that plots
// and fonts stay out of the agent.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim/fuzz"
)

// version is set when a release is built.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(fuzz.GCPercent)
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := &cobra.Command{
		Use:   "regent-sim",
		Short: "Run scenarios and fuzz the protocols in the simulator",
		Long: `The simulator runs the protocols of the library on virtual time, with faults: crashes,
restarts, pauses, cuts, slow and lossy links, clocks that drift.

The same commands are available as regent sim, regent lab and regent replay.`,
		Example: `  regent-sim list
  regent-sim run hall/fig1
  regent-sim fuzz --protocol rank --members 5 --seeds 1..1000
  regent-sim lab list`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(simListCommand(), simScenariosCommand(), simRunCommand(), simFuzzCommand(), labCommand(), replayCommand(), cli.VersionCommand(version))
	cli.VersionFlag(root, version)
	return cli.Run(ctx, root, args, in, out, errOut)
}

// Regent elects leaders. This is its command line; each subcommand has a file of its own.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/regentproject/regent/agent/cli"
	runner "github.com/regentproject/regent/agent/run"
	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = ""

func main() {
	runner.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// subcommands are all there are: one line for each.
var subcommands = []func() *cobra.Command{
	agentCommand,
	runCommand,
	vipCommand,
	whoCommand,
	watchCommand,
	topCommand,
	membersCommand,
	recoverCommand,
	historyCommand,
	explainCommand,
	resignCommand,
	transferCommand,
	drainCommand,
	undrainCommand,
	verifyCommand,
	edictCommand,
	statusCommand,
	loginCommand,
	logoutCommand,
	supportCommand,
	engineCommand,
	initCommand,
	configCommand,
	planCommand,
	planLoadCommand,
	keygenCommand,
	keysCommand,
	demoCommand,
	devCommand,
	demoMemberCommand,
	replayCommand,
	simCommand,
	labCommand,
	completionCommand,
	func() *cobra.Command { return cli.VersionCommand(version) },
}

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	return cli.Run(ctx, rootCommand(), args, in, out, errOut)
}

// rootCommand returns the command that all others are part of.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "regent",
		Short: "Elect leaders, and show how they are elected",
		Long: `Regent elects leaders: of all hosts that want to lead a group, at most one does, at
every instant. Each host runs an agent; any program can be run on the leader only.

Exit status: 0 success; 1 negative answer (for example, no leader); 2 usage error; 3 agent
unreachable. 'regent run' and 'regent agent' have further ones.`,
		Example: `  regent demo
  regent dev
  regent init --loopback /tmp/try a b c
  regent run billing -- /usr/local/bin/billing
  regent who billing`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, sub := range subcommands {
		root.AddCommand(sub())
	}
	cli.VersionFlag(root, version)
	refuseAgentURLs(root)
	return root
}

// Regent elects leaders. This is its command line; each subcommand has a file of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// subcommands are all there are: one line for each.
var subcommands = []func() *cobra.Command{
	agentCommand,
	runCommand,
	whoCommand,
	watchCommand,
	membersCommand,
	historyCommand,
	explainCommand,
	resignCommand,
	transferCommand,
	verifyCommand,
	edictCommand,
	statusCommand,
	initCommand,
	configCommand,
	keygenCommand,
	demoCommand,
	demoMemberCommand,
	replayCommand,
	simCommand,
	labCommand,
	completionCommand,
	versionCommand,
}

// The exit statuses.
const (
	exitOK      = 0
	exitFailed  = 1 // what was asked for was done, and the answer is bad: an invariant is violated, an expectation not met
	exitUsage   = 2 // what was asked for makes no sense
	exitNoAgent = 3 // there is no agent to ask
)

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := &cobra.Command{
		Use:   "regent",
		Short: "Elect leaders, and see how they are elected",
		Long: `Regent elects leaders: of all hosts that want to lead a group, at most one does, at
every instant. Each host runs an agent; any program can be run on the leader only.

Exit statuses: 0 all is well; 1 the answer is no, such as that nobody leads; 2 the
command line makes no sense; 3 there is no agent to ask. 'regent run' has its own.`,
		Example: `  regent demo
  regent init --loopback /tmp/try a b c
  regent run billing -- /usr/local/bin/billing
  regent who billing`,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, sub := range subcommands {
		root.AddCommand(sub())
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var code *exit
	if errors.As(err, &code) {
		if code.error != nil {
			fmt.Fprintln(errOut, code.Error())
		}
		return code.status
	}
	var failed *failure
	if errors.As(err, &failed) {
		fmt.Fprintln(errOut, failed.Error())
		return exitFailed
	}
	fmt.Fprintf(errOut, "regent: %v\n", err)
	var told *complete
	if !errors.As(err, &told) {
		fmt.Fprintf(errOut, "run '%s --help' to see how it is used\n", cmd.CommandPath())
	}
	return exitUsage
}

// A failure is a bad answer to a good question.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

func failf(format string, args ...any) error { return &failure{fmt.Errorf(format, args...)} }

// An exit is a failure with an exit status of its own. It may have said all there is to say.
type exit struct {
	error
	status int
}

func (e *exit) Error() string {
	if e.error == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.error.Error()
}

func (e *exit) Unwrap() error { return e.error }

// silently ends with a status and without a word.
func silently(status int) error { return &exit{status: status} }

// complete is an error of usage that says all there is to say: a hint at --help would not help.
type complete struct{ error }

func (c *complete) Unwrap() error { return c.error }

// noArgs says that a command takes no arguments, and which subcommands it has.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Errorf("%q: %s takes no arguments", args[0], c.CommandPath())
	}
	names := ""
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			names += ", " + sub.Name()
		}
	}
	return fmt.Errorf("%q: no such command; there are %s", args[0], names[2:])
}

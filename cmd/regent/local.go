package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
)

// notRemote has the commands that take no --agent, with the reason and what to do. Each other command takes it: a command that is in neither set fails a test.
var notRemote = map[string]string{
	"agent":         "it is the agent of this host: run it on the host itself",
	"run":           "the program runs on this host, under its agent: run it on the host that is to lead, with --socket",
	"vip":           "the address is one of this host, under its agent: run it on the host that is to have the address, with --socket",
	"login":         "the URL is its argument: regent login URL",
	"logout":        "the URL is its argument: regent logout URL",
	"engine sql":    "it prints SQL, and asks no agent: leave --agent out",
	"engine role":   "it prints a manifest, and asks no agent: leave --agent out",
	"engine switch": "it rewrites the note in the directory of this host, while no agent runs: run it on each host",
	"init":          "it writes files of this host, and asks no agent: leave --agent out",
	"config check":  "it reads a file, and asks no agent: leave --agent out, and name the file",
	"plan":          "it measures this host, and asks its agent for round trips: run it on each host, with --socket",
	"plan probe":    "it answers on this host, and asks no agent: run it on the host itself",
	"keygen":        "it draws a key, and asks no agent: leave --agent out",
	"keys show":     "it reads key files of this host: run it on the host itself",
	"keys exchange": "it reads and writes key files of this host: run it on the host itself",
	"keys rotate":   "the private key never leaves its host: run it on the host itself",
	"keys revoke":   "it rewrites the files of this host: run it on each host",
	"demo":          "it starts members of its own: leave --agent out",
	"dev":           "it starts agents of its own: leave --agent out",
	"replay":        "it shows a recorded run, and asks no agent: leave --agent out",
	"sim":           "it runs the simulator, and asks no agent: leave --agent out",
	"lab":           "it runs the simulator, and asks no agent: leave --agent out",
	"completion":    "it prints a script, and asks no agent: leave --agent out",
	"version":       "it is about this program, and asks no agent: leave --agent out",
}

// commandName is how a command is called, without the name of the program.
func commandName(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "regent ") }

// refuseAgentURLs has commands that take no --agent say why, and what to run.
func refuseAgentURLs(c *cobra.Command) {
	if why := notRemote[commandName(c)]; why != "" && !c.DisableFlagParsing {
		c.Flags().Var(&refusedURL{commandName(c), why}, "agent", "")
		_ = c.Flags().MarkHidden("agent")
		if before := c.FlagErrorFunc(); before != nil {
			c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
				var refused *notRemoteError
				if !errors.As(err, &refused) {
					return before(c, err)
				}
				var own *cli.Exit // the status of its usage errors
				if errors.As(before(c, err), &own) {
					return &cli.Exit{Err: fmt.Errorf("regent: %w", refused), Status: own.Status}
				}
				return &cli.Complete{Err: refused}
			})
		}
	}
	for _, sub := range c.Commands() {
		refuseAgentURLs(sub)
	}
}

// A refusedURL is the flag --agent of a command that takes none.
type refusedURL struct{ command, why string }

func (r *refusedURL) String() string   { return "" }
func (r *refusedURL) Type() string     { return "URL" }
func (r *refusedURL) Set(string) error { return &notRemoteError{r.command, r.why} }

// A notRemoteError says why a command takes no --agent.
type notRemoteError struct{ command, why string }

func (e *notRemoteError) Error() string {
	return fmt.Sprintf("%s takes no --agent: %s (see 'regent %s --help')", e.command, e.why, e.command)
}

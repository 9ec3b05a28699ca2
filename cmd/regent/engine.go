package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
)

func engineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine",
		Short: "Prepare and change the system that elects",
		Long: `Leaders are elected by a council of agents, or by an engine: a system that is operated
already, such as PostgreSQL or Kubernetes. The configuration of the agents names it.`,
		Example: `  regent engine sql | psql service=app
  regent engine role --namespace shop | kubectl apply -f -
  regent engine switch --config /etc/regent/regent.yaml`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(engineSQLCommand(), engineRoleCommand(), engineSwitchCommand())
	return c
}

func engineSQLCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sql",
		Short: "Print the SQL of the table for PostgreSQL",
		Long: `Prints the SQL that makes the table and the sequence which the engine postgres uses, with
the rights that the role of the agents needs. It can be run again. Nothing is changed.`,
		Example: `  regent engine sql | psql service=app`,
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if engineSchema == "" {
				return cli.Failf("regent engine sql: %s", withoutEngines)
			}
			_, err := io.WriteString(c.OutOrStdout(), engineSchema)
			return err
		},
	}
}

const withoutEngines = "this program was built without engines (build it without the tag noengines)"

func engineRoleCommand() *cobra.Command {
	var namespace, account string
	c := &cobra.Command{
		Use:   "role",
		Short: "Print the Role that agents need on Kubernetes",
		Long: `Prints the manifest of a Role for the Lease objects of a namespace, and of a RoleBinding
that gives it to the service account of the agents. Nothing is changed.`,
		Example: `  regent engine role --namespace shop --account agents | kubectl apply -f -`,
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if engineRole == nil {
				return cli.Failf("regent engine role: %s", withoutEngines)
			}
			_, err := io.WriteString(c.OutOrStdout(), engineRole(namespace, account))
			return err
		},
	}
	c.Flags().StringVar(&namespace, "namespace", "default", "where the Lease objects and the service account are")
	c.Flags().StringVar(&account, "account", "default", "the service account of the agents")
	return c
}

func engineSwitchCommand() *cobra.Command {
	var path string
	var above uint64
	c := &cobra.Command{
		Use:   "switch",
		Short: "Go on with another engine, above the tokens so far",
		Long: `Tokens of two engines are not comparable: an agent whose configuration names another
engine than the one that it used does not start. This command has all later tokens of the
configured engine be above those that this host has noted, and notes the engine. It does so
for all groups at once: an agent has one engine and one note, and a group that was left out
could get a token below its old ones.

Stop the agents of all hosts, change engine in their configurations, and run it on every
host. With --above the tokens are above that one as well: after a change from a council,
whose tokens are not noted, and after a failover or a restore that may have lost some.`,
		Example: `  regent engine switch
  regent engine switch --above 5000`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			file, err := config.Load(path)
			if err != nil {
				return &cli.Failure{Err: err}
			}
			from, to, floor, err := agent.SwitchEngine(c.Context(), file, engines, above)
			if err != nil {
				return &cli.Failure{Err: fmt.Errorf("regent engine switch: %w", err)}
			}
			if from == "" {
				from = "nothing"
			}
			fmt.Fprintf(c.OutOrStdout(), "from %s to %s: all tokens are above %d\n", from, to, floor)
			return nil
		},
	}
	c.Flags().StringVar(&path, "config", config.DefaultConfig, "the configuration")
	c.Flags().Uint64Var(&above, "above", 0, "a token that all later ones must be above")
	return c
}

// showEngine shows what elects in place of a council.
func (s *statusReport) showEngine(out io.Writer) {
	e := s.Engine
	if e == nil {
		return
	}
	fmt.Fprintf(out, "engine %s at %s", e.Name, e.Where)
	if len(e.Missing) > 0 {
		fmt.Fprintf(out, "; without %s", strings.Join(e.Missing, ", "))
	}
	fmt.Fprintln(out)
	if e.Loss != "" {
		fmt.Fprintf(out, "note: %s\n", e.Loss)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/web/watch"
	"github.com/regentproject/regent/roster"
)

// removedStatus is the exit status of an agent whose host the council has removed before. A service manager must not start it again.
const removedStatus = 4

func agentCommand() *cobra.Command {
	o := agent.Options{Engines: engines, Etcd: etcdServer, Dashboard: func(a *agent.Agent) http.Handler { return watch.Dashboard(a) }}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of this host",
		Long: `Makes this host a member of its council, and serves the programs on it: over a unix socket,
whose permissions decide which programs may lead, and over HTTP.

The agent runs until it receives SIGTERM or SIGINT. Then it asks the programs that lead to
stop, waits for them, hands over and leaves; a second signal ends it at once. On SIGHUP it
reads the configuration again, and logs what changed and what needs a restart.

The exit status is 4 if the council has removed this host before: it starts again only with
an empty directory, once it has been added.

With --etcd-listen, or etcd.listen in the configuration, it serves elections to clients of
etcd as well: to etcdctl elect, and to Go's concurrency.Election.

Write a configuration with 'regent init'.`,
		Example: `  regent agent
  regent agent --config ./a.yaml`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Version = cli.Version(version)
			o.Log = c.ErrOrStderr()
			// Once it is leaving nobody catches signals any more, so that the next one ends it.
			context.AfterFunc(c.Context(), func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
			err := agent.Run(c.Context(), o)
			switch {
			case errors.Is(err, roster.ErrRemoved):
				return &cli.Exit{Err: fmt.Errorf("regent agent: %w", err), Status: removedStatus}
			case err != nil:
				return &cli.Failure{Err: fmt.Errorf("regent agent: %w", err)}
			}
			return nil
		},
	}
	c.Flags().StringVar(&o.Config, "config", config.DefaultConfig, "the configuration")
	c.Flags().StringVar(&o.EtcdListen, "etcd-listen", "", "serve elections to clients of etcd on `HOST:PORT`, in place of etcd.listen")
	return c
}

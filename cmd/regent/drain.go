package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func drainCommand() *cobra.Command {
	c, order, send := drainOrder("drain")
	c.Short = "Move all leadership away from this host, and keep it away"
	c.Long = `Asks all programs of this host that lead to stop, hands their groups over to other hosts,
and keeps this host from leading until 'regent undrain', also after restarts of the agent
and the host. Programs keep campaigning, and wait. The host votes as before. HOST is the name
of this host, so that the command is not run on the wrong one.

The command returns when no program here leads any more. It is refused if no other host could
lead; --yes drains the host nevertheless. It lists groups that have no leader afterwards
because no program campaigns elsewhere.

The exit status is 1 if the host was not drained.`
	c.Example = `  regent drain host2
  regent drain host2 && systemctl stop regent
  regent drain host2 --yes --json`
	c.Flags().BoolVar(&order.Yes, "yes", false, "drain this host although no other host could lead")
	c.RunE = func(c *cobra.Command, args []string) error {
		var out api.Drained
		if printed, err := send(c, args[0], &out); printed || err != nil {
			return err
		}
		w := c.OutOrStdout()
		fmt.Fprintf(w, "%s is drained: it leads nothing until 'regent undrain %s'; %s moved to other hosts\n", out.Member, out.Member, cli.Count(out.Moved, "group"))
		for _, g := range out.Leaderless {
			fmt.Fprintf(w, "%s: no leader: no program campaigns for it on a host that may lead\n", g)
		}
		return nil
	}
	return c
}

func undrainCommand() *cobra.Command {
	c, _, send := drainOrder("undrain")
	c.Short = "Let programs of this host lead again"
	c.Long = `Ends a drain: programs of this host may lead again. They lead when groups have no leader; with
balance in the configuration, groups move back. HOST is the name of this host.

The exit status is 1 if the host is still drained.`
	c.Example = `  regent undrain host2`
	c.RunE = func(c *cobra.Command, args []string) error {
		var out api.Drained
		if printed, err := send(c, args[0], &out); printed || err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "%s is not drained: its programs may lead\n", out.Member)
		return nil
	}
	return c
}

// drainOrder returns what drain and undrain have in common. send gives the order, and says whether its outcome was printed.
func drainOrder(verb string) (c *cobra.Command, order *api.DrainOrder, send func(c *cobra.Command, host string, out *api.Drained) (printed bool, err error)) {
	var socket string
	var asJSON bool
	order = &api.DrainOrder{}
	c = &cobra.Command{Use: verb + " HOST", ValidArgsFunction: thisHost, Args: cli.Args}
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	send = func(c *cobra.Command, host string, out *api.Drained) (bool, error) {
		order.Member = host
		if err := newClient(socket).post(c.Context(), "/v1/"+verb, order, out); err != nil || !asJSON {
			return false, err
		}
		return true, cli.WriteJSON(c, out)
	}
	return c, order, send
}

// thisHost completes the name of this host.
func thisHost(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var s api.AgentStatus
	socket, _ := c.Flags().GetString("socket")
	if len(args) > 0 || newClient(socket).get(c.Context(), "/v1/status", &s) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{s.Name}, cobra.ShellCompDirectiveNoFileComp
}

// drainedHosts returns the names of members that are drained.
func drainedHosts(members []regent.PeerStatus) (names []string) {
	for i := range members {
		if members[i].Drained {
			names = append(names, members[i].Name)
		}
	}
	return names
}

// drainedHere returns the name of this host if it is drained.
func drainedHere(members []regent.PeerStatus) string {
	for i := range members {
		if members[i].Self && members[i].Drained {
			return members[i].Name
		}
	}
	return ""
}

// showDrained prints which hosts are drained, if any are.
func showDrained(w io.Writer, p palette, members []regent.PeerStatus) {
	if host := drainedHere(members); host != "" {
		fmt.Fprintln(w, p.bold("this host is drained:"), "regent undrain", host)
	}
	if hosts := drainedHosts(members); len(hosts) > 0 {
		fmt.Fprintf(w, "%s %s ('regent undrain HOST' there lets it lead again)\n", p.bold("drained:"), strings.Join(hosts, ", "))
	}
}

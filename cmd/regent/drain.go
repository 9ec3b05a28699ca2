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
	c.Short = "Move all leadership away from a host, and keep it away"
	c.Long = `Asks all programs of HOST that lead to stop, hands their groups over to other hosts, and keeps
HOST from leading until 'regent undrain', also after restarts of its agent and of the host.
Programs keep campaigning, and wait. HOST votes as before. Run it on any host: the agent passes
the order on to HOST if you are root, or have the right 'remote' for all groups.

The command returns when no program of HOST leads any more. It is refused if no other host
could lead; --yes drains HOST nevertheless. It lists groups that have no leader afterwards
because no program campaigns elsewhere.

The exit status is 1 if HOST was not drained, or if the outcome is unknown because it does not
answer.`
	c.Example = `  regent drain host2
  regent drain host2 && systemctl stop regent
  regent drain host2 --yes --json`
	c.Flags().BoolVar(&order.Yes, "yes", false, "drain HOST although no other host could lead")
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
		if out.MoreLeaderless > 0 {
			fmt.Fprintf(w, "%s more without a leader: 'regent who' lists them\n", cli.Count(out.MoreLeaderless, "group"))
		}
		return nil
	}
	return c
}

func undrainCommand() *cobra.Command {
	c, _, send := drainOrder("undrain")
	c.Short = "Let programs of a host lead again"
	c.Long = `Ends a drain: programs of HOST may lead again. They lead when groups have no leader; with balance
in the configuration, groups move back. Run it on any host, like 'regent drain'.

The exit status is 1 if HOST is still drained, or if the outcome is unknown.`
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
	c = &cobra.Command{Use: verb + " HOST", ValidArgsFunction: hostNames, Args: cli.Args}
	agentFlags(c, &socket)
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

// hostNames completes the names of all members.
func hostNames(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return memberNames(c), cobra.ShellCompDirectiveNoFileComp
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
		fmt.Fprintf(w, "%s %s ('regent undrain HOST' lets it lead again)\n", p.bold("drained:"), strings.Join(hosts, ", "))
	}
}

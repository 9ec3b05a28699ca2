package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func transferCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var order api.TransferOrder
	c := &cobra.Command{
		Use:   "transfer GROUP MEMBER",
		Short: "Hand a group over to another member",
		Long: `Asks the program that leads GROUP to stop, on whatever host it runs, and hands the group over to
MEMBER when the program has stopped. A program must be campaigning at MEMBER; otherwise the
command is refused and the program that leads goes on. Run it on any host: the agent passes the
order on to the leader's host if you are root, or have the right 'remote'.

The command returns when MEMBER leads. The exit status is 1 if the group was not handed over,
or if the outcome is unknown because the leader's host does not answer; the message states why.`,
		Example: `  regent transfer billing host2`,
		Args:    cli.Args,
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return memberNames(c), cobra.ShellCompDirectiveNoFileComp
			}
			return groupNames(c, args, typed)
		},
		RunE: func(c *cobra.Command, args []string) error {
			order.To = args[1]
			var out api.Outcome
			if err := newClient(socket).post(c.Context(), groupPath(args[0], "/transfer"), order, &out); err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, out)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s was handed over: %s leads it\n", args[0], order.To)
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Uint64Var(&order.Token, "token", 0, "only if this is the token of the leader")
	return c
}

// memberNames completes the names of members.
func memberNames(c *cobra.Command) []string {
	var list api.MemberList
	socket, _ := c.Flags().GetString("socket")
	if newClient(socket).get(c.Context(), "/v1/members", &list) != nil {
		return nil
	}
	var names []string
	for _, m := range list.Members {
		names = append(names, m.Name)
	}
	return names
}

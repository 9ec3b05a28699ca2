package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func resignCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var order api.ResignOrder
	c := &cobra.Command{
		Use:   "resign GROUP",
		Short: "Ask the program that leads to give its group up",
		Long: `Asks the program that leads GROUP to stop, on whatever host it runs, and gives the group up when
the program has stopped. The program may campaign again, and may win: stop it, or hand the
group over with 'regent transfer'. Run it on any host: the agent passes the order on to the
leader's host if you are root, or have the right 'remote'.

The command returns when the group is given up. The exit status is 1 if no program leads the
group, or if the outcome is unknown because the leader's host does not answer. Hosts lead local
and eventual groups without a program, so these cannot be resigned.`,
		Example: `  regent resign billing
  regent resign billing --token 41`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			var out api.Outcome
			if err := newClient(socket).post(c.Context(), groupPath(args[0], "/resign"), order, &out); err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, out)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s was given up; 'regent who %s --wait 10s' shows the next leader\n", args[0], args[0])
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Uint64Var(&order.Token, "token", 0, "only if this is the token of the leader")
	return c
}

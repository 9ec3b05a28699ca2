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
		Short: "Have the program here that leads a group stop, and give the group up",
		Long: `Asks the program of this host that leads GROUP to stop, and gives the group up when it
has. The program may campaign again, and may win: to keep it from leading stop it, or
hand the group over with 'regent transfer'.

It returns when the group was given up. The exit status is 1 if no program of this
host leads the group; then the message says where to say it instead. Local and eventual
groups are led by hosts, and there is nothing to resign.`,
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
			fmt.Fprintf(c.OutOrStdout(), "%s was given up; 'regent who %s --wait 10s' says who leads it next\n", args[0], args[0])
			return nil
		},
	}
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Uint64Var(&order.Token, "token", 0, "only if this is the token of the leader")
	return c
}

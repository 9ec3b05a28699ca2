package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func edictCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var order api.EdictOrder
	c := &cobra.Command{
		Use:   "edict [GROUP]",
		Short: "Stamp an order of the program here that leads",
		Long: `Prints a stamp for an order that is issued now. Stamps have the order in which orders were
issued, across all leaders of the group, so that a receiver can reject an order older than
one that it has seen. Only the holder of the leader's token can create one.

'regent run' sets group and token in the environment of its command.

The exit status is 1 if this host does not lead the group with that token: then do not issue
the order.`,
		Example: `  stamp=$(regent edict) && curl -X POST -H "Regent-Edict: $stamp" http://store/write
  regent edict billing --token 41`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			group := os.Getenv("REGENT_GROUP")
			if len(args) == 1 {
				group = args[0]
			}
			if group == "" {
				return errors.New("missing GROUP: under 'regent run' it is in $REGENT_GROUP")
			}
			if text := os.Getenv("REGENT_TOKEN"); order.Token == 0 && text != "" {
				n, err := strconv.ParseUint(text, 10, 64)
				if err != nil {
					return fmt.Errorf("$REGENT_TOKEN %q: is not a token", text)
				}
				order.Token = n
			}
			if order.Token == 0 {
				return errors.New("no token: give it with --token; under 'regent run' it is in $REGENT_TOKEN, unless an engine elects that offers none")
			}
			var s api.StampInfo
			if err := newClient(socket).post(c.Context(), groupPath(group, "/edict"), order, &s); err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, s)
			}
			fmt.Fprintln(c.OutOrStdout(), s.Stamp)
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Uint64Var(&order.Token, "token", 0, "the token of the leader (default: $REGENT_TOKEN)")
	return c
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func verifyCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var token uint64
	c := &cobra.Command{
		Use:   "verify GROUP",
		Short: "Ask the leader to confirm its leadership",
		Long: `Asks the leader of GROUP to confirm that it leads. The answer is a proof that holds for about
a round trip, counted from the question. 'regent who' prints only what this member believes.
The announced value comes from the leader itself, too.

The exit status is 0 if the leader is proven (with --token: if that is its token), and 1
otherwise.`,
		Example: `  regent verify billing
  regent verify billing --token 41 && echo still ours`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			var p api.ProofInfo
			if err := newClient(socket).get(c.Context(), groupPath(args[0], "/verify"), &p); err != nil {
				return err
			}
			if asJSON {
				if err := cli.WriteJSON(c, p); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(c.OutOrStdout(), "%s leads %s with token %d%s, proven for %s\n", p.Leader, p.Group, p.Token, place(p.Value), length(p.ValidFor))
			}
			if token != 0 && token != p.Token {
				return cli.Failf("token %d is not that of the leader, %d", token, p.Token)
			}
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Uint64Var(&token, "token", 0, "fail unless this is the token of the leader")
	return c
}

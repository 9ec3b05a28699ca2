package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
)

func keygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Draw the key of a council",
		Long: `Draws the key that all members of a council share, and writes it to FILE, which must
not exist and which only its owner may read. Without FILE it is printed.

Copy the file to every member, by a way that keeps it secret. docs/operations.md
says how to change the key of a council that runs.`,
		Example: `  regent keygen /etc/regent/key
  regent keygen | ssh host2 'umask 077; cat > /etc/regent/key'`,
		Args: cli.Args,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := c.OutOrStdout().Write(config.NewKey())
				return err
			}
			if err := config.WriteKey(args[0]); err != nil {
				return &cli.Failure{Err: fmt.Errorf("regent keygen: %w", err)}
			}
			fmt.Fprintf(c.OutOrStdout(), "wrote %s: copy it to every member, and keep it secret\n", args[0])
			return nil
		},
	}
}

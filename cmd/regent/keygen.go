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
		Short: "Generate a cluster key",
		Long: `Generates the cluster key, which all members of a council share, and writes it to FILE.
FILE must not exist; only its owner may read it. Without FILE the key is printed.

Copy the file to every member over a confidential channel. docs/operations.md describes
how to change the key of a running council.`,
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

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
)

// shells are those for which completions can be written.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what a shell needs to complete this command line",
		Long: `Prints completions for bash, zsh, fish or powershell. They know subcommands and flags,
and ask the agent for the names of groups and members. 'make install' installs them.`,
		Example: `  source <(regent completion bash)
  regent completion zsh > "${fpath[1]}/_regent"
  regent completion fish | source`,
		Args:      cli.Args,
		ValidArgs: shells,
		RunE: func(c *cobra.Command, args []string) error {
			root, out := c.Root(), c.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return fmt.Errorf("shell %q: there are %s", args[0], strings.Join(shells, ", "))
		},
	}
}

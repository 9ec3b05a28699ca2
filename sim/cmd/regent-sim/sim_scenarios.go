package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim/script"
)

// scenario is one embedded scenario in the list.
type scenario struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Title    string `json:"title"`
}

func simScenariosCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "scenarios [PREFIX]",
		Short: "List the embedded scenarios",
		Long: `Scenarios lists the scenarios that regent-sim run and regent-sim replay find by name, and the sentence
that each of them proves. With a PREFIX it lists those whose names begin with it.

A name may leave out underscores, leading zeros and its end: hall/fig1 is hall/fig_01_split_in_two.`,
		Example: `  regent-sim scenarios
  regent-sim scenarios hall/
  regent-sim scenarios --json`,
		Args: cli.Args,
		RunE: func(c *cobra.Command, args []string) error {
			all, err := listScenarios(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, all)
			}
			for _, s := range all {
				fmt.Fprintf(c.OutOrStdout(), "%s\n    %s\n", s.Name, s.Title)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// listScenarios describes the embedded scenarios whose names begin with a prefix.
func listScenarios(prefix string) ([]scenario, error) {
	all := []scenario{}
	for _, name := range script.Library() {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		_, text, err := script.Find(name)
		if err != nil {
			return nil, err
		}
		s, err := script.Parse(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, scenario{Name: name, Protocol: s.Protocol, Title: s.Title})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("scenarios: %q: no scenario begins with it (run regent-sim scenarios for all)", prefix)
	}
	return all, nil
}

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// listed is one protocol in the list.
type listed struct {
	Name       string   `json:"name"`
	About      string   `json:"about"`
	Members    int      `json:"members"`
	MinMembers int      `json:"minMembers"`
	Invariants []string `json:"invariants"`
	Messages   []string `json:"messages"`
	Options    []option `json:"options,omitempty"`
	Groups     []string `json:"groups,omitempty"`
	Faults     []string `json:"faults"`
	Coverage   []string `json:"coverage"`
}

// option is one option of a protocol.
type option struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	About   string `json:"about"`
}

func simListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the protocols that can be simulated, and what each must keep",
		Example: `  regent-sim list
  regent-sim list --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := listProtocols()
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, all)
			}
			for _, l := range all {
				l.print(c)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// listProtocols describes what is in the suite.
func listProtocols() ([]listed, error) {
	var all []listed
	for _, p := range suite.All() {
		names, err := invariants(p)
		if err != nil {
			return nil, err
		}
		l := listed{Name: p.Name, About: p.About, Members: p.Members, MinMembers: p.MinMembers, Invariants: names,
			Messages: p.Messages, Coverage: p.Rows}
		for _, o := range p.Options() {
			l.Options = append(l.Options, option{o.Name, o.Default, o.About})
		}
		for _, g := range p.Groups {
			l.Groups = append(l.Groups, string(g))
		}
		for _, f := range p.Faults {
			l.Faults = append(l.Faults, f.Kind.String())
		}
		all = append(all, l)
	}
	return all, nil
}

// invariants names what the checkers of a protocol watch over.
func invariants(p *suite.Protocol) ([]string, error) {
	w, err := sim.New(sim.Config{Members: p.Members, Spawn: p.Spawn})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range p.Checkers(w) {
		names = append(names, c.Name())
	}
	return names, nil
}

func (l *listed) print(c *cobra.Command) {
	out := c.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n", l.Name, l.About)
	for _, row := range []struct {
		label string
		words []string
	}{
		{"members", []string{fmt.Sprintf("%d, at least %d", l.Members, l.MinMembers)}},
		{"invariants", l.Invariants},
		{"messages", l.Messages},
		{"groups", l.Groups},
		{"faults", l.Faults},
		{"must cover", l.Coverage},
	} {
		if len(row.words) > 0 {
			fmt.Fprintf(out, "  %-11s %s\n", row.label, strings.Join(row.words, ", "))
		}
	}
	for i, o := range l.Options {
		label := ""
		if i == 0 {
			label = "options"
		}
		fmt.Fprintf(out, "  %-11s %-18s %s\n", label, o.Name+"="+o.Default, o.About)
	}
}

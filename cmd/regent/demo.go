package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/demo"
	"github.com/regentproject/regent/checkpoint/fractal"
)

// profiles are the timings that can be asked for by name.
var profiles = map[string]regent.Timing{"fast": regent.Fast, "lan": regent.LAN, "wan": regent.WAN}

func demoCommand() *cobra.Command {
	o := demo.Options{Command: cluster.Self("demo-member")}
	profile := "lan"
	var showFractal bool
	var p cli.Page
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch five members elect a leader, and crash, pause and cut them off",
		Long: `Five members run as processes on this host, each with a directory of its own, and
a relay between them that can cut them off from one another or slow them down. A
table shows who leads, with which token, for how much longer, and why that changed.

A tour below the table names what to press and what to look at, in nine steps: enter goes
on, esc ends it, and ? begins it again. The end prints how many leaderships there were, and
for how long two members led at once.

The same, and more, is shown by a page in the browser, where a click breaks things;
its address is printed. Keys crash, pause, resume, cut, slow down and heal the chosen
member in the terminal. Without one, lines on the standard input do: "crash a",
"pause leader", "heal b".

Members come and go while the council runs: "add" and "remove c", the keys + and -, or
the buttons of the page.

With --fractal, seven members compute a zoom into a fractal. Their tiles are kept on
each other's disks: crash, pause or cut off up to three members on the page, and the
others go on with their tiles.

Nothing is left behind when it ends.`,
		Example: `  regent demo
  regent demo --fractal
  regent demo --for 10s --json
  (sleep 3; echo crash leader; sleep 3) | regent demo --for 8s`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			t, ok := profiles[profile]
			if !ok {
				return fmt.Errorf("--profile %q: there are fast, lan and wan", profile)
			}
			if o.For < 0 {
				return fmt.Errorf("--for %v: must not be negative", o.For)
			}
			if showFractal {
				if !c.Flags().Changed("members") {
					o.Members = 7
				}
				o.Command, o.Page, o.Path = cluster.Self("demo-member", "--fractal"), fractal.Page, fractal.Path
			}
			o.Timing, o.In, o.Out, o.Addr = t, c.InOrStdin(), c.OutOrStdout(), p.Addr
			o.Open = func(url string) {
				if err := p.Browse(c.Context(), url, c.OutOrStdout()); err != nil {
					fmt.Fprintln(c.ErrOrStderr(), err)
				}
			}
			if err := demo.Run(c.Context(), o); err != nil {
				return &cli.Failure{Err: fmt.Errorf("regent demo: %w", err)}
			}
			return nil
		},
	}
	c.Flags().IntVar(&o.Members, "members", 5, "how many members")
	c.Flags().BoolVar(&showFractal, "fractal", false, "compute a fractal that survives its members")
	c.Flags().DurationVar(&o.For, "for", 0, "end after this long (default: when somebody quits)")
	c.Flags().BoolVar(&o.JSON, "json", false, "write one JSON line per event instead of a table")
	c.Flags().StringVar(&profile, "profile", "lan", "timing: fast, lan or wan")
	p.Flags(c)
	return c
}

// demoMemberCommand is what the demonstration starts as members. It is not for people.
func demoMemberCommand() *cobra.Command {
	var showFractal bool
	c := &cobra.Command{
		Use:    "demo-member",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var beside []func(context.Context, *regent.Member, cluster.Order) error
			if showFractal {
				beside = append(beside, runFractal)
			}
			if status := cluster.Serve(os.Stdin, os.Stdout, os.Stderr, beside...); status != 0 {
				return &cli.Failure{Err: fmt.Errorf("the member ended with status %d", status)}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&showFractal, "fractal", false, "compute a fractal")
	return c
}

// runFractal computes tiles at a member.
func runFractal(ctx context.Context, m *regent.Member, o cluster.Order) error {
	var names []string
	for _, p := range o.Council {
		names = append(names, p.Name)
	}
	return fractal.Run(ctx, m, filepath.Dir(o.Dir), o.Name, names)
}

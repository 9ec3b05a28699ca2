package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/sim/lab"
)

func labCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Repeat the experiments behind the protocols",
		Long: `The lab repeats the analyses and measurements of the papers that the protocols come from,
on the protocols as they are built here.`,
		Example: `  regent-sim lab timefree-probability --out figures
  regent-sim lab timefree-failover`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(labProbabilityCommand(), labFailoverCommand(), labPatienceCommand())
	return c
}

func labProbabilityCommand() *cobra.Command {
	var (
		asJSON bool
		trials int
		seed   uint64
		dir    string
	)
	c := &cobra.Command{
		Use:   "timefree-probability",
		Short: "How long the order of answers keeps its promise by chance",
		Long: `The time-free elector assumes that the answers of some member always win at two members (f = 1).
If answers arrive in random order that holds for a while only. This prints for how long: in closed form,
exactly, and as measured on the machine itself. It fails if the two differ by more than three standard errors.
With --out it writes the two figures of the paper's appendix as SVG.`,
		Example: `  regent-sim lab timefree-probability
  regent-sim lab timefree-probability --trials 10000 --out figures
  regent-sim lab timefree-probability --trials 0 --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r := lab.NewProbability()
			if trials != 0 {
				p := newProgress(c, "trials")
				err := r.Measure(trials, seed, func(done, total int) {
					p.say(func(time.Duration) string { return fmt.Sprintf("%s: %d of %d numbers measured", p.what, done, total) })
				})
				p.end()
				if err != nil {
					return err
				}
			}
			if dir != "" {
				if err := writeFigures(dir); err != nil {
					return err
				}
			}
			if asJSON {
				if err := cli.WriteJSON(c, r); err != nil {
					return err
				}
			} else {
				printProbability(c.OutOrStdout(), r)
			}
			for _, cell := range r.Cells {
				if math.Abs(cell.Sigmas) > 3 {
					return cli.Failf("T-PX: %d members, %d rounds: measured %.6f, %.1f standard errors from %.6f; try another --seed: one in 370 is that far off by chance",
						cell.Members, cell.Rounds, cell.Measured, cell.Sigmas, cell.P)
				}
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.IntVar(&trials, "trials", 1000, "how many trials on the machine for each number; 0: none")
	flags.Uint64Var(&seed, "seed", 1, "what the trials' randomness comes from")
	flags.StringVar(&dir, "out", "", "write the figures into this directory")
	return c
}

// printProbability prints the tables.
func printProbability(out io.Writer, r *lab.Probability) {
	fmt.Fprintln(out, "How likely MP(1) survives x rounds among n members, answers in random order:")
	fmt.Fprintln(out, "   n    x       p(x)   measured   off by")
	for _, c := range r.Cells {
		fmt.Fprintf(out, "%4d %4d   %.6f", c.Members, c.Rounds, c.P)
		if c.Trials > 0 {
			fmt.Fprintf(out, "   %.6f   %+.1fσ", c.Measured, c.Sigmas)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out, "\nFor how many rounds it survives with a probability of at least p:")
	fmt.Fprintln(out, "   n   p=0.99   p=0.9999")
	for _, s := range r.Sessions {
		fmt.Fprintf(out, "%4d %8d %10d\n", s.Members, s.P99, s.P9999)
	}
}

// writeFigures writes the two figures into a directory, which it makes if need be.
func writeFigures(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	for name, write := range map[string]func(io.Writer) error{
		"timefree-survival.svg": lab.WriteSurvival,
		"timefree-sessions.svg": lab.WriteSessions,
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("figures: %w", err)
		}
		if err := write(f); err != nil {
			f.Close()
			return fmt.Errorf("figures: %s: %w", name, err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("figures: %w", err)
		}
	}
	return nil
}

func labFailoverCommand() *cobra.Command {
	var (
		asJSON bool
		seed   uint64
	)
	c := &cobra.Command{
		Use:   "timefree-failover",
		Short: "How long a dead leader is trusted, by how long it led",
		Long: `In the paper's time-free protocol a dead leader is trusted until its counter outgrows all that the
next one has gathered, so a leader that led for long is trusted for long. This measures it, for the paper's
protocol, with leapfrog, and with leapfrog after eight rounds in a row (five members, f = 2), in rounds of queries.`,
		Example: `  regent-sim lab timefree-failover
  regent-sim lab timefree-failover --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rows, err := lab.MeasureFailover(seed, 100, 1000, 10_000)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, rows)
			}
			out := c.OutOrStdout()
			fmt.Fprintln(out, "Rounds until a dead leader is deposed:")
			fmt.Fprintln(out, "  it led for   plain   leapfrog   leapfrog, h = 8")
			for _, f := range rows {
				fmt.Fprintf(out, "%12d %7d %10d %17d\n", f.History, f.Plain, f.Leap, f.Patient)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Uint64Var(&seed, "seed", 1, "what all randomness comes from")
	return c
}

func labPatienceCommand() *cobra.Command {
	var (
		asJSON bool
		rounds int
		seed   uint64
	)
	c := &cobra.Command{
		Use:   "timefree-patience",
		Short: "How often chance deposes a leader, by f and h",
		Long: `If answers arrive in random order, a leader's may be missing everywhere by chance. The time-free elector
suspects a member only if that happens h times in a row. This measures how often members change their leader
although nobody crashes.`,
		Example: `  regent-sim lab timefree-patience
  regent-sim lab timefree-patience --rounds 20000 --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if rounds < 1 {
				return fmt.Errorf("%d rounds: must be at least 1", rounds)
			}
			rows, err := lab.MeasureMistakes(rounds, seed)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, rows)
			}
			out := c.OutOrStdout()
			fmt.Fprintf(out, "Changes of leader in %d rounds of answers in random order:\n", rounds)
			fmt.Fprintln(out, "   n   f     h=1     h=2     h=3     h=4     h=5     h=6")
			for i, m := range rows {
				if m.Patience == 1 {
					fmt.Fprintf(out, "%4d %3d", m.Members, m.F)
				}
				fmt.Fprintf(out, " %7.1f", m.Changes)
				if i+1 == len(rows) || rows[i+1].Patience == 1 {
					fmt.Fprintln(out)
				}
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.IntVar(&rounds, "rounds", 5000, "how many rounds")
	flags.Uint64Var(&seed, "seed", 1, "what all randomness comes from")
	return c
}

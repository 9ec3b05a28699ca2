package main

import (
	"encoding/json"
	"fmt"
	"io"
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
		Short: "Reproduce the figures, tables and theorems of the papers",
		Long: `The lab reproduces the figures, tables and theorems of the papers that the protocols come from, on the
protocols as they are built here. Each experiment prints what the paper claims, what it measured, and
where the two differ and why. It ends with status 1 if a claim does not hold.`,
		Example: `  regent-sim lab list
  regent-sim lab hall-fig26 --out figures
  regent-sim lab all --out report`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(labListCommand(), labAllCommand())
	for _, e := range lab.All() {
		c.AddCommand(labExperimentCommand(e))
	}
	return c
}

// labOptions are those of every experiment.
type labOptions struct {
	seed  uint64
	quick bool
	json  bool
	dir   string
}

func (o *labOptions) flags(c *cobra.Command, dir string) {
	f := c.Flags()
	f.Uint64Var(&o.seed, "seed", 1, "what all randomness comes from")
	f.BoolVar(&o.quick, "quick", false, "take few samples: less precise, in seconds")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.dir, "out", dir, "write JSON and SVG into this directory")
}

// listedExperiment is one experiment in the list.
type listedExperiment struct {
	Name  string `json:"name"`
	Paper string `json:"paper"`
	Where string `json:"where"`
	Title string `json:"title"`
	Claim string `json:"claim"`
}

func labListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the experiments",
		Example: `  regent-sim lab list
  regent-sim lab list --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var all []listedExperiment
			for _, e := range lab.All() {
				all = append(all, listedExperiment{e.Name, e.Paper, e.Where, e.Title, e.Claim})
			}
			if asJSON {
				return cli.WriteJSON(c, all)
			}
			out := c.OutOrStdout()
			for _, e := range all {
				fmt.Fprintf(out, "%-22s %s, %s: %s\n", e.Name, e.Paper, e.Where, e.Title)
			}
			fmt.Fprintln(out, "\nNot measured:")
			for _, m := range lab.Missing {
				fmt.Fprintf(out, "  %s\n", m)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func labExperimentCommand(e *lab.Experiment) *cobra.Command {
	o := &labOptions{}
	c := &cobra.Command{
		Use:   e.Name,
		Short: e.Paper + ", " + e.Where + ": " + e.Title,
		Long:  fmt.Sprintf("%s, %s: %s.\n\nThe paper claims: %s\n\nWhere we differ: %s", e.Paper, e.Where, e.Title, e.Claim, e.Differs),
		Example: fmt.Sprintf(`  regent-sim lab %s
  regent-sim lab %s --seed 7 --out figures`, e.Name, e.Name),
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := o.run(c, e)
			if err != nil {
				return err
			}
			if o.json {
				if err := cli.WriteJSON(c, r); err != nil {
					return err
				}
			} else {
				r.Write(c.OutOrStdout())
			}
			return failed(r)
		},
	}
	o.flags(c, "")
	return c
}

func labAllCommand() *cobra.Command {
	o := &labOptions{}
	c := &cobra.Command{
		Use:   "all",
		Short: "Run all experiments and write one HTML report",
		Long: `All runs every experiment and writes a directory: index.html with the figures, what each paper claims, what was
measured, and where the two differ and why; and the JSON and SVG of every experiment. It takes minutes;
with --quick, seconds.`,
		Example: `  regent-sim lab all
  regent-sim lab all --quick --out report`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.runAll(c) },
	}
	o.flags(c, "lab-report")
	return c
}

// run runs one experiment and writes its files.
func (o *labOptions) run(c *cobra.Command, e *lab.Experiment) (*lab.Report, error) {
	p := newProgress(c, e.Name)
	r, err := e.Run(c.Context(), lab.Settings{Seed: o.seed, Quick: o.quick, Progress: func(done, total int) {
		p.say(func(took time.Duration) string {
			left := time.Duration(float64(took) * float64(total-done) / float64(done))
			return fmt.Sprintf("%s: %d of %d, about %v left", p.what, done, total, left.Round(time.Second))
		})
	}})
	p.end()
	switch {
	case c.Context().Err() != nil:
		return nil, cli.Failf("lab: interrupted in %s", e.Name)
	case err != nil:
		return nil, cli.Failf("%w", err)
	case o.dir != "":
		err = o.write(r)
	}
	return r, err
}

// write writes the JSON and SVG of a report.
func (o *labOptions) write(r *lab.Report) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fmt.Errorf("lab: --out: %w", err)
	}
	err := writeFile(filepath.Join(o.dir, r.Name+".json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	})
	for i, chart := range r.Charts {
		name := r.Name
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		if err == nil {
			err = writeFile(filepath.Join(o.dir, name+".svg"), chart.WriteSVG)
		}
	}
	return err
}

// writeFile creates a file and lets write fill it.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("lab: --out: %w", err)
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("lab: %s: %w", name, err)
	}
	return nil
}

// runAll runs all experiments, one after the other, and writes the page.
func (o *labOptions) runAll(c *cobra.Command) error {
	page := &lab.Page{Version: "regent " + cli.Version(version), Date: time.Now().UTC().Format(time.DateOnly), Command: fmt.Sprintf("regent lab all --seed %d", o.seed)}
	if o.quick {
		page.Command += " --quick"
	}
	all := lab.All()
	for i, e := range all {
		r, err := o.run(c, e)
		if err != nil {
			return err
		}
		page.Reports = append(page.Reports, r)
		if !o.json {
			verdict := "holds"
			if len(r.Failed()) > 0 {
				verdict = "FAILS"
			}
			fmt.Fprintf(c.OutOrStdout(), "%2d of %d  %s  %-22s %s\n", i+1, len(all), verdict, e.Name, r.Seconds())
		}
	}
	index := filepath.Join(o.dir, "index.html")
	if err := writeFile(index, page.Write); err != nil {
		return err
	}
	if o.json {
		if err := cli.WriteJSON(c, page.Reports); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.OutOrStdout(), "%d of %d checks hold; the report is %s\n", page.Checks()-page.Failed(), page.Checks(), index)
	}
	return failed(page.Reports...)
}

// failed returns the first claim that does not hold, as an error.
func failed(all ...*lab.Report) error {
	for _, r := range all {
		for _, check := range r.Failed() {
			return cli.Failf("lab: %s: claim does not hold: %s: %s (repeat: regent-sim %s)", r.Name, check.Claim, check.Measured, r.Command())
		}
	}
	return nil
}

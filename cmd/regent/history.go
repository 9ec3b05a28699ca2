package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
)

// changesKept is how many views an agent keeps for its history.
const changesKept = 4096

func historyCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var limit int
	var f filter
	c := &cobra.Command{
		Use:   "history [GROUP]",
		Short: "List the last changes of leader and their causes",
		Long: `Lists the last changes of leader of GROUP, or of all groups and of the council, as the agent of
this host saw them, oldest first. Each change is one row with one cause: why the leadership
before ended, who leads, and how long there was no leader. A change of the council is one row
when it is complete. Without GROUP, changes of more than three groups at the same time, with the
same cause and leaders, are one row. GROUP may be a pattern with * and ?, such as '*', which
lists the change of each group.

The agent keeps some thousand changes since its start. Only the agent of the host whose
program led knows how it ended: run 'regent explain GROUP' there.

A later leader has a higher TOKEN. Tokens skip numbers after failed elections, and after a
member has crashed: 'regent explain GROUP' says why.`,
		Example: `  regent history
  regent history --since 10m
  regent history 'shop-*' --since 14:05
  regent history billing --limit 5 --json`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit %d: must be at least 1", limit)
			}
			if err := f.resolve(args, time.Now()); err != nil {
				return err
			}
			h, err := readHistory(c.Context(), newClient(socket), f.one())
			if err != nil {
				return err
			}
			r := newHistory(h, &f)
			if asJSON {
				r.cut(limit)
				return cli.WriteJSON(c, r)
			}
			r.print(c, time.Now(), f.pattern == "", limit)
			return nil
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&limit, "limit", 20, "how many changes at most")
	f.sinceFlag(c)
	return c
}

// readHistory asks for all that is known of the last changes of a group, or of all if it is empty.
func readHistory(ctx context.Context, cl *client, group string) (*api.History, error) {
	path := "/v1/history"
	if group != "" {
		path = groupPath(group, "/history")
	}
	var h api.History
	return &h, cl.get(ctx, path+"?limit="+strconv.Itoa(changesKept), &h)
}

// A changeRow is a change of leader as commands show it.
type changeRow struct {
	view.Turnover
	// Text says the change in words.
	Text string `json:"text"`
}

// historyReport is what history shows.
type historyReport struct {
	Changes []changeRow         `json:"changes"`
	Council []api.CouncilChange `json:"council,omitempty"`
}

// newHistory makes the rows of a history, and leaves those out that the filter does not let through.
func newHistory(h *api.History, f *filter) *historyReport {
	r := &historyReport{Changes: []changeRow{}}
	for _, t := range api.Turnovers(h.Changes) {
		if f.lets(t.Group) && !t.At.Before(f.from) {
			r.Changes = append(r.Changes, changeRow{t, t.String()})
		}
	}
	if f.pattern == "" {
		for i := range h.Council {
			if !h.Council[i].At.Before(f.from) {
				r.Council = append(r.Council, h.Council[i])
			}
		}
	}
	slices.SortStableFunc(r.Changes, func(x, y changeRow) int { return x.At.Compare(y.At) })
	return r
}

// cut leaves the latest changes.
func (r *historyReport) cut(limit int) {
	for len(r.Changes)+len(r.Council) > limit {
		if len(r.Changes) == 0 || len(r.Council) > 0 && r.Council[0].At.Before(r.Changes[0].At) {
			r.Council = r.Council[1:]
		} else {
			r.Changes = r.Changes[1:]
		}
	}
}

// manyGroups is of how many groups a row is at least that is about several.
const manyGroups = 4

// rows returns the rows of a table, oldest first. If they are to be put together, what happened to many groups at once is one row.
func (r *historyReport) rows(p palette, together bool, now time.Time) [][]string {
	type row struct {
		at    time.Time
		cells []string
	}
	var rows []row
	add := func(t *view.Turnover, group, token string) {
		leader := p.bad("none")
		if t.To != "" {
			leader = p.good(t.To)
		}
		rows = append(rows, row{t.At, []string{timeOfDay(t.At, now), p.bold(group), leader, token, t.String()}})
	}
	var all []view.Turnover
	for i := range r.Changes {
		all = append(all, r.Changes[i].Turnover)
	}
	for _, x := range view.Incidents(all) {
		if together && len(x.All) >= manyGroups {
			add(&x.Turnover, fmt.Sprintf("%s and %d more", names.Label(x.Group), len(x.All)-1), "-")
			continue
		}
		for i := range x.All {
			add(&x.All[i], names.Label(x.All[i].Group), tokenText(x.All[i].ToToken))
		}
	}
	for i := range r.Council {
		c := &r.Council[i]
		rows = append(rows, row{c.At, []string{timeOfDay(c.At, now), p.bold("council"), "", "", c.String()}})
	}
	slices.SortStableFunc(rows, func(x, y row) int { return x.at.Compare(y.at) })
	cells := make([][]string, len(rows))
	for i := range rows {
		cells[i] = rows[i].cells
	}
	return cells
}

func (r *historyReport) print(c *cobra.Command, now time.Time, together bool, limit int) {
	out := c.OutOrStdout()
	p := paintFor(out)
	rows := r.rows(p, together, now)
	if len(rows) == 0 {
		fmt.Fprintln(out, "nothing has changed in that time, as far as this agent knows")
		return
	}
	table(out, p, []string{"TIME", "GROUP", "LEADER", "TOKEN", "CHANGE"}, rows[max(0, len(rows)-limit):])
}

// tokenText shows a token where there is one.
func tokenText(token uint64) string {
	if token == 0 {
		return "-"
	}
	return strconv.FormatUint(token, 10)
}

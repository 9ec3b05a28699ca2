package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
)

func watchCommand() *cobra.Command {
	var socket string
	var asJSON, lines bool
	var count int
	c := &cobra.Command{
		Use:   "watch [GROUP]",
		Short: "Show every change of leader as it happens",
		Long: `Shows the leader of GROUP, or of every group, and every change with its cause, "no leader"
included, until it is interrupted. Without GROUP it also shows changes of the council. On a
terminal it shows a live table, otherwise a line for each change.

A later leader has a higher token. Tokens skip numbers after failed elections, and after a
member has crashed: 'regent explain GROUP' says why.

If the agent stops meanwhile, the command reports that on the standard error, and continues
when the agent is back. It does not repeat what has not changed.

The exit status is 3 if the agent is unreachable at the start.`,
		Example: `  regent watch
  regent watch billing --lines
  regent watch billing --json | jq -r .leader`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if count < 0 {
				return fmt.Errorf("--count %d: must not be negative", count)
			}
			path := "/v1/events"
			if len(args) == 1 {
				path = groupPath(args[0], "/events")
			}
			w := &watchView{out: c.OutOrStdout(), warn: c.ErrOrStderr(), left: count,
				seen: make(map[string]shown), stale: make(map[string]bool), asJSON: asJSON}
			w.paint = paintFor(w.out)
			switch {
			case asJSON:
				w.show = w.json
			case lines || !isTerminal(w.out) || count > 0:
				w.show = w.line
			default:
				w.groups = make(map[string]*api.GroupInfo)
				w.show = w.live
			}
			err := w.follow(c.Context(), newClient(socket), path)
			if c.Context().Err() != nil {
				return nil // interrupted: that is how one ends it
			}
			return err
		},
	}
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON for each change")
	c.Flags().BoolVar(&lines, "lines", false, "print lines on a terminal too")
	c.Flags().IntVar(&count, "count", 0, "end after this many lines")
	return c
}

// watchView shows changes.
type watchView struct {
	out   io.Writer
	warn  io.Writer // where to say that the agent has gone
	paint palette
	left  int // lines to go; 0: no limit
	show  func(*api.GroupInfo, string) error
	// groups is what a table shows, and drawn how many lines it has on the terminal.
	groups map[string]*api.GroupInfo
	drawn  int
	// seen is what was shown last of each group, and stale the groups of which nothing was heard since the agent went.
	seen  map[string]shown
	stale map[string]bool
	lost  bool // the agent has gone
	// asJSON says that lines are JSON.
	asJSON bool
}

// take takes an event.
func (w *watchView) take(e event) (more bool, err error) {
	w.found()
	switch e.name {
	case "group":
		var g api.GroupInfo
		if err := json.Unmarshal(e.data, &g); err != nil {
			return false, err
		}
		if w.known(&g) && w.groups == nil {
			return true, nil
		}
		if err := w.show(&g, e.name); err != nil {
			return false, err
		}
		if w.left == 1 {
			return false, nil
		}
		w.left = max(0, w.left-1)
	case "council":
		return w.council(e.data)
	case "pulse":
		if w.groups != nil {
			w.draw()
		}
	case "missed":
		var s api.StreamEvent
		if err := json.Unmarshal(e.data, &s); err != nil {
			return false, err
		}
		return false, fmt.Errorf("watching is too slow: %d changes were missed", s.Missed)
	}
	return true, nil
}

// council shows a change of the council that is over. A table shows groups only.
func (w *watchView) council(data []byte) (more bool, err error) {
	var e api.StreamEvent
	if err := json.Unmarshal(data, &e); err != nil || e.Council == nil || w.groups != nil {
		return err == nil, err
	}
	if w.asJSON {
		err = cli.WriteJSONLine(w.out, e)
	} else {
		_, err = fmt.Fprintf(w.out, "%s  %s: %v\n", e.Council.At.Format("15:04:05.000"), w.paint.bold("council"), e.Council)
	}
	last := w.left == 1
	w.left = max(0, w.left-1)
	return !last && err == nil, err
}

func (w *watchView) json(g *api.GroupInfo, _ string) error {
	return cli.WriteJSONLine(w.out, g)
}

func (w *watchView) line(g *api.GroupInfo, _ string) error {
	who := w.paint.bad("no leader")
	switch {
	case g.Leader == "":
	case ledByPrograms(g.Mode):
		who = fmt.Sprintf("%s leads with token %d%s", w.paint.good(g.Leader), g.Token, place(g.Value))
	default:
		who = w.paint.good(g.Leader) + " leads, " + modeLabel(&g.Change)
	}
	if g.Mine && g.Stopping && ledByPrograms(g.Mode) {
		who += ", and was asked to stop"
	}
	at := g.At
	if at.IsZero() { // nobody has heard of it yet
		at = time.Now()
	}
	_, err := fmt.Fprintf(w.out, "%s  %s: %s (%v)\n", at.Format("15:04:05.000"), w.paint.bold(names.Label(g.Group)), who, g.Cause)
	return err
}

// place shows what a leader announces behind who it is.
func place(value string) string {
	if value == "" {
		return ""
	}
	return " at " + names.Show(value)
}

func (w *watchView) live(g *api.GroupInfo, _ string) error {
	w.groups[g.Group] = g
	w.draw()
	return nil
}

// draw draws the table over the one before.
func (w *watchView) draw() {
	var b strings.Builder
	if w.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", w.drawn)
	}
	c := &cobra.Command{}
	c.SetOut(&b)
	var all []api.GroupInfo
	for _, g := range w.groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(x, y api.GroupInfo) int { return strings.Compare(x.Group, y.Group) })
	showGroups(c, w.paint, all)
	w.drawn = len(all) + 1
	_, _ = io.WriteString(w.out, b.String())
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
)

func watchCommand() *cobra.Command {
	var socket string
	var asJSON, lines bool
	var count int
	var f filter
	c := &cobra.Command{
		Use:   "watch [GROUP]",
		Short: "Show every change of leader as it happens",
		Long: `Shows the leader of GROUP, or of every group, and every change of leader, until it is
interrupted. Each change is one line with one cause: why the leadership before ended, who
leads, and how long there was no leader. If there is still no leader after a second, a line
reports that, and another one the next leader. Without GROUP it also shows changes of the
council. GROUP may be a pattern with * and ?. On a terminal it shows a live table; 'regent top'
is for many groups.

With --json it prints a line for each view that the agent reports, "no leader" included.

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
			if err := f.resolve(args, time.Now()); err != nil {
				return err
			}
			path := "/v1/events"
			if group := f.one(); group != "" {
				path = groupPath(group, "/events")
			}
			w := newWatchView(c.OutOrStdout(), c.ErrOrStderr(), count, asJSON)
			w.filter = f
			w.paint = paintFor(w.out)
			switch {
			case asJSON:
				w.show = w.json
			case lines || !isTerminal(w.out) || count > 0:
				w.show = w.line
			default:
				w.groups = make(map[string]*groupRow)
				w.show = w.live
			}
			defer w.stop()
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			w.enough = cancel
			err := w.follow(ctx, newClient(socket), path)
			if ctx.Err() != nil {
				return nil // interrupted: that is how one ends it
			}
			return err
		},
	}
	agentFlags(c, &socket)
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
	filter
	// mu guards what follows, and out, against the timer that reports groups without a leader.
	mu sync.Mutex
	// trackers follow the views of each group, and missing has the timers of groups without a leader.
	trackers map[string]*view.Tracker
	missing  map[string]*time.Timer
	// groups is what a table shows, and drawn how many lines it has on the terminal.
	groups map[string]*groupRow
	drawn  int
	// seen is what was shown last of each group, and stale the groups of which nothing was heard since the agent went.
	seen  map[string]shown
	stale map[string]bool
	lost  bool // the agent has gone
	full  bool // all lines that were asked for were shown: then enough is called
	// enough ends the stream.
	enough func()
	// asJSON says that lines are JSON.
	asJSON bool
}

func newWatchView(out, warn io.Writer, count int, asJSON bool) *watchView {
	return &watchView{out: out, warn: warn, left: count, seen: make(map[string]shown), stale: make(map[string]bool), asJSON: asJSON,
		trackers: make(map[string]*view.Tracker), missing: make(map[string]*time.Timer), enough: func() {}}
}

// stop has no timer report anything from now on.
func (w *watchView) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, timer := range w.missing {
		timer.Stop()
	}
	w.show = nil
}

// take takes an event.
func (w *watchView) take(e event) (more bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full {
		return false, nil
	}
	w.found()
	switch e.name {
	case "group":
		var g api.GroupInfo
		if err := json.Unmarshal(e.data, &g); err != nil {
			return false, err
		}
		if !w.lets(g.Group) || w.known(&g) && w.groups == nil {
			return true, nil
		}
		if err := w.show(&g, e.name); err != nil {
			return false, err
		}
		return !w.full, nil
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
	if err := json.Unmarshal(data, &e); err != nil || e.Council == nil || w.groups != nil || w.pattern != "" {
		return err == nil, err
	}
	if w.asJSON {
		return w.counted(cli.WriteJSONLine(w.out, e))
	}
	_, err = fmt.Fprintf(w.out, "%s  %s: %v\n", timeOfDay(e.Council.At, time.Now()), w.paint.bold("council"), e.Council)
	return w.counted(err)
}

// counted counts a line that was shown.
func (w *watchView) counted(err error) (more bool, _ error) {
	w.full = w.left == 1
	if w.full {
		w.enough()
	}
	w.left = max(0, w.left-1)
	return !w.full && err == nil, err
}

func (w *watchView) json(g *api.GroupInfo, _ string) error {
	_, err := w.counted(cli.WriteJSONLine(w.out, g))
	return err
}

// noLeaderFor is how long a group has no leader before a line of its own reports that.
const noLeaderFor = time.Second

// line shows a change of leader once the next leader is known, or if there has been none for a while.
func (w *watchView) line(g *api.GroupInfo, _ string) error {
	t := w.trackers[g.Group]
	first := t == nil
	if first {
		t = new(view.Tracker)
		w.trackers[g.Group] = t
	}
	done := t.Add(&g.View, g.Ended)
	if timer := w.missing[g.Group]; timer != nil && g.Leader != "" {
		timer.Stop()
		delete(w.missing, g.Group)
	}
	switch {
	case first && g.Leader != "":
		since := ""
		if !g.At.IsZero() {
			since = " since " + timeOfDay(g.At, time.Now())
		}
		return w.write(time.Now(), g, w.paint.good(g.Leader)+" leads"+since+w.details(g))
	case first:
		return w.write(time.Now(), g, w.paint.bad(newGroupRow(g, nil).Text))
	case done != nil:
		return w.write(done.At.Add(done.Gap), g, done.String()+w.details(g))
	case g.Leader == "":
		w.miss(g, t)
		return nil
	case g.Mine && g.Stopping && ledByPrograms(g.Mode):
		return nil // what follows says why
	}
	return w.write(time.Now(), g, g.Leader+" leads"+w.details(g)) // with another value, or other support
}

// miss reports after a while that a group has no leader, unless it has one then. It does so once for each change.
func (w *watchView) miss(g *api.GroupInfo, t *view.Tracker) {
	if w.missing[g.Group] != nil {
		return
	}
	w.missing[g.Group] = time.AfterFunc(noLeaderFor, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if open := t.Open(); open != nil && w.show != nil && !w.full {
			_ = w.write(open.At, g, open.String())
		}
	})
}

func (w *watchView) write(at time.Time, g *api.GroupInfo, text string) error {
	_, err := fmt.Fprintf(w.out, "%s  %s: %s\n", timeOfDay(at, time.Now()), w.paint.bold(names.Label(g.Group)), text)
	_, err = w.counted(err)
	return err
}

// details are what belongs to a leadership, besides the leader.
func (w *watchView) details(g *api.GroupInfo) string {
	if !ledByPrograms(g.Mode) {
		return ", " + modeLabel(&g.Change)
	}
	return fmt.Sprintf(" (token %d)", g.Token) + place(g.Value)
}

// place shows what a leader announces behind who it is.
func place(value string) string {
	if value == "" {
		return ""
	}
	return " at " + names.Show(value)
}

func (w *watchView) live(g *api.GroupInfo, _ string) error {
	t := w.trackers[g.Group]
	if t == nil {
		t = new(view.Tracker)
		w.trackers[g.Group] = t
	}
	last := t.Add(&g.View, g.Ended)
	if open := t.Open(); open != nil {
		last = open
	}
	if row := w.groups[g.Group]; last == nil && row != nil && row.Leader == g.Leader && row.Token == g.Token {
		row.GroupInfo = *g // the change before is still the last one
	} else {
		row := newGroupRow(g, last)
		w.groups[g.Group] = &row
	}
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
	var all []groupRow
	for _, g := range w.groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(x, y groupRow) int { return strings.Compare(x.Group, y.Group) })
	rest := 0
	if fits := linesOf(w.out) - 3; fits > 0 && len(all) > fits {
		all, rest = all[:fits], len(all)-fits
	}
	showGroups(c, w.paint, all, time.Now())
	w.drawn = len(all) + 1
	if rest > 0 {
		fmt.Fprintf(&b, "and %d more: regent top\n", rest)
		w.drawn++
	}
	_, _ = io.WriteString(w.out, b.String())
}

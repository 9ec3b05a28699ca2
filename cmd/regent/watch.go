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

const watchLong = `Shows the leader of GROUP, or of every group, and every change of leader, until it is
interrupted. Each change is one line with one cause: why the leadership before ended, who
leads, and how long there was no leader. If there is still no leader after a second, a line
reports that, and another one the next leader. Without GROUP it also shows changes of the
council. GROUP may be a pattern with * and ?. On a terminal it shows a live table; 'regent top'
is for many groups.

With --since it first prints the changes since then, in place of the present leaders, and
prints lines on a terminal too.

With --json it prints one object for each change, in one line: first the last change of each
group, if only that it has no leader (with --since: the changes since then), then each change as
it happens. The field "to" is the member that leads; it is missing while no member does.

A later leader has a higher token. Tokens skip numbers after failed elections, and after a
member has crashed: 'regent explain GROUP' says why.

If the agent stops meanwhile, the command reports that on the standard error, and continues
when the agent is back. It does not repeat what has not changed.

The exit status is 3 if the agent is unreachable at the start.`

func watchCommand() *cobra.Command {
	var socket string
	var asJSON, lines bool
	var count int
	var f filter
	c := &cobra.Command{
		Use:   "watch [GROUP]",
		Short: "Show every change of leader as it happens",
		Long:  watchLong,
		Example: `  regent watch
  regent watch billing --lines
  regent watch 'shop-*' --since 10m
  regent watch billing --json | jq -r '.to // "no leader"'`,
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
			case asJSON || lines || !isTerminal(w.out) || count > 0 || f.since != "":
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
	f.sinceFlag(c)
	return c
}

// watchView shows changes.
type watchView struct {
	out   io.Writer
	warn  io.Writer // where to say that the agent has gone
	paint palette
	left  int // lines to go; 0: no limit
	show  func(*api.GroupInfo) error
	filter
	// mu guards what follows, and out, against the timer that reports groups without a leader.
	mu sync.Mutex
	// trackers follow the views of each group, and missing has the timers of groups without a leader.
	trackers map[string]*view.Tracker
	missing  map[string]*time.Timer
	// past is the last view of each group that the history had, and begun has the groups that the stream has reported.
	past  map[string]*api.Change
	begun map[string]bool
	// groups is what a table shows, and drawn how many lines it has on the terminal.
	groups map[string]*groupRow
	drawn  int
	// councilShown is the serial of the last change of the council that was shown.
	councilShown uint64
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
		trackers: make(map[string]*view.Tracker), missing: make(map[string]*time.Timer), past: make(map[string]*api.Change), begun: make(map[string]bool), enough: func() {}}
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
		if err := w.show(&g); err != nil {
			return false, err
		}
		return !w.full, nil
	case "council":
		var s api.StreamEvent
		if err := json.Unmarshal(e.data, &s); err != nil || s.Council == nil {
			return err == nil, err
		}
		return w.council(s.Council)
	case "pulse":
		if w.groups != nil {
			w.draw()
		}
	case "missed":
		var s api.StreamEvent
		if err := json.Unmarshal(e.data, &s); err != nil {
			return false, err
		}
		return false, fmt.Errorf("%d changes were missed: the output is read too slowly (start the command again)", s.Missed)
	}
	return true, nil
}

// council shows a change of the council that is over, once. A table shows groups only.
func (w *watchView) council(c *api.CouncilChange) (more bool, err error) {
	if w.groups != nil || w.pattern != "" || c.Serial != 0 && c.Serial <= w.councilShown {
		return true, nil
	}
	w.councilShown = c.Serial
	if w.asJSON {
		return w.counted(cli.WriteJSONLine(w.out, api.StreamEvent{Council: c}))
	}
	_, err = fmt.Fprintf(w.out, "%s  %s: %v\n", timeOfDay(c.At, time.Now()), w.paint.bold("council"), c)
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

// noLeaderFor is how long a group has no leader before a line of its own reports that.
const noLeaderFor = time.Second

// line shows a change of leader once the next leader is known, or if there has been none for a while.
func (w *watchView) line(g *api.GroupInfo) error {
	t, past := w.tracker(g.Group), w.past[g.Group]
	had := past != nil && g.Serial > 0 && g.Serial <= past.Serial // the history had this view, or a later one
	if !w.begun[g.Group] {
		w.begun[g.Group] = true
		if had {
			return w.begin(t, past)
		}
		t.Add(&g.View, g.Ended)
		return w.begin(t, &g.Change)
	}
	if had {
		return nil
	}
	done := t.Add(&g.View, g.Ended)
	if timer := w.missing[g.Group]; timer != nil && g.Leader != "" {
		timer.Stop()
		delete(w.missing, g.Group)
	}
	switch {
	case done != nil:
		return w.write(&g.Change, done, done.String()+w.details(&g.Change))
	case g.Leader == "":
		w.miss(&g.Change, t)
		return nil
	case g.Mine && g.Stopping && ledByPrograms(g.Mode):
		return nil // what follows says why
	}
	return w.write(&g.Change, nil, g.Leader+" leads"+w.details(&g.Change)) // with another value, or other support
}

// begin shows how a group is when the command begins: its leader, or its last change.
func (w *watchView) begin(t *view.Tracker, c *api.Change) error {
	last := t.Last()
	if open := t.Open(); open != nil {
		last = open
	}
	asked := w.since != ""
	switch {
	case asked && (w.past[c.Group] != nil || c.At.Before(w.from)): // shown already, or too long ago
		return nil
	case asked && last == nil: // no member has led it yet
		return nil
	case asked || w.asJSON:
		if last == nil {
			last = &view.Turnover{Group: c.Group, Mode: c.Mode, To: c.Leader, ToToken: c.Token, At: c.At, Cause: c.Cause}
		}
		return w.write(c, last, last.String()+w.details(c))
	case c.Leader == "":
		return w.write(c, nil, w.paint.bad(newGroupRow(&api.GroupInfo{Change: *c}, nil).Text))
	}
	since := ""
	if !c.At.IsZero() {
		since = " since " + timeOfDay(c.At, time.Now())
	}
	return w.write(c, nil, w.paint.good(c.Leader)+" leads"+since+w.details(c))
}

// tracker returns what follows the views of a group.
func (w *watchView) tracker(group string) *view.Tracker {
	t := w.trackers[group]
	if t == nil {
		t = new(view.Tracker)
		w.trackers[group] = t
	}
	return t
}

// miss reports after a while that a group has no leader, unless it has one then. It does so once for each change.
func (w *watchView) miss(c *api.Change, t *view.Tracker) {
	if w.missing[c.Group] != nil {
		return
	}
	w.missing[c.Group] = time.AfterFunc(noLeaderFor, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if open := t.Open(); open != nil && w.show != nil && !w.full {
			_ = w.write(c, open, open.String())
		}
	})
}

// A watchedChange is what watch prints of a change.
type watchedChange struct {
	changeRow
	// Value is what To announces.
	Value string `json:"value,omitempty"`
	// Support are the members that support To, in groups that hosts lead.
	Support []string `json:"support,omitempty"`
}

// write prints a line about a change of leader; nil: the leader is the same, and what belongs to its leadership has changed.
func (w *watchView) write(c *api.Change, t *view.Turnover, text string) error {
	at := time.Now()
	if t == nil {
		t = &view.Turnover{Group: c.Group, Mode: c.Mode, From: c.Leader, FromToken: c.Token, To: c.Leader, ToToken: c.Token, At: at, Cause: c.Cause}
	} else {
		at = t.At.Add(t.Gap)
	}
	var err error
	if w.asJSON {
		row := watchedChange{changeRow: changeRow{*t, text}}
		if t.To != "" {
			row.Value, row.Support = c.Value, c.Support
		}
		err = cli.WriteJSONLine(w.out, row)
	} else {
		_, err = fmt.Fprintf(w.out, "%s  %s: %s\n", timeOfDay(at, time.Now()), w.paint.bold(names.Label(c.Group)), text)
	}
	_, err = w.counted(err)
	return err
}

// details are what belongs to a leadership, besides the leader.
func (w *watchView) details(c *api.Change) string {
	switch {
	case w.asJSON: // other fields have them
		return ""
	case c.Leader == "":
		return ""
	case !ledByPrograms(c.Mode):
		return ", " + modeLabel(c)
	}
	return fmt.Sprintf(" (token %d)", c.Token) + place(c.Value)
}

// place shows what a leader announces behind who it is.
func place(value string) string {
	if value == "" {
		return ""
	}
	return " at " + names.Show(value)
}

func (w *watchView) live(g *api.GroupInfo) error {
	t := w.tracker(g.Group)
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

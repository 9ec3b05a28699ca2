package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

func whoCommand() *cobra.Command {
	var socket string
	var asJSON, value bool
	var wait time.Duration
	var list whoList
	c := &cobra.Command{
		Use:   "who [GROUP]",
		Short: "Show which member leads",
		Long: `Prints the member that leads GROUP, as far as the agent of this host knows. Without GROUP, or
with a pattern with * and ?, it lists groups: leader, token, since when, the last change and its
cause, the mode of local and eventual groups, which hosts lead without a program, the values
that leaders announce ('regent run --announce'), and the drained hosts. For a single group,
--value prints the value in place of the member.

A group that was given up more than 5 minutes ago, and for which no program of this host
campaigns, is listed with --all only.

TOKEN is the number of the leadership: a later leader has a higher one, so a receiver of
orders can reject those of an earlier leader. It skips numbers after failed elections,
and after a member has crashed.

With --wait it waits until the group has a leader.

The output can be outdated when you read it. 'regent verify' asks the leader for a proof.
Use 'regent run' for work that only the leader may do: it stops that work in time.

The exit status is 0 if the group has a leader (without GROUP: if any group has one), 1 if
not, and 3 if the agent is unreachable.`,
		Example: `  regent who billing
  regent who billing --wait 30s
  regent who 'shop-*' --since 10m
  regent who --json
  ssh "$(regent who billing)" tail /var/log/billing.log
  curl "http://$(regent who web --value)/"`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if wait < 0 {
				return fmt.Errorf("--wait %v: must not be negative", wait)
			}
			if value && asJSON {
				return errors.New("--value and --json: choose one (JSON has the value, too)")
			}
			cl := newClient(socket)
			if err := list.resolve(args, time.Now()); err != nil {
				return err
			}
			if list.one() == "" {
				if value {
					return errors.New("--value: missing GROUP (usage: regent who GROUP --value)")
				}
				if wait > 0 {
					return errors.New("--wait: missing GROUP (usage: regent who GROUP --wait 30s)")
				}
				return list.run(c, cl, asJSON)
			}
			return whoOne(c, cl, args[0], wait, asJSON, value)
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&value, "value", false, "with GROUP: print what the leader announces, such as its address, in place of its name")
	c.Flags().DurationVar(&wait, "wait", 0, "wait for a leader, for at most this long")
	c.Flags().BoolVar(&list.all, "all", false, "list groups that were given up long ago, too")
	list.sinceFlag(c)
	return c
}

// whoOne prints the leader of a group.
func whoOne(c *cobra.Command, cl *client, group string, wait time.Duration, asJSON, value bool) error {
	g, err := whoLeads(c.Context(), cl, group, wait)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		if err := cli.WriteJSON(c, g); err != nil {
			return err
		}
	case value && g.Value != "":
		fmt.Fprintln(c.OutOrStdout(), names.Show(g.Value))
	case value && g.Leader != "":
		return cli.Failf("%s: %s leads, and announces no value (start its program with 'regent run --announce')", group, g.Leader)
	case g.Leader != "":
		fmt.Fprintln(c.OutOrStdout(), g.Leader)
	}
	switch {
	case g.Leader != "":
		return nil
	case asJSON:
		return cli.Silently(cli.Failed)
	}
	return cli.Failf("%s: no leader (%v; run 'regent explain %s')", group, g.Cause, group)
}

// whoLeads asks about a group, and waits for a leader if that is wanted.
func whoLeads(ctx context.Context, cl *client, group string, wait time.Duration) (*api.GroupInfo, error) {
	if wait == 0 {
		var g api.GroupInfo
		return &g, cl.get(ctx, groupPath(group, ""), &g)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errWaited)
	defer cancel()
	for {
		var last api.GroupInfo
		err := cl.events(ctx, groupPath(group, "/events"), func(e event) (bool, error) {
			if e.name != "group" {
				return true, nil
			}
			last = api.GroupInfo{}
			err := json.Unmarshal(e.data, &last)
			return last.Leader == "", err
		})
		var r *refusal
		switch {
		case err == nil:
			return &last, nil
		case errors.Is(err, errWaited) || ctx.Err() != nil:
			return nil, cli.Failf("%s: no leader within %v ('regent status' shows which members are heard)", group, wait)
		case errors.As(err, &r) && r.status == http.StatusServiceUnavailable:
			// The agent itself waits for its council.
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		default:
			return nil, err
		}
	}
}

var errWaited = errors.New("waited long enough")

// whoList is which groups who lists.
type whoList struct {
	filter
	all bool
}

// endedFor is how long ago a group was given up that is not listed unless that is asked for.
const endedFor = 5 * time.Minute

// run lists groups.
func (l *whoList) run(c *cobra.Command, cl *client, asJSON bool) error {
	known, err := allGroups(c.Context(), cl)
	if err != nil {
		return err
	}
	// What is drained explains why nothing is led there, and the history why a leader changed; without them there is the rest to say.
	var members api.MemberList
	_ = cl.get(c.Context(), "/v1/members", &members)
	var programs api.SessionList
	_ = cl.get(c.Context(), "/v1/sessions", &programs)
	h, err := readHistory(c.Context(), cl, "")
	if err != nil {
		h = &api.History{}
	}
	rows, hidden := l.choose(known, h, programs.Sessions, time.Now())
	led := slices.ContainsFunc(rows, func(g groupRow) bool { return g.Leader != "" })
	switch {
	case asJSON:
		if err := cli.WriteJSON(c, whoReport{Groups: rows, Hidden: hidden, Drained: drainedHosts(members.Members)}); err != nil {
			return err
		}
	case len(known) == 0:
		return cli.Failf("no groups yet: start a program with 'regent run GROUP -- COMMAND'")
	default:
		p := paintFor(c.OutOrStdout())
		if len(rows) > 0 {
			showGroups(c, p, rows, time.Now())
		} else {
			fmt.Fprintln(c.ErrOrStderr(), "no group matches")
		}
		if hidden > 0 {
			fmt.Fprintf(c.OutOrStdout(), "and %s given up more than 5 minutes ago: regent who --all\n", cli.Count(hidden, "group"))
		}
		showDrained(c.OutOrStdout(), p, members.Members)
	}
	if !led {
		return cli.Silently(cli.Failed)
	}
	return nil
}

// A groupRow is a group as commands list it.
type groupRow struct {
	api.GroupInfo
	// Text says the last change of its leader in words.
	Text string `json:"text"`
}

// newGroupRow makes the row of a group. Last is its last change; nil if that is not known.
func newGroupRow(g *api.GroupInfo, last *view.Turnover) groupRow {
	if last == nil || last.To != g.Leader || last.ToToken != g.Token && g.Leader != "" {
		t := view.Turnover{Group: g.Group, Mode: g.Mode, To: g.Leader, ToToken: g.Token, At: g.At, Cause: g.Cause}
		last = &t
	}
	return groupRow{*g, last.String()}
}

// choose makes the rows of the groups that the filter lets through, and counts those that are left out because they were given up long ago.
func (l *whoList) choose(known []api.GroupInfo, h *api.History, programs []api.SessionInfo, now time.Time) (rows []groupRow, hidden int) {
	last := make(map[string]*view.Turnover)
	turnovers := api.Turnovers(h.Changes)
	for i := range turnovers {
		last[turnovers[i].Group] = &turnovers[i]
	}
	campaigns := make(map[string]bool)
	for i := range programs {
		campaigns[programs[i].Group] = true
	}
	rows = []groupRow{}
	for i := range known {
		g := &known[i]
		if !l.lets(g.Group) || g.At.Before(l.from) {
			continue
		}
		if !l.all && ended(g, now) && !campaigns[g.Group] {
			hidden++
			continue
		}
		rows = append(rows, newGroupRow(g, last[g.Group]))
	}
	return rows, hidden
}

// ended says that a group was given up long ago: nobody misses its leader.
func ended(g *api.GroupInfo, now time.Time) bool {
	return g.Leader == "" && ledByPrograms(g.Mode) && now.Sub(g.At) > endedFor && (g.Cause.Why == why.Resigned || g.Cause.Why == why.Started)
}

// whoReport is all that who shows of all groups.
type whoReport struct {
	Groups []groupRow `json:"groups"`
	// Hidden counts groups that were left out because they were given up long ago.
	Hidden int `json:"hidden,omitempty"`
	// Drained are the hosts that operators keep from leading.
	Drained []string `json:"drained,omitempty"`
}

// allGroups reads the list of groups, page by page.
func allGroups(ctx context.Context, cl *client) ([]api.GroupInfo, error) {
	all := []api.GroupInfo{}
	for after := ""; ; {
		var page api.GroupList
		if err := cl.get(ctx, "/v1/groups?after="+urlQuery(after), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Groups...)
		after = page.Next
		if after == "" {
			return all, nil
		}
	}
}

// showGroups prints groups as a table.
func showGroups(c *cobra.Command, p palette, all []groupRow, now time.Time) {
	header := []string{"GROUP", "LEADER", "TOKEN", "SINCE", "LAST CHANGE", ""}
	announced := slices.ContainsFunc(all, func(g groupRow) bool { return g.Value != "" })
	if announced {
		header = slices.Insert(header, 3, "VALUE")
	}
	rows := make([][]string, len(all))
	for i := range all {
		g := &all[i]
		leader := p.bad("none")
		if g.Leader != "" {
			leader = p.good(g.Leader)
		}
		rows[i] = []string{p.bold(names.Label(g.Group)), leader, tokenOf(&g.Change), timeOfDay(g.At, now), g.Text, standing(&g.Change)}
		if announced {
			rows[i] = slices.Insert(rows[i], 3, or(names.Show(g.Value)))
		}
	}
	table(c.OutOrStdout(), p, header, rows)
}

// ledByPrograms says whether programs lead a group, by leases with tokens. Hosts lead local and eventual ones by themselves.
func ledByPrograms(mode regent.Mode) bool { return mode == regent.Quorum || mode == "" }

// tokenOf shows the leader's token, if there is one.
func tokenOf(c *api.Change) string {
	if c.Leader == "" || c.Token == 0 { // hosts lead local and eventual groups, without one
		return "-"
	}
	return strconv.FormatUint(c.Token, 10)
}

// standing says what is special about a group: that this host leads it, and what it is if not a quorum group.
func standing(c *api.Change) string {
	switch {
	case !ledByPrograms(c.Mode) && c.Mine:
		return "this host leads; " + modeLabel(c)
	case !ledByPrograms(c.Mode):
		return modeLabel(c)
	case c.Mine && c.Stopping:
		return "a program here leads, and was asked to stop"
	case c.Mine:
		return "a program here leads"
	}
	return ""
}

// modeLabel is the mode of a group, and who supports its leader if that is known.
func modeLabel(c *api.Change) string {
	if len(c.Support) == 0 {
		return string(c.Mode)
	}
	return string(c.Mode) + ", supported by " + strings.Join(c.Support, ", ")
}

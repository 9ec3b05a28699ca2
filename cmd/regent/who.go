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
)

func whoCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "who [GROUP]",
		Short: "Show which member leads",
		Long: `Prints the member that leads GROUP, as far as the agent of this host knows. Without GROUP it
lists all groups that the agent knows, with the mode of local and eventual groups, which hosts
lead without a program, the values that leaders announce ('regent run --announce'), and the
drained hosts. --json prints the value of a single group, too.

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
  regent who --json
  ssh "$(regent who billing)" tail /var/log/billing.log`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if wait < 0 {
				return fmt.Errorf("--wait %v: must not be negative", wait)
			}
			cl := newClient(socket)
			if len(args) == 0 {
				if wait > 0 {
					return errors.New("--wait: missing GROUP (usage: regent who GROUP --wait 30s)")
				}
				return whoAll(c, cl, asJSON)
			}
			g, err := whoLeads(c.Context(), cl, args[0], wait)
			if err != nil {
				return err
			}
			if asJSON {
				if err := cli.WriteJSON(c, g); err != nil {
					return err
				}
			} else if g.Leader != "" {
				fmt.Fprintln(c.OutOrStdout(), g.Leader)
			}
			switch {
			case g.Leader != "":
				return nil
			case asJSON:
				return cli.Silently(cli.Failed)
			}
			return cli.Failf("%s: no leader (%v); 'regent explain %s' says more", args[0], g.Cause, args[0])
		},
	}
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&wait, "wait", 0, "wait for a leader, for at most this long")
	return c
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
			return nil, cli.Failf("%s: no leader within %v; 'regent status' says who can be heard", group, wait)
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

// whoAll lists all groups.
func whoAll(c *cobra.Command, cl *client, asJSON bool) error {
	all, err := allGroups(c.Context(), cl)
	if err != nil {
		return err
	}
	// What is drained explains why nothing is led there; it is no reason to say nothing else.
	var members api.MemberList
	_ = cl.get(c.Context(), "/v1/members", &members)
	led := slices.ContainsFunc(all, func(g api.GroupInfo) bool { return g.Leader != "" })
	switch {
	case asJSON:
		if err := cli.WriteJSON(c, whoReport{GroupList: api.GroupList{Groups: all}, Drained: drainedHosts(members.Members)}); err != nil {
			return err
		}
	case len(all) == 0:
		return cli.Failf("no groups yet: start a program with 'regent run GROUP -- COMMAND'")
	default:
		p := paintFor(c.OutOrStdout())
		showGroups(c, p, all)
		showDrained(c.OutOrStdout(), p, members.Members)
	}
	if !led {
		return cli.Silently(cli.Failed)
	}
	return nil
}

// whoReport is all that who shows of all groups.
type whoReport struct {
	api.GroupList
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
func showGroups(c *cobra.Command, p palette, all []api.GroupInfo) {
	header := []string{"GROUP", "LEADER", "TOKEN", "FOR", "WHY", ""}
	announced := slices.ContainsFunc(all, func(g api.GroupInfo) bool { return g.Value != "" })
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
		rows[i] = []string{p.bold(names.Label(g.Group)), leader, tokenOf(&g.Change), ago(g.At), g.Cause.String(), standing(&g.Change)}
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

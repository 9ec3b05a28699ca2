package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

func historyCommand() *cobra.Command {
	var socket string
	var asJSON bool
	var limit int
	c := &cobra.Command{
		Use:   "history [GROUP]",
		Short: "List the last changes of leader and their causes",
		Long: `Lists the last changes of GROUP, or of all groups and of the council, as the agent of this
host saw them, oldest first. A change of the council is one line when it is complete: which
members it concerned, the new number, and how long it took. The agent keeps about a thousand
changes since its start. The host whose program led reports most precisely how its
leadership ended.

A later leader has a higher TOKEN. Tokens skip numbers after failed elections, and after a
member has crashed: 'regent explain GROUP' says why.`,
		Example: `  regent history
  regent history billing --limit 5 --json`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return fmt.Errorf("--limit %d: must be at least 1", limit)
			}
			group := ""
			if len(args) == 1 {
				group = args[0]
			}
			h, err := readHistory(c, newClient(socket), group, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(c, h)
			}
			showHistory(c, h)
			return nil
		},
	}
	socketFlag(c, &socket)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&limit, "limit", 20, "how many changes at most")
	return c
}

// readHistory asks for the last changes of a group, or of all if it is empty.
func readHistory(c *cobra.Command, cl *client, group string, limit int) (*api.History, error) {
	path := "/v1/history"
	if group != "" {
		path = groupPath(group, "/history")
	}
	var h api.History
	return &h, cl.get(c.Context(), path+"?limit="+strconv.Itoa(limit), &h)
}

func showHistory(c *cobra.Command, h *api.History) {
	out := c.OutOrStdout()
	p := paintFor(out)
	if len(h.Changes)+len(h.Council) == 0 {
		fmt.Fprintln(out, "nothing has changed since the agent was started")
		return
	}
	var rows [][]string
	const stamp = "2006-01-02 15:04:05.000"
	council := func(before uint64) {
		for len(h.Council) > 0 && h.Council[0].Serial < before {
			c := &h.Council[0]
			rows = append(rows, []string{c.At.Format(stamp), p.bold("council"), "", "", c.String()})
			h.Council = h.Council[1:]
		}
	}
	for i := range h.Changes {
		ch := &h.Changes[i]
		council(ch.Serial)
		leader := p.bad("none")
		if ch.Leader != "" {
			leader = p.good(ch.Leader)
		}
		cause := ch.Cause.String()
		if ch.Ended != "" {
			cause += ": " + ch.Ended
		}
		rows = append(rows, []string{ch.At.Format(stamp), p.bold(ch.Group), leader, tokenOf(ch), cause})
	}
	council(math.MaxUint64)
	table(out, p, []string{"TIME", "GROUP", "LEADER", "TOKEN", "WHY"}, rows)
}

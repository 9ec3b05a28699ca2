package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/terminal"
)

func topCommand() *cobra.Command {
	var socket string
	var only filter
	c := &cobra.Command{
		Use:   "top [GROUP]",
		Short: "Show all groups live, and act on them",
		Long: `Shows all groups on the whole terminal, as they change: leader, token, since when, and the last
change with its cause. GROUP may be a pattern with * and ?: then it shows these only. Keys sort
and filter the list, and show the last changes in place of the groups (with --since: those since
then). Other keys transfer a group, have its leader resign, and drain the host of the agent, each
after a confirmation. An order is for the leadership on the screen: the agent refuses it if another
one has begun meanwhile.

It needs a terminal that can place text, such as xterm, also over ssh. For other terminals there is
'regent watch'. The screen uses no colours.

The exit status is 2 without such a terminal, and 3 if the agent is unreachable at the start.`,
		Example: `  regent top
  regent top 'shop-*' --since 10m
  regent top --agent https://host2:8008`,
		Args:              cli.Args,
		ValidArgsFunction: groupNames,
		RunE: func(c *cobra.Command, args []string) error {
			if err := only.resolve(args, time.Now()); err != nil {
				return err
			}
			if err := terminal.Usable(c.InOrStdin(), c.OutOrStdout()); err != nil {
				return &cli.Complete{Err: fmt.Errorf("%w: use 'regent watch'", err)}
			}
			return runTop(c, newClient(socket), only)
		},
	}
	agentFlags(c, &socket)
	only.sinceFlag(c)
	return c
}

// topDraw is how often the screen is drawn at most, and topAgain how long to wait before an agent that has gone is asked again.
const (
	topDraw  = 200 * time.Millisecond
	topAgain = time.Second
)

// runTop shows the screen until its user quits.
func runTop(c *cobra.Command, cl *client, only filter) (err error) {
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	h, err := readHistory(c.Context(), cl, "")
	if err != nil {
		return err
	}
	m := newTopModel(only)
	m.showChanges = only.since != ""
	m.past(h)
	t, err := terminal.Open(c.InOrStdin(), c.OutOrStdout())
	if err != nil {
		return cli.Failf("regent top: %v", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	events := make(chan event, 64)
	done := make(chan string, 1)
	go followAgent(ctx, cl, events)
	draw := time.NewTicker(topDraw)
	defer draw.Stop()
	show := func() {
		width, height := t.Size()
		t.Draw(m.screen(width, height, time.Now()))
	}
	show()
	for changed := true; ; {
		select {
		case k, ok := <-t.Keys():
			_, height := t.Size()
			order, quit := m.key(k, topPage(height), time.Now())
			if quit || !ok {
				return nil
			}
			if order != nil {
				go func() { done <- carryOut(ctx, cl, order) }()
			}
			show()
		case m.message = <-done:
			show()
		case e := <-events:
			m.event(&e)
			changed = true
		case <-t.Resized():
			show()
		case <-draw.C:
			if changed {
				show()
			}
			changed = false
		case <-ctx.Done():
			return nil
		}
	}
}

// event takes an event of the stream of the agent.
func (m *topModel) event(e *event) {
	var s api.StreamEvent
	switch {
	case e.name == "lost":
		m.lost = true
	case json.Unmarshal(e.data, &s) != nil:
	case e.name == "group" && s.GroupInfo != nil:
		if m.lost { // it reports all that there are
			clear(m.groups)
			m.lost = false
		}
		m.take(s.GroupInfo)
	case e.name == "pulse" && s.Status != nil:
		m.pulse(s.Status, s.Members)
	case e.name == "missed":
		m.message = fmt.Sprintf("%d changes were missed: this host is too busy", s.Missed)
	}
}

// followAgent passes on what the agent reports until ctx ends, and "lost" when the agent has gone.
func followAgent(ctx context.Context, cl *client, events chan<- event) {
	pass := func(e event) (bool, error) {
		select {
		case events <- e:
			return true, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	for ctx.Err() == nil {
		_ = cl.events(ctx, "/v1/events", pass)
		_, _ = pass(event{name: "lost"})
		select {
		case <-time.After(topAgain):
		case <-ctx.Done():
		}
	}
}

// carryOut gives an order to the agent, and says in a line what became of it.
func carryOut(ctx context.Context, cl *client, o *topOrder) string {
	var err error
	var out api.Outcome
	switch o.verb {
	case "transfer":
		err = cl.post(ctx, groupPath(o.group, "/transfer"), &api.TransferOrder{To: o.member, Token: o.token}, &out)
	case "resign":
		err = cl.post(ctx, groupPath(o.group, "/resign"), &api.ResignOrder{Token: o.token}, &out)
	default:
		var drained api.Drained
		err = cl.post(ctx, "/v1/"+o.verb, &api.DrainOrder{Member: o.member}, &drained)
	}
	if err != nil {
		return err.Error()
	}
	return "done: " + o.String()
}

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/roster"
)

// recoverOptions are the flags of regent recover.
type recoverOptions struct {
	socket, council                            string
	lost                                       []string
	majority, yes, dryRun, acknowledge, asJSON bool
	timeout                                    time.Duration
}

func recoverCommand() *cobra.Command {
	var o recoverOptions
	c := &cobra.Command{
		Use:   "recover --i-lost-a-majority --council ID --lost MEMBER,... [--yes]",
		Short: "Go on without a majority that is lost for good",
		Long: `Gives up a council that has lost a majority of its voters for good, and goes on with the
members that are left, as another council with another id. Without --yes it only asks these
members, and prints what would happen and what can no longer be promised. While a majority can
come back, wait for that instead.

All members that are not named as lost must answer, and agree. Each objects if those are a majority,
or if it has heard a lost member within a minute, or ten times the longest lease if that is longer. Lost members that come
back learn that their council was given up, and leave: empty their directories, and let them join.

There is nothing to cancel. Either all members that are not named as lost agree, within a few round trips,
and then the new council has begun; or one objects, and those that have agreed take it back by
themselves. One that has agreed and does not hear another waits for that one, which may have agreed as
well. To go back to the old council then, start lost members before that one: it hears them and objects.

That a council was given up is shown by 'regent status', 'regent members', the dashboard and a metric,
until 'regent recover --acknowledge'. What can no longer be promised:

` + unpromised() + `

The exit status is 0 once leaders can be elected again, 1 if a member objects, and 2 if the
members have agreed and still wait.`,
		Example: `  regent recover --i-lost-a-majority --council 7f3a09c1d2e4b5a6978812345678abcd --lost host2,host3
  regent recover --i-lost-a-majority --council 7f3a09c1d2e4b5a6978812345678abcd --lost host2,host3 --yes
  regent recover --acknowledge`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case o.acknowledge && (o.majority || o.council != "" || len(o.lost) > 0):
				return errors.New("--acknowledge with other flags: give it alone")
			case o.acknowledge:
				return o.acknowledged(c)
			case !o.majority:
				return errors.New("missing --i-lost-a-majority (see regent recover --help)")
			case o.council == "" || len(o.lost) == 0:
				return errors.New("missing --council and --lost: name the council ('regent status' shows its id) and all members that are lost")
			case o.yes && o.dryRun:
				return errors.New("--yes with --dry-run: choose one")
			}
			return o.run(c)
		},
	}
	agentFlags(c, &o.socket)
	f := c.Flags()
	f.BoolVar(&o.majority, "i-lost-a-majority", false, "confirm that a majority of the voters is lost for good")
	f.StringVar(&o.council, "council", "", "the id of the council that is given up")
	f.StringSliceVar(&o.lost, "lost", nil, "the members that are lost, separated by commas")
	f.BoolVar(&o.yes, "yes", false, "carry it out")
	f.BoolVar(&o.dryRun, "dry-run", false, "only ask and print, as without --yes")
	f.BoolVar(&o.acknowledge, "acknowledge", false, "take note of what can no longer be promised")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until leaders can be elected again; 5m at most")
	return c
}

func (o *recoverOptions) run(c *cobra.Command) error {
	order := api.RecoverOrder{Recovery: roster.Recovery{Council: o.council, Lost: o.lost, Try: true}, Wait: o.timeout}
	agent := newClient(o.socket)
	var info api.RecoverInfo
	if err := agent.post(c.Context(), "/v1/council/recover", order, &info); err != nil {
		return err
	}
	if !o.asJSON {
		o.print(c.OutOrStdout(), &info)
	}
	if o.yes {
		order.Try = false
		if err := agent.post(c.Context(), "/v1/council/recover", order, &info); err != nil {
			return err
		}
	}
	switch {
	case o.asJSON:
		if err := cli.WriteJSON(c, info); err != nil {
			return err
		}
	case !o.yes:
		fmt.Fprintln(c.OutOrStdout(), "nothing was changed (--yes carries it out)")
	case info.Done:
		fmt.Fprintf(c.OutOrStdout(), "done: %s are council %s; once you have read the above: regent recover --acknowledge\n", strings.Join(info.Survivors, ", "), info.Heir)
	}
	if o.yes && !info.Done {
		if !o.asJSON {
			fmt.Fprintln(c.ErrOrStderr(), "it goes on by itself, or is taken back if a survivor objects: 'regent status' shows it")
		}
		return cli.Silently(changeGoesOn)
	}
	return nil
}

// unpromised lists what can no longer be promised.
func unpromised() string { return "  - " + strings.Join(roster.Unpromised(), "\n  - ") }

// print says what giving the council up means.
func (o *recoverOptions) print(w io.Writer, info *api.RecoverInfo) {
	var lost []string
	for _, s := range info.Lost {
		lost = append(lost, fmt.Sprintf("%s (silent for %s)", s.Name, length(s.For)))
	}
	fmt.Fprintf(w, "council %s, number %d, would be given up\n", info.Council, info.Number)
	fmt.Fprintf(w, "  survivors  %s: they have agreed to go on as another council\n", strings.Join(info.Survivors, ", "))
	fmt.Fprintf(w, "  lost       %s\n", strings.Join(lost, ", "))
	fmt.Fprintf(w, "  wait       nobody leads for %s more, until leases of lost members are over\n", length(info.Wait))
	fmt.Fprintln(w, "what can no longer be promised:")
	for _, text := range info.Unpromised {
		fmt.Fprintf(w, "  - %s\n", text)
	}
	fmt.Fprintln(w, "once all survivors have agreed, nothing takes it back; until then each goes back by itself when one objects")
}

func (o *recoverOptions) acknowledged(c *cobra.Command) error {
	var info api.CouncilInfo
	if err := newClient(o.socket).post(c.Context(), "/v1/council/acknowledge", api.AcknowledgeOrder{}, &info); err != nil {
		return err
	}
	if o.asJSON {
		return cli.WriteJSON(c, info)
	}
	fmt.Fprintf(c.OutOrStdout(), "acknowledged: council %s goes on from %s, without %s\n", info.ID, info.GivenUp.ID, strings.Join(info.GivenUp.Lost, ", "))
	return nil
}

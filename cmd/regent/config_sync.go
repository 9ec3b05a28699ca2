package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/roster"
)

func configSyncCommand() *cobra.Command {
	var socket string
	var dryRun bool
	c := &cobra.Command{
		Use:   "sync [FILE]",
		Short: "Rewrite the list of members in a file from the council in force",
		Long: `Asks the agent of this host what the members have agreed on, and rewrites its configuration: the
list council (or join), and timing.longest_lease and timing.drift where they differ. With --agent
it asks another agent, and FILE, on this host, must be of that agent's member. Comments
and all other keys stay, and so do the owner and the mode of the file. The list is for the first
start, so a file that is not rewritten does no harm; one that is says what the council is. The
agent compares its file when it starts, and when it is reloaded (SIGHUP).`,
		Example: `  regent config sync --dry-run
  regent config sync ./regent.yaml
  regent config sync hosts/host2.yaml --agent https://host2:8008`,
		Args: cli.Args,
		RunE: func(c *cobra.Command, args []string) error {
			path := config.DefaultConfig
			if len(args) == 1 {
				path = args[0]
			}
			return syncConfig(c, path, socket, dryRun)
		},
	}
	agentFlags(c, &socket)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print what would change, and change nothing")
	return c
}

func syncConfig(c *cobra.Command, path, socket string, dryRun bool) error {
	f, err := config.Read(path)
	if err != nil {
		return &cli.Failure{Err: err}
	}
	var now api.CouncilInfo
	var status api.AgentStatus
	agent := newClient(socket)
	if err := agent.get(c.Context(), "/v1/council", &now); err != nil {
		return err
	}
	if err := agent.get(c.Context(), "/v1/status", &status); err != nil {
		return err
	}
	switch {
	case f.Engine != nil:
		return cli.Failf("config: %s has an engine and no council", path)
	case f.Name != status.Name:
		return cli.Failf("config: %s is of member %s, and the agent of %s: name the file of that member, or its agent with --socket or --agent", path, f.Name, status.Name)
	case now.ID == "" && !haveKeyInCommon(f, &now):
		return cli.Failf("config: %s lists no key that a member of the agent's council has: name a file of that council (over HTTP an agent does not tell the id of its council)", path)
	case now.ID != "" && f.CouncilID != "" && f.CouncilID != now.ID:
		return cli.Failf("config: %s is of council %s, and the agent of %s: name a file of that council, or its agent with --socket or --agent", path, f.CouncilID, now.ID)
	case now.Removed:
		return cli.Failf("config: the council has removed this host (number %d): its file is of no use", now.Number)
	case now.Fixed != "" && now.Number == 0:
		return cli.Failf("config: this council goes by its files: %s", now.Fixed)
	case now.Running():
		return cli.Failf("config: a change is running: %s: run this again when it is over", now.Progress())
	}
	before, after, err := config.Synced(path, agreedOn(&now))
	if err != nil {
		return &cli.Failure{Err: err}
	}
	out := c.OutOrStdout()
	if bytes.Equal(before, after) {
		fmt.Fprintf(out, "nothing to do: %s says what the council is (number %d)\n", path, now.Number)
		return nil
	}
	writeDiff(out, path, strings.SplitAfter(string(before), "\n"), strings.SplitAfter(string(after), "\n"))
	if dryRun {
		fmt.Fprintln(out, "nothing was changed (--dry-run)")
		return nil
	}
	if err := config.Replace(path, after); err != nil {
		return cli.Failf("config: %s was not changed: %w", path, err)
	}
	fmt.Fprintf(out, "%s was rewritten: %s\nnext: reload the agent (systemctl reload regent)\n", path, councilLine(&now))
	return nil
}

// haveKeyInCommon says that a file and a council have a member of the same name with the same key: then they are of one council.
func haveKeyInCommon(f *config.File, c *api.CouncilInfo) bool {
	keys := make(map[string][]string)
	for i := range f.Council {
		keys[f.Council[i].Name] = f.Council[i].PublicKeys
	}
	for i := range f.Join {
		keys[f.Join[i].Name] = f.Join[i].PublicKeys
	}
	return slices.ContainsFunc(c.Members, func(m roster.Member) bool {
		return slices.ContainsFunc(m.PublicKeys, func(key string) bool { return slices.Contains(keys[m.Name], key) })
	})
}

// agreedOn returns what a file is to say of a council.
func agreedOn(c *api.CouncilInfo) *config.Agreed {
	out := &config.Agreed{LongestLease: c.Timing.LongestLease, Drift: c.Timing.Drift}
	for i := range c.Members {
		x := &c.Members[i]
		m := config.Member{Name: x.Name, Priority: x.Priority, Weight: x.Weight, Witness: x.Witness, Observer: x.Observer, PublicKeys: x.PublicKeys}
		addrs := x.Addrs
		if len(x.AgreedAddrs) > 0 {
			addrs = x.AgreedAddrs
		}
		if len(addrs) == 1 {
			m.Address = addrs[0]
		} else {
			m.Addresses = addrs
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// diffContext is how many lines around a change are printed.
const diffContext = 2

// writeDiff prints the lines that differ, with those around them.
func writeDiff(w io.Writer, path string, before, after []string) {
	fmt.Fprintf(w, "--- %s\n", path)
	lines := diff(before, after)
	for i, l := range lines {
		from, to := max(0, i-diffContext), min(len(lines), i+diffContext+1)
		if l != " " && slices.ContainsFunc(lines[from:to], func(x string) bool { return x[0] != ' ' }) { // " ": after the last line
			fmt.Fprintln(w, strings.TrimSuffix(l, "\n"))
		}
	}
}

// diff returns all lines of two texts, each once, behind a sign that says in which of them it is.
func diff(before, after []string) (out []string) {
	// common[i][j] is how many lines before[i:] and after[j:] have in common, in order.
	common := make([][]int, len(before)+1)
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			out = append(out, " "+before[i])
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "-"+before[i])
			i++
		default:
			out = append(out, "+"+after[j])
			j++
		}
	}
	return out
}

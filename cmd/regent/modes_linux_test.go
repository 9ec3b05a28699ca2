package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// runModes starts three agents, each with a runner of a program in a group that hosts lead, and returns where programs run now.
func runModes(t *testing.T, group, mode string) (c *cluster.Cluster, running func() []string) {
	t.Helper()
	c = cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Relay: true, Regent: command,
		Config: "profile: wan\ngroups: [{name: " + group + ", mode: " + mode + "}]\n"})
	for _, name := range c.Names {
		if _, err := c.StartAgent(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.AwaitAgents(c.Names...); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lease := regent.WAN.Lease
	if mode == "local" {
		lease = regent.WAN.LocalLease()
	}
	const program = `test -z "$REGENT_TOKEN" && test "$REGENT_MODE" = "$2" && test "$REGENT_LEASE" = "$3" && echo $$ > "$1/$REGENT_MEMBER" && exec sleep 600`
	for _, name := range c.Names {
		if _, err := c.Run(runnerOf(name), name, group, []string{"--mode", mode, "--grace", "1s"}, "/bin/sh", "-c", program, "sh", dir, mode, lease.String()); err != nil {
			t.Fatal(err)
		}
	}
	return c, func() (names []string) {
		for _, name := range c.Names {
			pid, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			line, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline")
			if err == nil && strings.HasPrefix(string(line), "sleep") {
				names = append(names, name)
			}
		}
		return names
	}
}

// In a network of two parts the program runs in each. When the parts hear each other again, one of the two is stopped.
func TestRunnersInGroupsThatHostsLead(t *testing.T) {
	for _, mode := range []string{"local", "eventual"} {
		t.Run(mode, func(t *testing.T) {
			c, running := runModes(t, "cache", mode)
			var first []string
			cluster.Eventually(t, "the program runs on one host", func() bool { first = running(); return len(first) == 1 })
			if err := c.Cut(first[0]); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "the program runs in both parts", func() bool {
				now := running()
				return len(now) == 2 && slices.Contains(now, first[0])
			})
			if err := c.HealAll(); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "the program runs on one host again", func() bool { return len(running()) == 1 })
		})
	}
}

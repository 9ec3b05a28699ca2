package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// regentSays runs a command against the agent of a host, and returns what it prints and its exit status.
func regentSays(t *testing.T, c *cluster.Cluster, host string, args ...string) (text string, status int) {
	t.Helper()
	b, err := command(append(args, "--socket", c.Socket(host))...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		status = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return string(b), status
}

// A link that works in one direction only is not well, and a host that only its own file lists is named.
func TestStatusJudgesLinksInBothDirections(t *testing.T) {
	if err := cluster.CanNamespaces(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return // there are no routes to take away
	}
	c := cluster.Open(t, cluster.Options{Names: []string{"a", "b", "c", "d"}, Hosts: cluster.Namespaces, Config: runConfig, Regent: command})
	addresses := make(map[string]string)
	three := c.Names[:3]
	for _, name := range c.Names {
		if err := c.WriteConfig(name); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(c.ConfigFile(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`name: (\w), address: "([^:]+):`).FindAllStringSubmatch(string(b), -1) {
			addresses[m[1]] = m[2]
		}
		if name == "d" {
			continue
		}
		without := regexp.MustCompile(`(?m)^  - \{name: d, .*\n`).ReplaceAllString(string(b), "")
		if err := os.WriteFile(c.ConfigFile(name), []byte(without), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range three {
		if _, err := c.StartAgent(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.AwaitAgents(three...); err != nil {
		t.Fatal(err)
	}
	await := func(host, what string, status int, args ...string) {
		t.Helper()
		var text string
		err := cluster.Wait(cluster.Patience, what, func() bool {
			var got int
			text, got = regentSays(t, c, host, args...)
			return got == status && strings.Contains(text, what)
		})
		if err != nil {
			t.Fatalf("%s: %v: %v\n%s", host, args, err, text)
		}
	}
	await("a", "takes part", 0, "status")
	await("a", "well", 0, "members")
	blackhole := func(verb string, to ...string) {
		t.Helper()
		for _, name := range to {
			p, err := c.Spawn("route "+verb+" "+name, "a", exec.Command("ip", "route", verb, "blackhole", addresses[name]), nil)
			if err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "the route is changed", p.Ended)
		}
	}
	blackhole("add", "b")
	await("a", "b does not hear us", 1, "status")
	await("a", "b does not hear us", 0, "members") // a majority is well
	blackhole("add", "c")
	await("a", "1 of 3 members that vote are well", 1, "members")
	blackhole("del", "b", "c")
	await("a", "takes part", 0, "status")

	if _, err := c.StartAgent("d"); err != nil {
		t.Fatal(err)
	}
	await("a", "d ("+addresses["d"], 1, "status")
	await("d", "does council in their files list this member, d,", 1, "status")
}

package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// An agent adds addresses for users that its configuration lists, and for nobody else, until a reload takes the right away. The audit log has both.
func TestAnAgentHoldsTheAddressesThatItsConfigurationLists(t *testing.T) {
	if err := cluster.CanNamespaces(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return // there are no hosts to move it between
	}
	t.Parallel()
	v := vipAgents(t, vipConfig+vipListed, true)
	n := 0
	vip := func(args ...string) *cluster.Process {
		n++
		p, err := v.Spawn(fmt.Sprint("vip ", n), "a", v.regent(append([]string{"vip", "--socket", v.Socket("a")}, args...)...), nil)
		v.check(err)
		return p
	}
	const listed = "198.18.200.9/16@eth0"
	for _, c := range []struct{ group, address, want string }{
		{"web", "10.0.0.9/24@eth0", "does not list it: add '- {address: 10.0.0.9/24@eth0, groups: [web], lead: [\"uid:65534\"]}' under addresses"},
		{"web", "198.18.200.9/24@eth0", "does not list it"},
		{"db", listed, `lists it for other groups, web: add "db" to its groups`},
		{"web", "198.18.200.10/16@eth0", "uid 65534 may not have it: add uid:65534 to its lead"},
	} {
		p := vip(c.group, c.address)
		cluster.Eventually(t, "the command ends", p.Ended)
		if p.ExitCode() != 125 || !strings.Contains(p.Log(), c.want) {
			t.Errorf("%s %s: status %d, want 125 and %q:\n%s", c.group, c.address, p.ExitCode(), c.want, p.Log())
		}
	}
	p := vip("web", listed, "--health", "test -e /"+t.Name(), "--health-interval", "1s", "--health-failures", "1")
	cluster.Eventually(t, "it is not healthy", func() bool { return strings.Contains(p.Log(), "stopped leading web: not healthy") })
	v.check(p.Signal(syscall.SIGTERM))
	cluster.Eventually(t, "the command ends", p.Ended)
	if p.ExitCode() != 0 {
		t.Errorf("asked to stop, it ended with status %d:\n%s", p.ExitCode(), p.Log())
	}
	has := func() int {
		all, err := v.HasAddress(netip.MustParsePrefix("198.18.200.9/16").Addr())
		v.check(err)
		return len(all)
	}
	p = vip("web", listed)
	cluster.Eventually(t, "the host has the address", func() bool { return has() == 1 })
	config, err := os.ReadFile(v.ConfigFile("a"))
	v.check(err)
	v.check(os.WriteFile(v.ConfigFile("a"), []byte(strings.ReplaceAll(string(config), "uid:65534", "uid:65533")), 0o600), v.Process("a").Signal(syscall.SIGHUP))
	cluster.Eventually(t, "the command ends", p.Ended)
	if p.ExitCode() != 125 || !strings.Contains(p.Log(), "uid 65534 may not have it") || has() != 0 {
		t.Errorf("after a reload: status %d, %d hosts have the address:\n%s", p.ExitCode(), has(), p.Log())
	}
	audit := v.Process("a").Log()
	for _, want := range []string{"action=hold group=web", `who="uid 65534"`, "outcome=asked detail=" + listed, "outcome=refused", "detail=addresses"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit log does not have %s:\n%s", want, audit)
		}
	}
}

package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// vipConfig lets leases be as long as an address needs.
const vipConfig = "timing:\n  longest_lease: 5s\nlease: 5s\n"

// The addresses that move in tests, in the network of the hosts and in one of version 6.
var (
	vip4 = netip.MustParseAddr("198.18.200.9")
	vip6 = netip.MustParseAddr("fd00::9")
)

// A vipCluster has three hosts with agents, each with a runner of the addresses.
type vipCluster struct {
	*cluster.Cluster
	t *testing.T
	// regent makes commands of users; byAgent says that these may not change addresses, and the agents do.
	regent  func(args ...string) *exec.Cmd
	byAgent bool
	watches []*cluster.AddressWatch
	ping    *cluster.Ping
}

// vipAgents starts agents. With byAgent commands are of a user that may not change addresses.
func vipAgents(t *testing.T, config string, byAgent bool) *vipCluster {
	t.Helper()
	v := &vipCluster{t: t, regent: command, byAgent: byAgent}
	o := cluster.Options{Names: []string{"a", "b", "c"}, Hosts: cluster.Namespaces, Config: config, Regent: command}
	if byAgent {
		copied, id := asUsers(t, 0, nobody), strconv.Itoa(nobody)
		v.regent = func(args ...string) *exec.Cmd { // a host's namespace is root's: the user changes within
			c := copied(args...)
			user := exec.Command("setpriv", append([]string{"--reuid", id, "--regid", id, "--clear-groups", "--pdeathsig", "KILL", "--", c.Path}, args...)...)
			user.Env, user.Dir = c.Env, "/"
			return user
		}
		o.SocketMode = "0666"
	}
	v.Cluster = cluster.OpenCrash(t, o)
	v.check(os.Chmod(v.Dir, 0o755))
	for _, name := range v.Names {
		v.check2(v.StartAgent(name))
	}
	v.check(v.AwaitAgents(v.Names...))
	return v
}

// vipListed lets a user have the addresses that move.
const vipListed = `addresses:
- {address: 198.18.200.9/16@eth0, groups: [web], lead: ['uid:65534']}
- {address: 'fd00::9/64@eth0', groups: ['w*'], lead: ['gid:65534']}
- {address: 198.18.200.10/16@eth0, groups: [web], lead: ['uid:65533']}
`

func startVIP(t *testing.T, byAgent bool) *vipCluster {
	t.Helper()
	config := vipConfig
	if byAgent {
		config += vipListed
	}
	v := vipAgents(t, config, byAgent)
	for _, addr := range []netip.Addr{vip4, vip6} {
		w, err := v.WatchAddress(addr)
		v.check(err)
		t.Cleanup(w.Close)
		v.watches = append(v.watches, w)
	}
	p, err := v.Ping(vip4)
	v.check(err)
	t.Cleanup(p.Close)
	v.ping = p
	for _, name := range v.Names {
		v.startVIP(name)
	}
	return v
}

func (v *vipCluster) check(errs ...error) {
	v.t.Helper()
	for _, err := range errs {
		if err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *vipCluster) check2(_ any, err error) {
	v.t.Helper()
	v.check(err)
}

func (v *vipCluster) startVIP(name string) {
	v.t.Helper()
	v.check2(v.Spawn(runnerOf(name), name, v.regent("vip", "web", vip4.String()+"/16@eth0", vip6.String()+"/64@eth0", "--socket", v.Socket(name)), nil))
	cluster.Eventually(v.t, runnerOf(name)+" campaigns", func() bool { return strings.Contains(v.Process(runnerOf(name)).Log(), "leases of web last") })
}

// logs returns what runners and agents have logged.
func (v *vipCluster) logs() string {
	var b strings.Builder
	for _, name := range v.Names {
		for _, p := range []string{runnerOf(name), name} {
			if q := v.Process(p); q != nil {
				fmt.Fprintf(&b, "--- %s\n%s", p, q.Log())
			}
		}
	}
	return b.String()
}

// holder waits until one host has both addresses and answers, and returns it.
func (v *vipCluster) holder(not string) string {
	v.t.Helper()
	var has []string
	since := time.Now()
	err := cluster.Wait(cluster.Patience, "one host has the addresses", func() bool {
		all, err := v.HasAddress(vip4)
		v.check(err)
		six, err := v.HasAddress(vip6)
		v.check(err)
		answers := v.ping.Answers()
		has = all
		return len(all) == 1 && all[0] != not && slices.Equal(all, six) && len(answers) > 0 && answers[len(answers)-1].After(since)
	})
	if err != nil {
		v.t.Fatalf("%v, %v have them\n%s", err, has, v.logs())
	}
	return has[0]
}

// judge fails the test if two hosts had an address at any instant.
func (v *vipCluster) judge() {
	v.t.Helper()
	for _, w := range v.watches {
		changes := w.Changes()
		got := 0
		for i, c := range changes {
			if c.Added {
				got++
			}
			if c.Holders > 1 {
				v.t.Errorf("%d hosts had an address at once: %v", c.Holders, changes[max(0, i-3):i+1])
			}
		}
		v.t.Logf("hosts got the address %d times", got)
	}
}

// regentAt runs the command line against the agent of a host.
func (v *vipCluster) regentAt(host string, args ...string) error {
	out, err := command(append(args, "--socket", v.Socket(host))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

// What stands in the way is reported before the host campaigns, with what to do.
func TestVIPReportsWhatStandsInTheWay(t *testing.T) {
	if err := cluster.CanNamespaces(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return // there are no hosts to move it between
	}
	t.Parallel()
	v := vipAgents(t, vipConfig+"leases: [{groups: [short], lease: 2s}]\n"+vipListed, false)
	const here, there = "198.18.0.2/16@eth0", "198.18.0.3/16@eth0" // of host a and of host b
	for i, c := range []struct {
		args   []string
		unable bool // to change addresses
		want   string
	}{
		{[]string{"web", "10.0.0.9/24@eth7"}, false, `no interface "eth7" on this host`},
		{[]string{"web", here}, false, "this host has the address already, on eth0, without a lifetime: remove it there (ip address del 198.18.0.2/16 dev eth0)"},
		{[]string{"web", "10.0.0.9/24@eth0", "--lease", "2s"}, false, "leases of web last 2s, and an address needs 5s or more"},
		{[]string{"short", "10.0.0.9/24@eth0"}, false, "leases of short last 2s, and an address needs 5s or more"},
		{[]string{"web", "10.0.0.9/24@eth0"}, true, "does not list it: add '- {address: 10.0.0.9/24@eth0, groups: [web], lead: [\"uid:0\"]}' under addresses and reload the agent, or give the command CAP_NET_ADMIN"},
		{[]string{"db", "198.18.200.9/16@eth0"}, true, `lists it for other groups, web: add "db" to its groups`},
		{[]string{"web", "10.0.0.9"}, false, "write ADDRESS/LENGTH@INTERFACE"},
		{[]string{"web"}, false, "want a group and addresses"},
		{[]string{"web", there}, false, "has it already, and nobody leads web"},
	} {
		cmd := command(append([]string{"vip", "--socket", v.Socket("a")}, c.args...)...)
		if c.unable {
			cmd = exec.Command("setpriv", append([]string{"--bounding-set=-net_admin", "--", cmd.Path}, cmd.Args[1:]...)...)
		}
		p, err := v.Spawn(fmt.Sprint("case ", i), "a", cmd, nil)
		v.check(err)
		cluster.Eventually(t, "the command ends", p.Ended)
		if p.ExitCode() != 125 || !strings.Contains(p.Log(), c.want) {
			t.Errorf("%v: status %d, want 125 and %q:\n%s", c.args, p.ExitCode(), c.want, p.Log())
		}
	}
	var out []string
	p, err := v.Spawn("dry run", "a", command("vip", "web", "10.0.0.9/24@eth0", "--dry-run", "--socket", v.Socket("a")), func(line string) { out = append(out, line) })
	v.check(err)
	cluster.Eventually(t, "the dry run ends", p.Ended)
	if p.ExitCode() != 0 || len(out) != 1 || out[0] != "would add 10.0.0.9/24 to eth0 while this host leads web" {
		t.Errorf("dry run: status %d: %q\n%s", p.ExitCode(), out, p.Log())
	}
	if has, err := v.HasAddress(netip.MustParseAddr("10.0.0.9")); err != nil || len(has) != 0 {
		t.Errorf("%v have an address that none may add: %v", has, err)
	}
}

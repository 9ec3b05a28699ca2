package main

import (
	"fmt"
	"net/netip"
	"slices"
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
	t       *testing.T
	watches []*cluster.AddressWatch
	ping    *cluster.Ping
}

func startVIP(t *testing.T) *vipCluster {
	t.Helper()
	v := &vipCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Hosts: cluster.Namespaces, Config: vipConfig, Regent: command})}
	for _, name := range v.Names {
		v.check2(v.StartAgent(name))
	}
	v.check(v.AwaitAgents(v.Names...))
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

func (v *vipCluster) check(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *vipCluster) check2(_ any, err error) {
	v.t.Helper()
	v.check(err)
}

func (v *vipCluster) startVIP(name string) {
	v.t.Helper()
	v.check2(v.Spawn(runnerOf(name), name, command("vip", "web", vip4.String()+"/16@eth0", vip6.String()+"/64@eth0", "--socket", v.Socket(name)), nil))
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

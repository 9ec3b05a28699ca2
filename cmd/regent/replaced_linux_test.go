package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

func init() {
	// leader is a program that leads: leader JOURNALS. As long as it runs it writes a journal.
	commands["leader"] = func() { panic(cluster.Act(os.Args[1], false)) }
}

// movedCouncil is a council of agents all of whose hosts are replaced, one after the other. Each group has a candidate on one of the first hosts, and one
// on the host that replaces it.
type movedCouncil struct {
	*runCluster
	starts  string                // a line for each start of a program under regent run that keeps no journal
	acting  int                   // how many groups have programs that keep a journal
	run     int                   // how many have others
	dialled int                   // how many have candidates over sessions of this process
	mu      sync.Mutex            // of what follows
	led     map[string][]tenureAt // by group, over sessions
	shards  *shardsGroup
}

// tenureAt is one leadership.
type tenureAt struct {
	host  string
	token uint64
}

// scale is how many groups there are: the run of make test, and that of make test-long.
func (c *movedCouncil) scale() {
	c.acting, c.run, c.dialled = 4, 8, 60
	if os.Getenv("REGENT_TEST") == "long" {
		c.acting, c.run, c.dialled = 10, 190, 1000
	}
}

// lossy is how many packets the network loses.
const lossy = "drop=0.01"

func openMoved(t *testing.T) *movedCouncil {
	t.Helper()
	c := &movedCouncil{shards: newShards(t), led: make(map[string][]tenureAt), runCluster: &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: []string{"a", "b", "c", "d", "e", "f"}, Founders: []string{"a", "b", "c"}, Relay: true, Regent: command,
		Config: shardsConfig + "limits: {candidates: 1000, connections: 1000}\n"})}}
	c.scale()
	c.starts = filepath.Join(c.Dir, "starts")
	for _, from := range c.Names {
		for _, to := range c.Names {
			if from != to {
				c.check(c.Link("link " + from + " " + to + " " + lossy))
			}
		}
	}
	for _, name := range c.Founders {
		c.startAgent(name)
	}
	c.check(c.AwaitAgents(c.Founders...))
	return c
}

// groups returns those with a candidate on a host: every third one.
func (c *movedCouncil) groups(kind string, n int, host string) (names []string) {
	for i := range n {
		if i%3 == int(host[0]-'a')%3 {
			names = append(names, fmt.Sprintf("%s%d", kind, i))
		}
	}
	return names
}

// stand makes the programs of a host candidates. It returns once all groups of the host have a candidate here.
func (c *movedCouncil) stand(host string) {
	c.t.Helper()
	for _, g := range c.groups("acting", c.acting, host) {
		_, err := c.Run(g+host, host, g, []string{"--quiet"}, "leader", c.JournalDir())
		c.check(err)
	}
	for _, g := range c.groups("run", c.run, host) {
		_, err := c.Run(g+host, host, g, []string{"--quiet"}, "sh", "-c", `echo "$REGENT_GROUP $REGENT_MEMBER $REGENT_TOKEN" >> `+c.starts+`; exec sleep 10000`)
		c.check(err)
	}
	session, err := regent.Dial(c.t.Context(), c.Socket(host))
	c.check(err)
	c.t.Cleanup(func() { _ = session.Close() })
	c.shards.stand(c.t.Context(), host, session)
	for _, name := range c.groups("dialled", c.dialled, host) {
		g, err := session.Group(name)
		c.check(err)
		go func() {
			// The error is that of a session whose agent has ended.
			_ = g.Lead(c.t.Context(), func(ctx context.Context, l *regent.Lease) error {
				c.mu.Lock()
				c.led[name] = append(c.led[name], tenureAt{host, l.Token()})
				c.mu.Unlock()
				<-ctx.Done()
				return nil
			})
		}()
	}
}

// standings returns who has led a group, in the order in which that began.
func (c *movedCouncil) standings(group string) (all []tenureAt) {
	c.t.Helper()
	switch {
	case strings.HasPrefix(group, "dialled"):
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(c.led[group])
	case strings.HasPrefix(group, "run"):
		text, err := os.ReadFile(c.starts)
		if err != nil && !os.IsNotExist(err) {
			c.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var g string
			var s tenureAt
			if _, err := fmt.Sscan(line, &g, &s.host, &s.token); err == nil && g == group {
				all = append(all, s)
			}
		}
	default:
		for _, s := range c.spans(0) {
			if s.Group == group {
				all = append(all, tenureAt{s.Holder, s.Token})
			}
		}
	}
	return all
}

// everyGroup calls do with all groups of a host.
func (c *movedCouncil) everyGroup(host string, do func(group string)) {
	for kind, n := range map[string]int{"acting": c.acting, "run": c.run, "dialled": c.dialled} {
		for _, g := range c.groups(kind, n, host) {
			do(g)
		}
	}
}

// leads waits until a host leads all its groups.
func (c *movedCouncil) leads(host string) {
	c.t.Helper()
	missing := ""
	defer func() {
		if c.t.Failed() {
			c.t.Log("not led: ", missing)
		}
	}()
	cluster.Eventually(c.t, host+" leads its groups", func() bool {
		missing = ""
		c.everyGroup(host, func(g string) {
			if all := c.standings(g); len(all) == 0 || all[len(all)-1].host != host {
				missing += " " + g
			}
		})
		return missing == ""
	})
}

// members runs a command that changes the council, at a host.
func (c *movedCouncil) members(host string, args ...string) {
	c.t.Helper()
	c.check(c.regent(append([]string{"members", args[0], "--socket", c.Socket(host)}, args[1:]...)...))
}

// newcomer returns the arguments that name a host that joins.
func (c *movedCouncil) newcomer(host string) []string {
	c.t.Helper()
	p, err := c.Peer(host)
	c.check(err)
	return []string{host + "=" + p.Addrs[0], "--keys", filepath.Join(c.Dir, host, host+".pub")}
}

// handedOver says whether a group was led by one host, and then by another one, without a loss there. The one that leaves may lead again in between, with
// another token: where its heir is paused while it hands over, it takes the group once more, and hands it over again.
func handedOver(all []tenureAt, from, to string) bool {
	last := len(all) - 1
	for i, x := range all {
		if i == last && x.host != to || i < last && x.host != from || i > 0 && x.token <= all[i-1].token {
			return false
		}
	}
	return last > 0
}

// All hosts are replaced, one after the other. Every group is handed over once, from the host that leaves to the one that replaces it; no host that
// stays loses a leadership. A consistent group takes the newcomers in, and recovers what each host had that leaves.
func TestAllHostsAreReplacedAndLeadersNoticeNothing(t *testing.T) {
	t.Parallel()
	c := openMoved(t)
	for _, host := range c.Founders {
		c.stand(host)
	}
	for _, host := range c.Founders {
		c.leads(host)
	}
	in := slices.Clone(c.Founders)
	c.shards.agree(in...)
	for i, host := range c.Founders {
		next, other := c.Names[i+3], c.Names[(i+1)%3]
		if i == 2 {
			other = "d"
		}
		c.startAgent(next)
		c.members(other, append([]string{"add"}, c.newcomer(next)...)...)
		c.check(c.AwaitAgents(next))
		c.stand(next)
		in = append(in, next)
		c.shards.agree(in...)
		c.members(other, "remove", host)
		in = in[1:]
		c.shards.agree(in...)
		c.leads(next)
		cluster.Eventually(t, "the agent of "+host+" ends", func() bool { return c.Process(host).Ended() })
		if code := c.Process(host).ExitCode(); code != 0 {
			t.Errorf("the agent of %s ended with status %d: %s", host, code, c.Process(host).Log())
		}
	}
	for i, host := range c.Founders {
		c.everyGroup(host, func(g string) {
			if all := c.standings(g); !handedOver(all, host, c.Names[i+3]) {
				t.Errorf("group %s was led by %v: want %s, then %s, once", g, all, host, c.Names[i+3])
			}
		})
	}
	c.shards.judge(c.Founders...)
	c.Judge(t, 2*c.acting, cluster.Rules{})
}

package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
)

// A balanced council of agent processes, with a program of every group at each host.
type balanced struct {
	*agentProcesses
	groups  []string
	order   balance.Order
	clients map[string]*regent.Client
	leave   map[string]func() // ends the programs of a host
}

// astray is how many groups may be elsewhere than at their places: a busy host may lose a lease, and what it has lost it does not get back. One group in
// three is at its place by chance.
const astray = 4

func (b *balanced) rank(host string) protocol.Rank { return protocol.Rank(host[0] - 'a') }

// begin starts a program of every group at a host.
func (b *balanced) begin(host string) {
	b.t.Helper()
	c, err := regent.Dial(b.t.Context(), b.Socket(host))
	b.must(err)
	ctx, cancel := context.WithCancel(b.t.Context())
	var all sync.WaitGroup
	for _, name := range b.groups {
		g, err := c.Group(name)
		b.must(err)
		all.Go(func() {
			for ctx.Err() == nil {
				err := g.Lead(ctx, func(ctx context.Context, _ *regent.Lease) error {
					<-ctx.Done()
					return nil
				})
				if err != nil {
					return // the agent is gone
				}
			}
		})
	}
	b.clients[host] = c
	b.leave[host] = sync.OnceFunc(func() {
		cancel()
		_ = c.Close()
		all.Wait()
	})
	b.t.Cleanup(b.leave[host])
}

// led returns who leads each group, as a host shows it.
func (b *balanced) led(at string) []string {
	b.t.Helper()
	var out []string
	for _, name := range b.groups {
		g, err := b.clients[at].Group(name)
		b.must(err)
		v, err := g.View(b.t.Context())
		b.must(err)
		out = append(out, v.Leader)
	}
	return out
}

// settles waits until nearly all groups are led at their places among some hosts, and none at another host. Groups of a host that has died are led by any of
// them: those that wait their turns on a busy host may be late for it.
func (b *balanced) settles(when, at, among, died string) {
	b.t.Helper()
	var hosts protocol.Set
	for _, h := range among {
		hosts.Add(protocol.Rank(h - 'a'))
	}
	var last []string
	cluster.Eventually(b.t, "groups are at their places, "+when, func() bool {
		n := 0
		last = b.led(at)
		for i, leader := range last {
			if leader == "" || !strings.Contains(among, leader) {
				return false
			}
			of := protocol.Group(b.groups[i])
			late := died != "" && b.order.First(of, protocol.Everyone(len(b.order))) == b.rank(died)
			if !late && b.order.First(of, hosts) != b.rank(leader) {
				n++
			}
		}
		return n <= astray
	})
	b.t.Logf("%s: %v", when, last)
}

// operate asks a host to drain itself, or to end that.
func (b *balanced) operate(host, what string) {
	b.t.Helper()
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", b.Socket(host))
	}}}
	r, err := local.Post("http://agent/v1/"+what, "application/json", strings.NewReader(fmt.Sprintf(`{"member":%q}`, host)))
	b.must(err)
	defer r.Body.Close()
	if text, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s: %s", what, host, r.Status, text)
	}
}

// Groups go to their places when hosts start, are killed, come back, and are drained and undrained.
func TestGroupsSpreadWhileHostsComeAndGo(t *testing.T) {
	t.Parallel()
	v := start(t, cluster.Options{Names: hosts(3), Config: "balance: true\ntiming: {round_trip: 100ms, renew: 200ms, lease: 2s, longest_lease: 2s}\n"})
	b := &balanced{agentProcesses: v, clients: make(map[string]*regent.Client), leave: make(map[string]func())}
	for _, name := range v.Names {
		b.order = append(b.order, balance.Share{Seed: balance.Seed(name)})
	}
	for i := range 24 {
		b.groups = append(b.groups, fmt.Sprint("group", i))
	}
	for _, name := range v.Names {
		b.begin(name)
	}
	b.settles("at the start", "c", "abc", "")
	v.must(v.Process("a").Kill())
	b.leave["a"]()
	b.settles("a is dead", "c", "bc", "a")
	v.startAgent("a")
	v.must(v.AwaitAgents("a"))
	b.begin("a")
	b.settles("a is back", "c", "abc", "")
	b.operate("b", "drain")
	b.settles("b is drained", "c", "ac", "")
	b.operate("b", "undrain")
	b.settles("b is undrained", "c", "abc", "")
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
	vip "github.com/regentproject/regent/agent/run/address"
)

// regent vip reports what happens to an address: to neighbours, when another member is back and when the interface was down; to operators, when another host has the address
// too; and to scripts, as JSON and by the exit status.
func TestVIPTellsWhatHappens(t *testing.T) {
	if err := cluster.CanNamespaces(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return // there are no hosts to move it between
	}
	t.Parallel()
	v := vipAgents(t, vipConfig, false)
	four, six := vip4.String()+"/16@eth0", vip6.String()+"/64@eth0"
	var mu sync.Mutex
	var events []vip.Event
	saw := func(e vip.Event) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(events, e)
		}
	}
	v.check2(v.Spawn(runnerOf("a"), "a", v.regent("vip", "web", four, six, "--json", "--quiet", "--socket", v.Socket("a")), func(line string) {
		var e vip.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}))
	arp, err := v.WatchAnnouncements(vip4, "c")
	v.check(err)
	defer arp.Close()
	advertised, err := v.WatchAnnouncements(vip6, "c")
	v.check(err)
	defer advertised.Close()
	cluster.Eventually(t, "the host has both", func() bool {
		return saw(vip.Event{Event: vip.Held, Address: four})() && saw(vip.Event{Event: vip.Held, Address: six})()
	})

	late, err := v.Spawn(runnerOf("b"), "b", v.regent("vip", "web", four, "--wait", "2s", "--json", "--socket", v.Socket("b")), nil)
	v.check(err)
	cluster.Eventually(t, "a host that does not lead in time gives up", late.Ended)
	if late.ExitCode() != 123 || !strings.Contains(late.Log(), "web: this host did not lead within 2s") {
		t.Errorf("status %d, want 123:\n%s", late.ExitCode(), late.Log())
	}

	const thrice = 3
	cluster.Eventually(t, "neighbours hear of the address three times", func() bool { return arp.Count() >= thrice && advertised.Count() >= thrice })
	before := advertised.Count()
	v.check(v.IP("a", "link set eth0 down"), v.IP("a", "link set eth0 up"))
	cluster.Eventually(t, "the address of version 6 is back and announced", func() bool {
		has, err := v.HasAddress(vip6)
		return err == nil && len(has) == 1 && advertised.Count() > before
	})

	duplicates := func() (problems string, metric string) {
		out, _ := command("status", "--json", "--socket", v.Socket("a")).Output() // 1: there are problems
		var s struct {
			Problems []string          `json:"problems"`
			Programs []api.SessionInfo `json:"programs"`
		}
		if err := json.Unmarshal(out, &s); err != nil {
			t.Errorf("%s: %v", out, err)
		}
		for line := range strings.Lines(metricsAt(t, v.Socket("a"))) {
			if strings.HasPrefix(line, "regent_address_duplicate{") && strings.Contains(line, four) {
				metric = strings.TrimSpace(line)
			}
		}
		return strings.Join(s.Problems, "\n"), metric
	}
	of := func(value int) string {
		return fmt.Sprintf(`regent_address_duplicate{address="%s",group="web"} %d`, four, value)
	}
	if problems, metric := duplicates(); strings.Contains(problems, "another host") || metric != of(0) {
		t.Errorf("nobody else has the address: %s, %s", problems, metric)
	}
	v.check(v.IP("c", "addr add "+vip4.String()+"/16 dev eth0"))
	_, hardware, err := v.Neighbour(vip4, "c")
	v.check(err)
	cluster.Eventually(t, "the other host is found", saw(vip.Event{Event: vip.Duplicate, Address: four, Hardware: hardware}))
	want := "another host, with the hardware address " + hardware + ", has " + four + " of web as well"
	cluster.Eventually(t, "status and metrics have it", func() bool {
		problems, metric := duplicates()
		return strings.Contains(problems, want) && metric == of(1)
	})
	v.check(v.IP("c", "addr del "+vip4.String()+"/16 dev eth0"))
	cluster.Eventually(t, "it is over", func() bool {
		problems, metric := duplicates()
		return !strings.Contains(problems, want) && metric == of(0)
	})

	before = arp.Count()
	v.check(v.Unplug("b"))
	cluster.Eventually(t, "b is silent", func() bool { return silent(v, "a", "b") })
	if n := arp.Count(); n != before {
		t.Errorf("neighbours were told %d times of nothing new", n-before)
	}
	v.check(v.Plug("b"))
	cluster.Eventually(t, "neighbours hear of the address again after b is back", func() bool { return arp.Count() > before })
	v.Finish(t, runnerOf("a"))
	if !saw(vip.Event{Event: vip.Released, Address: four})() || !saw(vip.Event{Event: vip.Released, Address: six})() {
		t.Errorf("the release was not printed: %v", events)
	}
}

// metricsAt returns the page of metrics of an agent.
func metricsAt(t *testing.T, socket string) string {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	answer, err := c.Get("http://agent/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// silent says that a member has not heard another one for so long that its agent has noticed: it looks every second.
func silent(v *vipCluster, of, peer string) bool {
	var list api.MemberList
	v.check(newClient(v.Socket(of)).get(v.t.Context(), "/v1/members", &list))
	for i := range list.Members {
		if m := &list.Members[i]; m.Name == peer {
			return !m.Trusted && m.Silence > 3*time.Second
		}
	}
	return false
}

package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

// campaigning has a program wait at an agent, and yields its lease.
func (r *testAgent) campaigning(t *testing.T, group string) <-chan *session.Lease {
	t.Helper()
	got := make(chan *session.Lease, 1)
	c := r.dial(t)
	go func() {
		l, err := c.Campaign(patience(t), session.Candidate{Group: group})
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	cluster.Eventually(t, "a program waits at "+r.name, func() bool { return len(r.agent.core.Sessions(group)) > 0 })
	return got
}

// obey stops when it is told to.
func obey(l *session.Lease) {
	go func() {
		<-l.Done()
		_ = l.Resign(context.Background())
	}()
}

func TestToolsOfPatroniSwitchOver(t *testing.T) {
	h := open(t, 3, "default_group: g\n")
	a, b := h.agents[0], h.agents[1]
	l := <-a.campaigning(t, "g")
	obey(l)
	next := b.campaigning(t, "g")
	cluster.Eventually(t, "both know", func() bool {
		_, x := a.get(t, "/patroni")
		_, y := b.get(t, "/patroni")
		return x["role"] == "primary" && y["role"] == "replica" && y["name"] == "a"
	})
	for _, c := range []struct {
		at         *testAgent
		path, body string
		want       int
		says       string
	}{
		{a, "/switchover", `{"candidate":"b"}`, 400, "missing leader"},
		{a, "/switchover", `{"leader":"c","candidate":"b"}`, 412, "c does not lead it, a does"},
		{a, "/switchover", `{"leader":"a","candidate":"z"}`, 412, `no member "z"`},
		{a, "/switchover", `{"leader":"a","candidate":"b","scheduled_at":"soon"}`, 400, "must be a time to come"},
		{a, "/switchover", `{"leader":"a","candidate":"b","scheduled_at":"2001-01-01T00:00:00Z"}`, 400, "must be a time to come"},
		{b, "/switchover", `{"leader":"a","candidate":"b"}`, 403, "anonymous may not operate it from another host: rights.remote"},
		{b, "/switchover", `{"leader":"a","candidate":"a"}`, 412, "a leads already"},
		{a, "/failover", `{}`, 400, "missing candidate"},
		{a, "/v1/groups/other/failover", `{"candidate":"b"}`, 404, "no program has campaigned"},
	} {
		status, body := c.at.do(t, "POST", c.path, c.body)
		if text, _ := body["error"].(string); status != c.want || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %v, want %d %q", c.path, c.body, status, body, c.want, c.says)
		}
	}
	if !l.Valid() {
		t.Fatal("an order that was refused has cost the leadership")
	}
	if status, body := a.do(t, "POST", "/switchover", `{"leader":"a","candidate":"b"}`); status != 200 || body["leader"] != "b" {
		t.Fatalf("switchover: %d %v", status, body)
	}
	m := <-next
	obey(m)
	again := a.campaigning(t, "g")
	if status, body := b.do(t, "POST", "/v1/groups/g/failover", `{"candidate":"a"}`); status != 200 || body["leader"] != "a" {
		t.Fatalf("failover: %d %v", status, body)
	}
	third := <-again
	if third.Token() <= m.Token() {
		t.Errorf("token %d after %d", third.Token(), m.Token())
	}
	obey(third)

	// From a host that does not lead, by its own user on the socket.
	last := b.campaigning(t, "g")
	order := func(path, body string) (int, string) {
		t.Helper()
		onSocket := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", b.socket) }}}
		answer, err := onSocket.Post("http://agent"+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	cluster.Eventually(t, "b hands a's group over", func() bool {
		status, body := order("/switchover", `{"leader":"a","candidate":"b"}`)
		return status == 200 && strings.Contains(body, `"leader":"b"`)
	})
	if l := <-last; l.Token() <= third.Token() {
		t.Errorf("token %d after %d", l.Token(), third.Token())
	}
}

func TestSwitchoverCanBeScheduledAndCancelled(t *testing.T) {
	h := open(t, 3, "default_group: g\n")
	a, b := h.agents[0], h.agents[1]
	l := <-a.campaigning(t, "g")
	obey(l)
	next := b.campaigning(t, "g")
	cluster.Eventually(t, "a knows", func() bool { _, x := a.get(t, "/patroni"); return x["role"] == "primary" })
	later := func(d time.Duration) string {
		return fmt.Sprintf(`{"leader":"a","candidate":"b","scheduled_at":%q}`, time.Now().Add(d).Format(time.RFC3339Nano))
	}
	if status, body := a.do(t, "POST", "/switchover", later(time.Hour)); status != 202 || body["to"] != "b" {
		t.Fatalf("for later: %d %v", status, body)
	}
	if _, body := a.get(t, "/cluster"); body["scheduled_switchover"] == nil {
		t.Errorf("the cluster does not show it: %v", body)
	}
	if status, body := a.do(t, "DELETE", "/switchover", ""); status != 200 || body["to"] != "b" {
		t.Errorf("cancelled: %d %v", status, body)
	}
	if status, _ := a.do(t, "DELETE", "/switchover", ""); status != 404 {
		t.Errorf("cancelled twice: %d", status)
	}
	if _, body := a.get(t, "/cluster"); body["scheduled_switchover"] != nil {
		t.Errorf("the cluster still shows it: %v", body)
	}
	if status, body := a.do(t, "POST", "/switchover", later(50*time.Millisecond)); status != 202 {
		t.Fatalf("for soon: %d %v", status, body)
	}
	if m := <-next; m.Token() <= l.Token() {
		t.Errorf("token %d after %d", m.Token(), l.Token())
	}
}

func TestToolsOfPatroniGetTheirWords(t *testing.T) {
	h := open(t, 3, "default_group: g\ntags: {noloadbalance: true, datacenter: east}\n")
	a, b := h.agents[0], h.agents[1]
	<-a.campaigning(t, "g")
	cluster.Eventually(t, "b knows", func() bool { _, x := b.get(t, "/patroni"); return x["name"] == "a" })
	_, info := a.get(t, "/patroni")
	self, _ := info["patroni"].(map[string]any)
	tags, _ := info["tags"].(map[string]any)
	if info["state"] != "running" || info["role"] != "primary" || info["timeline"] != info["token"] || self["scope"] != "g" || self["name"] != "a" ||
		self["version"] != "test" || tags["datacenter"] != "east" || tags["noloadbalance"] != "true" {
		t.Errorf("patroni: %v", info)
	}
	if seen, _ := info["dcs_last_seen"].(float64); time.Since(time.Unix(int64(seen), 0)) > time.Minute {
		t.Errorf("a majority was last seen at %v", info["dcs_last_seen"])
	}
	if _, info := a.get(t, "/v1/groups/other/patroni"); info["cluster_unlocked"] != true {
		t.Errorf("of a group that nobody leads: %v", info)
	}
	_, cluster := b.get(t, "/cluster")
	members, _ := cluster["members"].([]any)
	if len(members) != 3 {
		t.Fatalf("cluster: %v", cluster)
	}
	for _, x := range members {
		m := x.(map[string]any)
		if want := map[bool]string{true: "leader", false: "replica"}[m["name"] == "a"]; m["role"] != want || m["host"] != "127.0.0.1" || m["port"] == nil {
			t.Errorf("member %v", m)
		}
		if (m["name"] == "b") != (m["api_url"] == "http://"+b.http+"/patroni") {
			t.Errorf("member %v: only b's own address is known to it", m)
		}
	}
	for _, c := range []struct {
		at   *testAgent
		path string
		want int
	}{
		{a, "/primary", 200}, {a, "/primary?tag_datacenter=east", 200}, {a, "/primary?tag_datacenter=west", 503}, {a, "/primary?tag_rack=1", 503},
		{b, "/replica", 503}, {b, "/read-only", 200}, {b, "/read-only?tag_datacenter=west", 503}, {b, "/replica?lag=10MB", 503},
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if status := c.at.ask(t, http.DefaultClient, "http", method, c.path); status != c.want {
				t.Errorf("%s %s at %s: %d, want %d", method, c.path, c.at.name, status, c.want)
			}
		}
	}
}

// Who asks whether the process is up, and who reads its state, asks about no group.
func TestStateOfTheAgentNeedsNoDefaultGroup(t *testing.T) {
	a := open(t, 1, "").agents[0]
	for path, want := range map[string]int{"/patroni": 200, "/health": 200, "/liveness": 200, "/read-only": 200, "/primary": 404, "/": 404, "/readiness": 404, "/history": 404} {
		if status, body := a.get(t, path); status != want {
			t.Errorf("%s: %d %v, want %d", path, status, body, want)
		}
	}
	_, info := a.get(t, "/patroni")
	if self, _ := info["patroni"].(map[string]any); info["state"] != "running" || self["name"] != "a" || self["scope"] != "" || info["cluster_unlocked"] != nil {
		t.Errorf("without a group: %v", info)
	}
	if _, body := a.get(t, "/history"); !strings.Contains(body["error"].(string), "/v1/groups/GROUP/history, whose answer has another form") {
		t.Errorf("the hint of /history: %v", body)
	}
}

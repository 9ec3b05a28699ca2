package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/session"
)

func TestHostsLeadLocalAndEventualGroupsByThemselves(t *testing.T) {
	h := open(t, 3, "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\n")
	for _, r := range h.agents {
		eventually(t, r.name+" knows the local leader and who supports it", func() bool {
			status, body := r.get(t, "/v1/groups/cache")
			support, _ := body["support"].([]any)
			return status == 200 && body["mode"] == "local" && body["leader"] == "a" && slices.Equal(support, []any{"a", "b", "c"}) && body["token"] == nil
		})
		want := 503
		if r.name == "a" {
			want = 200
		}
		if status, body := r.get(t, "/v1/groups/cache/standby-leader"); status != want {
			t.Errorf("standby-leader at %s: %d %v", r.name, status, body)
		}
		// A load balancer never sends writes to a leader of a part.
		for _, path := range []string{"primary", "leader", "read-write"} {
			if status, _ := r.get(t, "/v1/groups/cache/"+path); status != 503 {
				t.Errorf("%s at %s: %d", path, r.name, status)
			}
		}
	}
	if _, _, metrics := h.agents[1].raw(t, "GET", "/metrics", ""); !strings.Contains(string(metrics), `regent_support_size{group="cache"} 3`) {
		t.Errorf("metrics lack the support of the local leader:\n%s", metrics)
	}
	var leader any
	for _, r := range h.agents {
		eventually(t, r.name+" trusts the same as all others", func() bool {
			_, body := r.get(t, "/v1/groups/ops")
			if body["mode"] != "eventual" || body["leader"] == "" {
				return false
			}
			if leader == nil {
				leader = body["leader"]
			}
			return body["leader"] == leader
		})
	}
	if _, err := h.agents[0].dial(t).Campaign(patience(t), session.Candidate{Group: "cache"}); err == nil || !strings.Contains(err.Error(), "hosts lead it") {
		t.Errorf("a program campaigns in a local group: %v", err)
	}
	if status, body := h.agents[0].get(t, "/v1/groups/cache/verify"); status != 409 {
		t.Errorf("verify of a local group: %d %v", status, body)
	}
}

func TestWatchInTheProcessIsTheStream(t *testing.T) {
	h := open(t, 1, "")
	seen := make(chan string, 100)
	go func() {
		_ = h.agents[0].agent.Watch(patience(t), func(event string, e StreamEvent) error {
			if event == "group" {
				event += " " + e.Leader
			}
			seen <- event
			return nil
		})
	}()
	await := func(want string) {
		t.Helper()
		for got := range seen {
			if got == want {
				return
			}
		}
	}
	await("synced")
	await("pulse")
	l, err := h.agents[0].dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	await("group a")
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	await("group ")
}

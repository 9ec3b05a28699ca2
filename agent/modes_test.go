package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

func TestHostsLeadLocalAndEventualGroupsByThemselves(t *testing.T) {
	h := open(t, 3, "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\n")
	for _, r := range h.agents {
		cluster.Eventually(t, r.name+" knows the local leader and who supports it", func() bool {
			status, body := r.get(t, "/v1/groups/cache")
			support, _ := body["support"].([]any)
			return status == 200 && body["mode"] == "local" && body["leader"] == "a" && slices.Equal(support, []any{"a", "b", "c"}) && body["token"] == nil
		})
		want := 503
		if r.name == "a" {
			want = 200
		}
		cluster.Eventually(t, fmt.Sprintf("standby-leader at %s is %d", r.name, want), func() bool {
			status, _ := r.get(t, "/v1/groups/cache/standby-leader")
			return status == want
		})
		// A load balancer never sends writes to a leader of a part.
		for _, path := range []string{"primary", "leader", "read-write"} {
			if status, _ := r.get(t, "/v1/groups/cache/"+path); status != 503 {
				t.Errorf("%s at %s: %d", path, r.name, status)
			}
		}
	}
	var leader any
	for _, r := range h.agents {
		cluster.Eventually(t, r.name+" trusts the same as all others", func() bool {
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
	for path, body := range map[string]string{"/v1/groups/cache/resign": "{}", "/v1/groups/ops/transfer": `{"to":"b"}`} {
		for _, r := range h.agents[:2] { // also where it is led
			status, answer := r.do(t, "POST", path, body)
			if text, _ := answer["error"].(string); status != 409 || !strings.Contains(text, "hosts lead it by themselves, and there is nothing to resign") {
				t.Errorf("%s at %s: %d %v", path, r.name, status, answer)
			}
		}
	}
}

// openParts starts three agents whose links can be cut, with groups that hosts lead.
func openParts(t *testing.T) *testCluster {
	t.Helper()
	return openOn(t, cluster.Open(t, cluster.Options{Names: hosts(3), Relay: true,
		Config: "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\nprofile: wan\nrealtime: false\n"}))
}

// programsOf runs a program at each agent that campaigns again and again, and returns which of them lead now.
func programsOf(t *testing.T, h *testCluster, group string, mode regent.Mode) func() []string {
	t.Helper()
	leases := make([]atomic.Pointer[session.Lease], len(h.agents))
	var programs sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); programs.Wait() })
	for i, r := range h.agents {
		conn := r.dial(t)
		programs.Go(func() {
			for {
				l, err := conn.Campaign(ctx, session.Candidate{Group: group, Mode: mode})
				if err != nil {
					return
				}
				if l.Token() != 0 {
					t.Errorf("a leader of a %s group has token %d", mode, l.Token())
				}
				leases[i].Store(l)
				select {
				case <-l.Done():
				case <-ctx.Done():
				}
				_ = l.Resign(context.WithoutCancel(ctx))
			}
		})
	}
	return func() (names []string) {
		for i, r := range h.agents {
			if l := leases[i].Load(); l != nil && l.Valid() {
				names = append(names, r.name)
			}
		}
		return names
	}
}

// A program has its turn while its host leads: in a network of two parts one in each, in a network that is whole one.
func TestProgramsLeadInEachPartOfTheNetwork(t *testing.T) {
	for group, mode := range map[string]regent.Mode{"cache": regent.Local, "ops": regent.Eventual} {
		t.Run(string(mode), func(t *testing.T) {
			h := openParts(t)
			leaders := programsOf(t, h, group, mode)
			agreed := func() string {
				leader := text(viewOf(t, h.agents[0], group)["leader"])
				for _, r := range h.agents {
					if text(viewOf(t, r, group)["leader"]) != leader {
						return ""
					}
				}
				return leader
			}
			one := func() bool { return agreed() != "" && slices.Equal(leaders(), []string{agreed()}) }
			cluster.Eventually(t, "one program leads", one)
			cut := agreed()
			if err := h.links.Cut(cut); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "a program leads in each part", func() bool {
				now := leaders()
				return len(now) == 2 && slices.Contains(now, cut)
			})
			if err := h.links.HealAll(); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, "one program leads again", one)
		})
	}
}

// A program takes turns with others of its host over HTTP, too. Nobody leads by a mode that the group has not.
func TestProgramsOfAHostTakeTurnsInGroupsThatHostsLead(t *testing.T) {
	h := open(t, 1, "groups: [{name: ops, mode: eventual}]\n")
	a := h.agents[0]
	for path, want := range map[string]string{
		`/v1/groups/ops/campaign {}`:                              "campaign with mode eventual",
		`/v1/groups/ops/campaign {"mode":"local"}`:                "campaign with mode eventual",
		`/v1/groups/ops/campaign {"mode":"eventual","value":"x"}`: "announce no value",
		`/v1/groups/g/campaign {"mode":"eventual"}`:               "list it under groups",
		`/v1/groups/ops/campaign {"mode":"consistent"}`:           "a member must report what it has recovered",
	} {
		where, body, _ := strings.Cut(path, " ")
		if status, answer := a.do(t, "POST", where, body); status != 409 && status != 400 || !strings.Contains(text(answer["error"]), want) {
			t.Errorf("%s: %d %v, want %q", path, status, answer, want)
		}
	}
	first := a.stream(t, "POST", "/v1/groups/ops/campaign", `{"mode":"eventual"}`)
	leads := first.await("leads", nil)
	if leads["token"] != nil || leads["valid_for_ns"] == nil {
		t.Errorf("it leads by %v", leads)
	}
	first.await("until", nil)
	l := make(chan *session.Lease, 1)
	go func() {
		got, _ := a.dial(t).Campaign(patience(t), session.Candidate{Group: "ops", Mode: regent.Eventual})
		l <- got
	}()
	cluster.Eventually(t, "the second waits", func() bool { _, s := a.get(t, "/v1/sessions"); return strings.Contains(fmt.Sprint(s), "waiting") })
	if status, body := a.do(t, "POST", "/v1/sessions/"+text(leads["session"])+"/resign", "{}"); status != 200 {
		t.Fatalf("resign: %d %v", status, body)
	}
	first.await("over", nil)
	second := <-l
	if second == nil || !second.Valid() {
		t.Fatal("the second program did not get its turn")
	}
	if _, err := second.Edict(patience(t)); err == nil {
		t.Error("a leader without a token stamps an order")
	}
	a.stop()
	<-second.Done()
	if second.Cause().Why != why.Closed {
		t.Errorf("the agent stops, and the program is told: %v", second.Cause())
	}
	_ = second.Resign(patience(t))
}

// A Go program leads a local group through its agent as it does at a member, and sees an eventual one.
func TestGoProgramsUseGroupsThatHostsLeadThroughTheAgent(t *testing.T) {
	h := open(t, 3, "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\n")
	client := h.agents[0].dialled(t)
	ctx, cancel := context.WithCancel(patience(t))
	err := must(client.LocalGroup("cache")).Lead(ctx, func(within context.Context, l *regent.LocalLease) error {
		cluster.Eventually(t, "all support it", func() bool {
			members, _ := l.Support(within)
			return within.Err() != nil || len(members) == 3
		})
		if within.Err() != nil {
			return nil // a busy host lost it: again
		}
		if l.Group() != "cache" || !l.Valid() {
			t.Errorf("it leads %s, valid: %v", l.Group(), l.Valid())
		}
		cancel()
		<-within.Done()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	ops := must(client.EventualGroup("ops"))
	defer ops.Close()
	var mine int
	for _, r := range h.agents {
		g := must(r.dialled(t).EventualGroup("ops"))
		cluster.Eventually(t, r.name+" sees a leader", func() bool {
			v, err := g.View(patience(t))
			return err == nil && v.Leader != "" && v.Mode == regent.Eventual
		})
	}
	cluster.Eventually(t, "one host leads", func() bool {
		mine = 0
		for _, r := range h.agents {
			if v, err := must(r.dialled(t).EventualGroup("ops")).View(patience(t)); err == nil && v.Mine {
				mine++
			}
		}
		return mine == 1
	})
	if _, err := must(client.LocalGroup("ops")).View(patience(t)); err == nil || !strings.Contains(err.Error(), "it is eventual at the agent") {
		t.Errorf("an eventual group, seen as a local one: %v", err)
	}
	if _, err := must(client.Group("cache")).View(patience(t)); err == nil {
		t.Error("a local group, seen as a quorum one, has a view")
	}
}

func viewOf(t *testing.T, r *testAgent, group string) map[string]any {
	t.Helper()
	_, body := r.get(t, "/v1/groups/"+group)
	return body
}

// metric returns the value of a metric with its labels; empty if there is none.
func (r *testAgent) metric(t *testing.T, name string) string {
	t.Helper()
	_, _, body := r.raw(t, "GET", "/metrics", "")
	for line := range strings.Lines(string(body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Whoever alerts on a group without a leader, or with two, is not told so of one that hosts lead.
func TestMetricsKnowGroupsThatHostsLead(t *testing.T) {
	h := open(t, 3, "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\n")
	// Who is trusted depends on who was heard first, and what a busy host costs a local leader comes back.
	var wrong string
	defer func() {
		if t.Failed() {
			t.Log(wrong)
		}
	}()
	cluster.Eventually(t, "the metrics say who leads", func() bool {
		_, ops := h.agents[0].get(t, "/v1/groups/ops")
		wrong = unlikeLeaders(t, h, ops["leader"])
		return wrong == ""
	})
}

// unlikeLeaders says where metrics differ from what they should be if the local leader is a, supported by all.
func unlikeLeaders(t *testing.T, h *testCluster, trusted any) string {
	t.Helper()
	for _, c := range []struct {
		leader       any
		name         string
		there, other string // at the leader, and at others
	}{
		{"a", `regent_is_leader{group="cache"}`, "1", "0"},
		{trusted, `regent_is_leader{group="ops"}`, "1", "0"},
		{"a", `regent_has_leader{group="cache"}`, "1", "1"},
		{trusted, `regent_has_leader{group="ops"}`, "1", "1"},
		{trusted, `leader_election_master_status{name="ops"}`, "1", "0"},
		{"a", `leader_election_master_status{name="cache"}`, "", ""}, // a network in two parts has two leaders, as it should
		{"a", `regent_support_size{group="cache"}`, "3", "3"},
		{"a", `regent_token{group="cache"}`, "", ""},
		{trusted, `regent_token{group="ops"}`, "", ""},
		{trusted, `regent_lease_remaining_seconds{group="ops"}`, "", ""},
	} {
		for _, r := range h.agents {
			want := c.other
			if r.name == c.leader {
				want = c.there
			}
			if got := r.metric(t, c.name); got != want {
				return fmt.Sprintf("%s at %s: %q, want %q", c.name, r.name, got, want)
			}
		}
	}
	if left := h.agents[0].metric(t, `regent_lease_remaining_seconds{group="cache"}`); !strings.HasPrefix(left, "0.") {
		return fmt.Sprintf("the lease of the local leader runs for %q", left)
	}
	return ""
}

func TestWatchInTheProcessIsTheStream(t *testing.T) {
	h := open(t, 1, "")
	seen := make(chan string, 100)
	go func() {
		_ = h.agents[0].agent.core.Watch(patience(t), func(event string, e api.StreamEvent) error {
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

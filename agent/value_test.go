package agent

import (
	"net/http"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// A leader announces a value through its agent. All agents show it, on all surfaces, as it is: what shows it to people escapes it.
func TestEveryAgentShowsTheValueOfTheLeader(t *testing.T) {
	h := open(t, 3, "")
	a, b := h.agents[0], h.agents[1]
	const first, second = "http://a/\x1b[2J\u202e", "http://a:2"
	l, err := must(a.dialled(t).Group("g")).Announcing(first).Campaign(patience(t))
	if err != nil {
		t.Fatal(err)
	}
	shows := func(want string) {
		t.Helper()
		client := b.dialled(t)
		cluster.Eventually(t, "b shows "+want, func() bool { _, g := b.get(t, "/v1/groups/g"); return g["leader"] == "a" && text(g["value"]) == want })
		if v := must(must(client.Group("g")).View(patience(t))); v.Value != want {
			t.Errorf("the view is %v", v)
		}
		if p, err := must(client.Group("g")).Verify(patience(t)); err != nil || p.Value != want {
			t.Errorf("the proof is %+v, %v", p, err)
		}
		if _, p := b.get(t, "/v1/groups/g/verify"); text(p["value"]) != want {
			t.Errorf("the proof over HTTP is %v", p)
		}
	}
	shows(first)
	_, before := b.get(t, "/v1/groups/g")
	_, history := b.get(t, "/v1/groups/g/history")
	if err := l.Announce(patience(t), second); err != nil {
		t.Fatal(err)
	}
	shows(second)
	_, after := b.get(t, "/v1/groups/g")
	if after["at"] != before["at"] || after["changes"] != before["changes"] || after["serial"] == before["serial"] {
		t.Errorf("another value of the same leadership: %v, before %v", after, before)
	}
	if _, now := b.get(t, "/v1/groups/g/history"); len(now["changes"].([]any)) != len(history["changes"].([]any)) {
		t.Errorf("the history has grown: %v", now)
	}
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "nobody leads", func() bool { _, g := b.get(t, "/v1/groups/g"); return g["leader"] == "" && text(g["value"]) == "" })
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func TestACampaignOverHTTPAnnouncesAValue(t *testing.T) {
	h := open(t, 1, "")
	a := h.agents[0]
	e := a.stream(t, "POST", "/v1/groups/g/campaign", `{"value":"http://a"}`)
	leads := e.await("leads", nil)
	cluster.Eventually(t, "it is shown", func() bool { _, g := a.get(t, "/v1/groups/g"); return text(g["value"]) == "http://a" })
	announce := "/v1/sessions/" + leads["session"].(string) + "/announce"
	if status, body := a.do(t, "POST", announce, `{"value":"http://b"}`); status != http.StatusOK {
		t.Errorf("announce: %d %v", status, body)
	}
	cluster.Eventually(t, "it is shown", func() bool { _, g := a.get(t, "/v1/groups/g"); return text(g["value"]) == "http://b" })
	long := `{"value":"` + strings.Repeat("x", 257) + `"}`
	for _, path := range []string{announce, "/v1/groups/g/campaign"} {
		if status, body := a.do(t, "POST", path, long); status != http.StatusBadRequest || !strings.Contains(text(body["error"]), "256") {
			t.Errorf("%s with a long value: %d %v", path, status, body)
		}
	}
	waits := a.stream(t, "POST", "/v1/groups/g/campaign", `{}`).await("waiting", nil)
	if status, body := a.do(t, "POST", "/v1/sessions/"+waits["session"].(string)+"/announce", `{"value":"x"}`); status != http.StatusConflict {
		t.Errorf("announce without leading: %d %v", status, body)
	}
}

package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// drainedHere returns the hosts that an agent shows as drained.
func (r *testAgent) drainedHere() (names []string) {
	for _, m := range r.agent.core.Members() {
		if m.Drained {
			names = append(names, m.Name)
		}
	}
	return names
}

func TestOperatorDrainsAHostForRepair(t *testing.T) {
	h := open(t, 3, "")
	a, b := h.agents[0], h.agents[1]
	l := <-a.campaigning(t, "g")
	alone := a.campaigning(t, "alone")
	obey(l)
	obey(<-alone)
	next := b.campaigning(t, "g")
	cluster.Eventually(t, "all know", func() bool {
		_, body := b.get(t, "/v1/groups/g")
		return body["leader"] == "a" && len(a.agent.core.Sessions("alone")) == 1
	})
	for body, want := range map[string]string{`{}`: "missing member", `{"member":"z"}`: `no member "z"`, `{"member":"b"}`: "run 'regent drain b' on host b (127.0.0.1)"} {
		if status, got := a.do(t, "POST", "/v1/drain", body); status < 400 || !strings.Contains(got["error"].(string), want) {
			t.Errorf("drain %s: %d %v", body, status, got)
		}
	}
	if !l.Guarded() {
		t.Fatal("a refused order has changed something")
	}
	status, got := a.do(t, "POST", "/v1/drain", `{"member":"a"}`)
	if status != 200 || got["drained"] != true || got["moved"] != 1.0 || len(got["leaderless"].([]any)) != 1 || got["leaderless"].([]any)[0] != "alone" {
		t.Errorf("drain: %d %v", status, got)
	}
	obey(<-next)
	if cause := l.Cause(); cause.Why.String() != "drained" || cause.Member != "a" {
		t.Errorf("the program was asked to stop because of %v", cause)
	}
	shown := func(when string) {
		t.Helper()
		for _, at := range h.agents {
			cluster.Eventually(t, at.name+" shows that a is drained "+when, func() bool { return slices.Equal(at.drainedHere(), []string{"a"}) })
		}
		if _, s := a.get(t, "/v1/status"); s["drained"] != true || s["leading"] != 0.0 {
			t.Errorf("%s: the status is %v", when, s)
		}
	}
	shown("at once")
	if got := a.metric(t, "regent_drained"); got != "1" {
		t.Errorf("the metric is %q", got)
	}
	a.stop()
	<-a.done
	a.start(t)
	a.await(t)
	shown("after a restart")
	again := a.campaigning(t, "alone")
	// The last host that may lead is not drained by mistake.
	if status, got := b.do(t, "POST", "/v1/drain", `{"member":"b"}`); status != 200 {
		t.Errorf("drain b: %d %v", status, got)
	}
	cluster.Eventually(t, "c knows of both", func() bool { return len(h.agents[2].drainedHere()) == 2 })
	if status, got := h.agents[2].do(t, "POST", "/v1/drain", `{"member":"c"}`); status != 409 || !strings.Contains(got["error"].(string), "no other host could lead: a is drained, b is drained") {
		t.Errorf("drain c: %d %v", status, got)
	}
	if status, got := h.agents[2].do(t, "POST", "/v1/drain", `{"member":"c","yes":true}`); status != 200 {
		t.Errorf("drain c with yes: %d %v", status, got)
	}
	if len(again) != 0 {
		t.Error("a program leads on a drained host")
	}
	if status, got := a.do(t, "POST", "/v1/undrain", `{"member":"a"}`); status != 200 || got["drained"] != false {
		t.Errorf("undrain: %d %v", status, got)
	}
	obey(<-again)
}

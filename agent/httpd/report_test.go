package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/protocol/order"
)

// A reporter is an agent whose member hears the others of its council.
type reporter struct {
	*fakeAgent
	name    string
	members []regent.PeerStatus
	others  map[string]*Server
	// stopping says that the agent is on its way out.
	stopping bool
	mu       sync.Mutex
	asked    []string
}

func (r *reporter) About() core.About {
	a := r.fakeAgent.About()
	a.Name = r.name
	return a
}

func (r *reporter) Members() []regent.PeerStatus { return r.members }

func (r *reporter) Status() api.AgentStatus {
	return api.AgentStatus{Status: regent.Status{Name: r.name, Dropped: map[string]uint64{"forged": 1}}, Council: &api.CouncilInfo{}, Stopping: r.stopping}
}

func (r *reporter) Send(ctx context.Context, to string, body []byte) ([]byte, error) {
	r.mu.Lock()
	r.asked = append(r.asked, to)
	r.mu.Unlock()
	if r.others[to] == nil {
		return nil, errors.New("it does not answer")
	}
	answer := r.others[to].CarryOut(ctx, r.name, body)
	if len(answer) > order.MaxBody {
		return nil, fmt.Errorf("an answer of %d bytes", len(answer))
	}
	return answer, nil
}

// reporters makes an agent a, and the agents of a council of which c is silent and d has no agent. Clients may do nothing at any of them. The members of b are
// as many as given.
func reporters(t *testing.T, many int) (a *reporter, server *Server) {
	t.Helper()
	servers := make(map[string]*Server)
	for _, name := range []string{"a", "b", "c"} {
		_, judge := judge(t, guarded())
		r := &reporter{fakeAgent: newFake(guarded()), name: name, others: servers}
		gate := access.NewGate(slog.New(slog.DiscardHandler))
		gate.SetAccess(judge.gate.Access.Load())
		servers[name] = New(r, gate)
		for _, other := range []string{"a", "b", "c", "d"} {
			r.members = append(r.members, regent.PeerStatus{Name: other, Self: other == name, Heard: true, Silent: other == "c"})
		}
		if name == "a" {
			a = r
		}
		for n := range many {
			if name == "b" {
				r.members = append(r.members, regent.PeerStatus{Name: fmt.Sprintf("host-%d.example", n), Heard: true})
			}
		}
	}
	return a, servers["a"]
}

// The agents of all members that are heard say how they are and what they believe, without rights for that. Those that do not answer are left out.
func TestMembersReportToOneAnother(t *testing.T) {
	for _, many := range []int{0, 300} {
		a, s := reporters(t, many)
		var got []string
		for _, r := range s.Reports(t.Context(), []string{"local", "unknown"}) {
			got = append(got, fmt.Sprintf("%s %v %v %s/%s", r.Status.Name, len(r.Members) >= 4, r.Status.Council == nil && r.Status.Dropped == nil, r.Views[0].Leader, r.Views[1].Leader))
			if r.Status.Name == "b" && many > 0 && (len(r.Members) >= many || len(r.Members) < 20) {
				t.Errorf("b says how it hears %d of %d members", len(r.Members), many+4)
			}
		}
		if want := "a true true b/|b true true b/"; strings.Join(got, "|") != want {
			t.Errorf("with %d more members: %q, want %q", many, strings.Join(got, "|"), want)
		}
		if len(a.asked) != 2 {
			t.Errorf("asked %q, and c is silent", a.asked)
		}
	}
}

// A question for a report that this build does not know is refused, and so is an answer of another member than the one that was asked. An agent that is on its
// way out has no view of a group.
func TestReportsAreJudged(t *testing.T) {
	a, s := reporters(t, 0)
	for _, text := range []string{`{"at":"a","action":"report","body":{"gruops":[]}}`, `{"at":"b","action":"report","body":{}}`, `{"at":"a","action":"report"}`} {
		var answer passedAnswer
		if err := json.Unmarshal(s.CarryOut(t.Context(), "z", []byte(text)), &answer); err != nil || answer.Error == "" || answer.Body != nil {
			t.Errorf("%s: %+v, %v", text, answer, err)
		}
	}
	b := a.others["b"].core.(*reporter)
	for _, b.stopping = range []bool{false, true} {
		if r := s.askReport(t.Context(), "b", []string{"local"}); r == nil || r.Views[0].Answered == b.stopping {
			t.Errorf("b is stopping: %v, and reports %+v", b.stopping, r)
		}
	}
	a.others["d"] = a.others["b"]
	if all := s.Reports(t.Context(), nil); len(all) != 2 {
		t.Errorf("%d members report, and b answered for d", len(all))
	}
	if r := s.askReport(t.Context(), "b", nil); r == nil || r.Status.Name != "b" {
		t.Errorf("b reports %+v", r)
	}
}

package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
)

// An elsewhereHost is an agent whose group g another host leads, as far as it knows.
type elsewhereHost struct {
	*fakeAgent
	name, leader string
	others       map[string]*Server
	// fails is what sending fails with; nil: it does not.
	fails error
	// carried counts the orders that were carried out here, and asked those that came.
	carried, asked int
}

func (h *elsewhereHost) About() core.About {
	a := h.fakeAgent.About()
	a.Name = h.name
	return a
}

func (h *elsewhereHost) Drain(context.Context, bool, *api.DrainOrder) (api.Drained, error) {
	h.asked++
	if h.leader == h.name {
		h.carried++
		return api.Drained{Member: h.name, Drained: true, Leaderless: make([]string, 1000)}, nil
	}
	return api.Drained{}, api.WithStatus(http.StatusConflict, &core.Elsewhere{Host: h.leader, Why: h.leader + " has to do that", Command: "run it on host " + h.leader})
}

func (h *elsewhereHost) Send(ctx context.Context, to string, body []byte) ([]byte, error) {
	if h.fails != nil {
		return nil, h.fails
	}
	return h.others[to].CarryOut(ctx, h.name, body), nil
}

// hostsWith makes hosts with the leader that each of them knows.
func hostsWith(t *testing.T, leaders map[string]string) (map[string]*elsewhereHost, map[string]*Server) {
	t.Helper()
	all, servers := make(map[string]*elsewhereHost), make(map[string]*Server)
	rules, err := access.NewRules(&config.File{})
	if err != nil {
		t.Fatal(err)
	}
	for name, leader := range leaders {
		all[name] = &elsewhereHost{fakeAgent: newFake(&config.File{}), name: name, leader: leader, others: servers}
		gate := access.NewGate(slog.New(slog.DiscardHandler))
		gate.SetAccess(rules)
		servers[name] = New(all[name], gate)
	}
	return all, servers
}

// drainAt gives the order to drain a host at host a, as a member that speaks for itself.
func drainAt(s *Server) (at string, status int, out any, err error) {
	ctx := context.WithValue(context.Background(), access.ClientKey{}, s.gate.OfMember("x", "", ""))
	table := s.orders()
	for i := range table {
		if table[i].Audit == "drain" {
			return s.give(ctx, &table[i], "", &api.DrainOrder{Member: "b"})
		}
	}
	return "", 0, nil, errors.New("no such order")
}

// An order follows the leader once: to the host that the first one names, also back to the one that asked. It is carried out once or refused with the name.
func TestAnOrderFollowsTheLeaderOnce(t *testing.T) {
	for name, c := range map[string]struct {
		leaders map[string]string
		at      string // where it is carried out
		refused string
	}{
		"here":                {map[string]string{"a": "a", "b": "b", "c": "c"}, "", ""},
		"there":               {map[string]string{"a": "b", "b": "b", "c": "b"}, "b", ""},
		"has gone on":         {map[string]string{"a": "b", "b": "c", "c": "c"}, "c", ""},
		"has gone on twice":   {map[string]string{"a": "b", "b": "c", "c": "d"}, "", "host c: d has to do that: run it on host d"},
		"b and c send it on":  {map[string]string{"a": "b", "b": "c", "c": "b"}, "", "host c: b has to do that"},
		"b names itself":      {map[string]string{"a": "b", "b": "a", "c": "c"}, "", "b has to do that"},
		"a does not lead yet": {map[string]string{"a": "c", "b": "a", "c": "a"}, "", "c has to do that"},
	} {
		all, servers := hostsWith(t, c.leaders)
		at, status, out, err := drainAt(servers["a"])
		carried, asked := 0, 0
		for _, h := range all {
			carried, asked = carried+h.carried, asked+h.asked
		}
		if asked > 3 {
			t.Errorf("%s: %d hosts were asked", name, asked)
		}
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) || statusOf(err) != http.StatusConflict || carried != 0 {
				t.Errorf("%s: %v, carried out %d times", name, err, carried)
			}
			continue
		}
		if err != nil || at != c.at || status != http.StatusOK || carried != 1 {
			t.Errorf("%s: at %q: %d %v, carried out %d times", name, at, status, err, carried)
		}
		if raw, ok := out.(json.RawMessage); ok {
			var d api.Drained
			if err := json.Unmarshal(raw, &d); err != nil || len(d.Leaderless) != maxPassedGroups || d.MoreLeaderless != 1000-maxPassedGroups {
				t.Errorf("%s: %s, %v", name, raw, err)
			}
		}
	}
}

// What came of an order that was sent is said as it is: nothing was done, with what to run; or unknown.
func TestFailuresOfOrdersElsewhereAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		fails  error
		status int
		want   string
	}{
		"not taken":   {api.Errorf(http.StatusServiceUnavailable, "nothing was done"), http.StatusServiceUnavailable, "nothing was done (run it on host b)"},
		"unknown":     {api.Errorf(http.StatusGatewayTimeout, "the outcome is unknown"), http.StatusGatewayTimeout, "the outcome is unknown"},
		"an engine":   {core.ErrNotCarried, http.StatusConflict, "b has to do that: run it on host b"},
		"interrupted": {context.Canceled, http.StatusInternalServerError, "context canceled"},
	} {
		all, servers := hostsWith(t, map[string]string{"a": "b", "b": "b"})
		all["a"].fails = c.fails
		_, _, _, err := drainAt(servers["a"])
		if err == nil || err.Error() != c.want || statusOf(err) != c.status {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// judge returns an agent, and what carries out orders of other hosts at it.
func judge(t testing.TB, f *config.File) (*fakeAgent, *Server) {
	t.Helper()
	for i := range f.HTTP.Tokens {
		f.HTTP.Tokens[i].SHA256 = strings.Repeat("0", 64)
	}
	rules, err := access.NewRules(f)
	if err != nil {
		t.Fatal(err)
	}
	a, gate := newFake(f), access.NewGate(slog.New(slog.DiscardHandler))
	gate.SetAccess(rules)
	return a, New(a, gate)
}

// A host takes from others what it knows, for itself and from clients that may, and nothing else.
func TestOrdersOfOtherHostsAreJudged(t *testing.T) {
	f := guarded()
	f.Rights[0].Remote = []string{"token:operator"}
	f.HTTP.TLS.WriteNames = []string{"operator", "boss"}
	a, s := judge(t, f)
	for text, want := range map[string]int{
		`{"at":"a","action":"resign","group":"quorum","body":{}}`:                         http.StatusConflict, // reaches the agent, which does not lead
		`{"at":"a","action":"resign","group":"quorum","token":"operator","body":{}}`:      http.StatusConflict,
		`{"at":"a","action":"resign","group":"quorum","token":"leader","body":{}}`:        http.StatusForbidden,
		`{"at":"a","action":"resign","group":"quorum","token":"reader","body":{}}`:        http.StatusForbidden,
		`{"at":"a","action":"resign","group":"quorum","token":"unheard","body":{}}`:       http.StatusForbidden,
		`{"at":"a","action":"resign","group":"quorum","certificate":"boss","body":{}}`:    http.StatusForbidden,
		`{"at":"a","action":"resign","group":"quorum","certificate":"unheard","body":{}}`: http.StatusForbidden,
		`{"at":"b","action":"resign","group":"quorum","body":{}}`:                         http.StatusConflict,
		`{"at":"a","action":"members","body":{}}`:                                         http.StatusBadRequest,
		`{"at":"a","action":"","group":"quorum","body":{}}`:                               http.StatusBadRequest,
		`{"at":"a","action":"resign","group":"","body":{}}`:                               http.StatusBadRequest,
		`{"at":"a","action":"drain","group":"quorum","body":{}}`:                          http.StatusBadRequest,
		`{"at":"a","action":"resign","group":"quorum","uid":0,"body":{}}`:                 http.StatusBadRequest,
		`{"at":"a","action":"resign","group":"quorum","body":{"tokn":1}}`:                 http.StatusBadRequest,
		`{"at":"a","action":"resign","group":"quorum"}`:                                   http.StatusBadRequest,
		`{`: http.StatusBadRequest,
		``:  http.StatusBadRequest,
	} {
		before := len(a.wanted)
		var answer passedAnswer
		if err := json.Unmarshal(s.CarryOut(context.Background(), "z", []byte(text)), &answer); err != nil || answer.Status != want || answer.Error == "" {
			t.Errorf("%s: %+v, %v, want %d", text, answer, err, want)
		}
		if reached := len(a.wanted) > before; reached != (want == http.StatusConflict && !strings.Contains(text, `"at":"b"`)) {
			t.Errorf("%s: reached the agent: %v", text, reached)
		}
	}
}

// A client that may operate some groups drains nothing on the dashboard. One that may operate all of them does.
func TestADrainOfTheDashboardNeedsTheRightForAllGroups(t *testing.T) {
	f := guarded()
	f.Rights[0].Read = append(f.Rights[0].Read, "token:leader", "token:stranger")
	a, s := judge(t, f)
	for _, token := range []string{"leader", "stranger", "reader", "operator"} {
		c := s.gate.OfMember("x", token, "")
		c.Right = 0 // as on the page
		before := len(a.wanted)
		_, _, _ = s.Give(context.WithValue(t.Context(), access.ClientKey{}, c), "drain", "", &api.DrainOrder{Member: "a"})
		if reached := len(a.wanted) > before; reached != (token == "operator") {
			t.Errorf("%s drains: %v", token, reached)
		}
	}
}

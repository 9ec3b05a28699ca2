package httpd

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
)

// guarded is a configuration in which every right on every group belongs to a token of its own.
func guarded() *config.File {
	f := &config.File{DefaultGroup: "quorum", Rights: []config.Right{{Groups: []string{"*"}, Read: []string{"token:reader"}, Lead: []string{"token:leader"}, Operate: []string{"token:operator"}}}}
	for name, role := range map[string]string{"reader": "read", "leader": "write", "operator": "write", "stranger": "write"} {
		f.HTTP.Tokens = append(f.HTTP.Tokens, config.Token{Name: name, Role: role})
	}
	return f
}

// Every route about a group asks for its right, in every mode, and nothing that is refused reaches the agent.
func TestRightsHoldOnAllRoutesInAllModes(t *testing.T) {
	a := newFake(guarded())
	h := serve(t, a)
	// may has the tokens that have a right. Those that may lead or operate may look, too.
	may := map[access.Right]string{0: "reader leader operator", access.MayLead: "leader", access.MayOperate: "operator"}
	tried := 0
	for _, r := range New(a, nil).Routes() {
		if !strings.Contains(r.Path, "{group}") {
			continue
		}
		for _, m := range modes {
			path := strings.ReplaceAll(r.Path, "{group}", string(m))
			for _, token := range []string{"", "reader", "leader", "operator", "stranger"} {
				before := len(a.wanted)
				body := ""
				if _, ok := r.In.(api.EdictOrder); ok {
					body = `{"token":7}`
				}
				status := ask(t, h, token, r.Method, path, body).Code
				allowed := token != "" && strings.Contains(may[r.Right], token)
				if refused := status == http.StatusForbidden || status == http.StatusUnauthorized; refused == allowed {
					t.Errorf("%s %s by %q: status %d", r.Method, path, token, status)
				}
				if !allowed && len(a.wanted) != before {
					t.Errorf("%s %s by %q: %s", r.Method, path, token, a.wanted[before])
				}
				tried++
			}
		}
	}
	if tried < 500 || len(a.wanted) == 0 {
		t.Errorf("only %d requests, of which %d wanted anything", tried, len(a.wanted))
	}
}

// A value, and the name of a program, are shown to those that may read the group, on no other route and in no list, stream or error.
func TestValuesAreShownToReadersOnly(t *testing.T) {
	a := newFake(guarded())
	h := serve(t, a)
	shown := map[string]int{}
	for _, r := range New(a, nil).Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		for _, m := range modes {
			path := strings.ReplaceAll(r.Path, "{group}", string(m))
			for _, token := range []string{"", "stranger", "reader"} {
				if strings.Contains(ask(t, h, token, r.Method, path, "").Body.String(), secret) {
					shown[token]++
					if token == "reader" {
						shown[r.Path]++
					} else {
						t.Errorf("%s shows %q a value", path, token)
					}
				}
			}
		}
	}
	for _, path := range []string{"/v1/groups", "/v1/groups/{group}", "/v1/groups/{group}/history", "/v1/history", "/v1/groups/{group}/events", "/v1/events", "/v1/sessions"} {
		if shown[path] != len(modes) {
			t.Errorf("%s shows readers a value in %d modes", path, shown[path])
		}
	}
}

// Lists have the groups that their reader may look at.
func TestListsHaveWhatTheirReaderMayLookAt(t *testing.T) {
	f := guarded()
	f.Rights[0].Groups = []string{"quorum", "consistent"}
	h := serve(t, newFake(f))
	var list api.GroupList
	if err := json.Unmarshal(ask(t, h, "stranger", "GET", "/v1/groups", "").Body.Bytes(), &list); err != nil || len(list.Groups) != 2 || list.Groups[0].Group != "eventual" || list.Groups[1].Group != "local" {
		t.Errorf("a stranger sees %+v, %v", list, err)
	}
}

// The id of the council is for clients on the unix socket.
func TestCouncilIDIsForTheSocket(t *testing.T) {
	if body := ask(t, serve(t, newFake(guarded())), "reader", "GET", "/v1/status", "").Body.String(); strings.Contains(body, "council_id") {
		t.Errorf("over TCP: %s", body)
	}
}

// What a value may hold that controls a terminal, or ends a line of a stream, leaves as JSON that has none of it.
func TestControlCharactersStayWithinTheirString(t *testing.T) {
	const hostile = "\x1b[2J\r\n\ndata: {}\n\nevent: group\u2028"
	f := guarded()
	f.Rights = nil
	a := newFake(f)
	v := a.known.History("quorum", 1)[0].View
	v.Token, v.Value = 8, hostile
	a.known.AddView(v)
	h := serve(t, a)
	for _, path := range []string{"/v1/groups", "/v1/groups/quorum", "/v1/groups/quorum/events", "/v1/events", "/v1/groups/quorum/history"} {
		body := ask(t, h, "reader", "GET", path, "").Body.String()
		if !strings.Contains(body, `[2J\r\n\ndata: {}`) || strings.ContainsAny(body, "\x1b\r\u2028") || strings.Contains(body, "\ndata: {}") {
			t.Errorf("%s: %q", path, body)
		}
	}
}

func TestErrorsHaveTheStatusThatFitsThem(t *testing.T) {
	h := serve(t, newFake(&config.File{HTTP: config.HTTP{Tokens: []config.Token{{Name: "writer", Role: "write"}}}}))
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/v1/groups/unheard", "", http.StatusNotFound},
		{"GET", "/v1/groups/a%1bb", "", http.StatusBadRequest},
		{"GET", "/v1/groups?limit=x", "", http.StatusBadRequest},
		{"GET", "/primary", "", http.StatusNotFound},
		{"GET", "/v1/groups/quorum/verify", "", http.StatusServiceUnavailable},
		{"POST", "/v1/groups/quorum/resign", `{"tokn":1}`, http.StatusBadRequest},
		{"POST", "/v1/groups/quorum/resign", `{} {}`, http.StatusBadRequest},
		{"POST", "/v1/groups/quorum/resign", `{"token":` + strings.Repeat("1", 2<<10) + `}`, http.StatusRequestEntityTooLarge},
		{"POST", "/v1/groups/quorum/resign", `{}`, http.StatusConflict},
		{"POST", "/v1/groups/quorum/campaign", `{}`, http.StatusServiceUnavailable},
		{"POST", "/v1/groups/consistent/campaign", `{"mode":"consistent"}`, http.StatusBadRequest},
		{"POST", "/v1/groups/quorum/campaign", `{"mode":"every"}`, http.StatusBadRequest},
	} {
		w := ask(t, h, "writer", c.method, c.path, c.body)
		var refusal api.Refusal
		if err := json.Unmarshal(w.Body.Bytes(), &refusal); w.Code != c.want || err != nil || refusal.Error == "" {
			t.Errorf("%s %s %.40s: %d %s, want %d", c.method, c.path, c.body, w.Code, w.Body, c.want)
		}
	}
}

// An order about a group that nobody has heard of names the group that was probably meant, if its sender may look at that one.
func TestOrderAboutAnUnknownGroupNamesTheNearest(t *testing.T) {
	f := guarded()
	f.Rights[0].Groups = []string{"quorum"}
	h := serve(t, newFake(f))
	for token, hint := range map[string]bool{"operator": true, "stranger": false} {
		w := ask(t, h, token, "POST", "/v1/groups/quorun/resign", "")
		if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "did you mean quorum?") != hint {
			t.Errorf("%s: %d %s", token, w.Code, w.Body)
		}
	}
}

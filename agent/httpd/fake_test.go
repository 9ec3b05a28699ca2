package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/why"
)

// modes are all modes. The groups of a fakeAgent have their names.
var modes = []regent.Mode{regent.Quorum, regent.Local, regent.Eventual, regent.Consistent}

// secret is what the leaders of a fakeAgent's groups announce.
const secret = "http://secret/"

// A fakeAgent knows one group of each mode. It takes note of what it is asked to change, and refuses.
type fakeAgent struct {
	Agent // nil: what no test expects panics
	file  *config.File
	known *core.ChangeLog
	// wanted are the orders and campaigns that came so far.
	wanted []string
}

func newFake(file *config.File) *fakeAgent {
	file.Limits.Body = 1 << 10
	a := &fakeAgent{file: file, known: core.NewChangeLog(func(*api.Change) bool { return true })}
	for _, m := range modes {
		a.known.AddView(regent.View{Group: string(m), Mode: m, Leader: "b", Token: 7, Value: secret, Cause: regent.Cause{Why: why.Elected, Member: "b"}, At: time.Unix(1, 0)})
	}
	return a
}

func (a *fakeAgent) About() core.About {
	return core.About{Name: "a", Version: "test", Timing: regent.LAN, Log: slog.New(slog.DiscardHandler)}
}

func (a *fakeAgent) Config() *config.File   { return a.file }
func (a *fakeAgent) Known() *core.ChangeLog { return a.known }
func (a *fakeAgent) Status() api.AgentStatus {
	return api.AgentStatus{Status: regent.Status{Name: "a"}}
}
func (a *fakeAgent) CouncilID() string { return "council" }
func (a *fakeAgent) NotReady() string  { return "" }
func (a *fakeAgent) Alive() bool       { return true }
func (a *fakeAgent) Council() (api.CouncilInfo, error) {
	return api.CouncilInfo{Voters: 3, Tolerates: 1}, nil
}
func (a *fakeAgent) Leader(string) *core.Candidate { return nil }

func (a *fakeAgent) Members() []regent.PeerStatus {
	return []regent.PeerStatus{{Name: "a", Self: true}}
}

func (a *fakeAgent) Sessions(group string) (out []api.SessionInfo) {
	for _, m := range modes {
		if group == "" || group == string(m) {
			out = append(out, api.SessionInfo{Group: string(m), Program: secret})
		}
	}
	return out
}

func (a *fakeAgent) Info(c *api.Change) api.GroupInfo { return api.GroupInfo{Change: *c} }

func (a *fakeAgent) Role(group string) api.RoleInfo {
	return api.RoleInfo{Name: "b", Group: group, Role: "replica", State: "running", Member: "a"}
}

func (a *fakeAgent) Verify(context.Context, string) (*regent.Proof, error) {
	return nil, regent.ErrNoLeader
}

func (a *fakeAgent) UnknownGroup(group string) error {
	return api.Errorf(http.StatusNotFound, "group %s: unknown", group)
}

func (a *fakeAgent) AcquireStream() (func(), error) { return func() {}, nil }
func (a *fakeAgent) Unheard(group string) *api.Change {
	return &api.Change{View: regent.View{Group: group}}
}
func (a *fakeAgent) Event(c *api.Change) api.StreamEvent {
	i := a.Info(c)
	return api.StreamEvent{GroupInfo: &i}
}

func (a *fakeAgent) WatchAll(_ context.Context, s core.Sink) error {
	all, _ := a.known.List("", "", 0)
	for _, c := range all {
		if err := s.Put("group", a.Event(c)); err != nil {
			return err
		}
	}
	return s.Put("pulse", api.StreamEvent{Leases: a.Sessions("")})
}

func (a *fakeAgent) Follow(context.Context, core.Sink, *core.Watcher, time.Duration, func() error) error {
	return nil
}

func (a *fakeAgent) LeaderOfGroup(group string, _ uint64, _ string) (*core.Candidate, error) {
	a.wanted = append(a.wanted, "order about "+group)
	if c, _ := a.known.Group(group); c == nil {
		return nil, a.UnknownGroup(group)
	}
	return nil, api.Errorf(http.StatusConflict, "no program here leads it")
}

func (a *fakeAgent) Drain(context.Context, bool, *api.DrainOrder) (api.Drained, error) {
	a.wanted = append(a.wanted, "drain")
	return api.Drained{}, core.ErrJoining
}

func (a *fakeAgent) CheckMember(string) error { return nil }

func (a *fakeAgent) AddCandidate(p core.Candidacy) (*core.Candidate, error) {
	a.wanted = append(a.wanted, "campaign for "+p.Group)
	return nil, core.ErrStopping
}

// serve returns what answers requests to a fakeAgent, for clients with the tokens of the configuration: the token NAME is NAME itself.
func serve(t *testing.T, a *fakeAgent) http.Handler {
	t.Helper()
	s := newServer(t, a)
	return s.Authenticate(false, s.Handler(s.Routes()))
}

// newServer returns a server with the rules of the configuration. Each token is its own name.
func newServer(t *testing.T, a *fakeAgent) *Server {
	t.Helper()
	for i := range a.file.HTTP.Tokens {
		sum := sha256.Sum256([]byte(a.file.HTTP.Tokens[i].Name))
		a.file.HTTP.Tokens[i].SHA256 = hex.EncodeToString(sum[:])
	}
	rules, err := access.NewRules(a.file)
	if err != nil {
		t.Fatal(err)
	}
	gate := access.NewGate(slog.New(slog.DiscardHandler))
	gate.SetAccess(rules)
	return New(a, gate)
}

// ask sends a request with a token; empty: without one.
func ask(t *testing.T, h http.Handler, token, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // streams end with what is there
	q := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	return w
}

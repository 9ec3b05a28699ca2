package patroni

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/httpd"
)

// A fakeAgent has members as a test wants them, and leads nothing.
type fakeAgent struct {
	httpd.Agent // nil: what no test expects panics
	file        *config.File
	members     []regent.PeerStatus
	role        api.RoleInfo
	known       *core.ChangeLog
	// passed are the orders that were passed on, and fails is what that fails with.
	passed []string
	fails  error
}

func (a *fakeAgent) About() core.About {
	return core.About{Name: "a", Version: "test", Timing: regent.LAN, Log: slog.New(slog.DiscardHandler)}
}
func (a *fakeAgent) Config() *config.File           { return a.file }
func (a *fakeAgent) Known() *core.ChangeLog         { return a.known }
func (a *fakeAgent) Members() []regent.PeerStatus   { return a.members }
func (a *fakeAgent) Role(group string) api.RoleInfo { return a.role }
func (a *fakeAgent) CheckMember(string) error       { return nil }
func (a *fakeAgent) CheckSuccessor(string) error    { return nil }

func (a *fakeAgent) LeaderOfGroup(group string, token uint64, command string) (*core.Candidate, error) {
	return nil, api.WithStatus(http.StatusConflict, &core.Elsewhere{Host: "b", Why: "group " + group + ": b leads it", Command: command})
}

// Send takes down what is passed on.
func (a *fakeAgent) Send(_ context.Context, to string, body []byte) ([]byte, error) {
	a.passed = append(a.passed, to+": "+string(body))
	return []byte(`{"status":200,"body":{"group":"g","leader":"a","token":8}}`), a.fails
}

func (a *fakeAgent) UnknownGroup(group string) error {
	return api.Errorf(http.StatusNotFound, "group %s: unknown", group)
}

// Tools of Patroni read who is a member, where, and whether it can be reached.
func TestClusterListsTheMembers(t *testing.T) {
	at := netip.MustParseAddrPort
	a := &fakeAgent{file: &config.File{DefaultGroup: "g", Tags: map[string]string{"zone": "north"}}, role: api.RoleInfo{Name: "b", Token: 7}, known: core.NewChangeLog(nil)}
	a.file.HTTP.Anonymous, a.file.Limits.Body = "write", 1<<10
	a.members = []regent.PeerStatus{
		{Name: "a", Self: true, Heard: true, Trusted: true, Addr: at("10.0.0.1:7400")},
		{Name: "b", Heard: true, Trusted: true, Addr: at("[fd00::2]:7401")},
		{Name: "c"},
		{Name: "d", Heard: true, Silence: time.Hour, Addr: at("10.0.0.4:7400")},
		{Name: "e", Heard: true, Trusted: true, Problem: "another configuration", Addr: at("10.0.0.5:7400")},
	}
	var got ClusterInfo
	if status := ask(t, a, "GET", "/cluster", &got); status != http.StatusOK || got.Scope != "g" || len(got.Members) != 5 {
		t.Fatalf("%d %+v", status, got)
	}
	for i, want := range []ClusterMember{
		{Name: "a", Role: "replica", State: "running", Host: "10.0.0.1", Port: 7400},
		{Name: "b", Role: "leader", State: "running", Host: "fd00::2", Port: 7401, Timeline: 7},
		{Name: "c", Role: "replica", State: "unreachable"},
		{Name: "d", Role: "replica", State: "unreachable", Host: "10.0.0.4", Port: 7400},
		{Name: "e", Role: "replica", State: "unreachable", Host: "10.0.0.5", Port: 7400},
	} {
		m := got.Members[i]
		if tags := m.Tags["zone"]; (tags == "north") != (i == 0) {
			t.Errorf("%s has the tags %v", m.Name, m.Tags)
		}
		if m.Name != want.Name || m.Role != want.Role || m.State != want.State || m.Host != want.Host || m.Port != want.Port || m.Timeline != want.Timeline {
			t.Errorf("got  %+v\nwant %+v", m, want)
		}
	}
}

// A switchover and a failover are passed on to the host whose program leads, as transfer and resign are, for the leadership that the sender has named. One for later needs
// the right at once.
func TestSwitchoverReachesTheLeaderElsewhere(t *testing.T) {
	later := time.Now().Add(time.Hour).Format(time.RFC3339)
	for _, c := range []struct {
		order, passed string
		status        int
		fails         error
	}{
		{order: `/switchover {"leader":"b","candidate":"a"}`, status: 200, passed: `b: {"at":"b","action":"transfer","group":"g","token":"t","body":{"to":"a","token":7}}`},
		{order: `/switchover {"leader":"b"}`, status: 200, passed: `b: {"at":"b","action":"resign","group":"g","token":"t","body":{"token":7}}`},
		{order: `/failover {"candidate":"a"}`, status: 200, passed: `b: {"at":"b","action":"transfer","group":"g","token":"t","body":{"to":"a"}}`},
		{order: `/switchover {"leader":"b","candidate":"a","scheduled_at":"` + later + `"}`, status: 202},
		{order: `/failover {"candidate":"a"}`, status: 504, passed: `b: {"at":"b","action":"transfer","group":"g","token":"t","body":{"to":"a"}}`, fails: api.Errorf(http.StatusGatewayTimeout, "unknown")},
		{order: `/failover {"candidate":"b"}`, status: 412},
	} {
		a := &fakeAgent{file: &config.File{DefaultGroup: "g"}, known: core.NewChangeLog(nil), fails: c.fails}
		a.file.HTTP.Tokens, a.file.Limits.Body = []config.Token{{Name: "t", Role: "write", SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("t")))}}, 1<<10
		a.known.AddView(regent.View{Group: "g", Mode: regent.Quorum, Leader: "b", Token: 7})
		var answer map[string]any
		if status := ask(t, a, "POST", c.order, &answer, "t"); status != c.status || strings.Join(a.passed, " ") != c.passed {
			t.Errorf("%s: %d %v, passed on %v", c.order, status, answer, a.passed)
		}
		a.file.HTTP.Anonymous, a.passed = "write", nil // a client without a name may not give orders at another host
		if status := ask(t, a, "POST", c.order, &answer); status != 403 && status != 412 || len(a.passed) > 0 {
			t.Errorf("%s of anybody: %d %v, passed on %v", c.order, status, answer, a.passed)
		}
	}
}

// An order without a leader or the right, or about another leader, is refused with the reason.
func TestSwitchoverIsRefusedWithTheReason(t *testing.T) {
	a := &fakeAgent{file: &config.File{DefaultGroup: "g"}, known: core.NewChangeLog(nil)}
	a.file.HTTP.Anonymous, a.file.Limits.Body = "write", 1<<10
	refused := func(order string, status int, reason string) {
		t.Helper()
		var answer struct{ Error string }
		if got := ask(t, a, "POST", "/switchover "+order, &answer); got != status || !strings.Contains(answer.Error, reason) {
			t.Errorf("%s: %d %q, want %d %q", order, got, answer.Error, status, reason)
		}
	}
	refused(`{}`, http.StatusBadRequest, "missing leader")
	refused(`{"leader":"b","candidate":"a"}`, http.StatusNotFound, "unknown")
	a.known.AddView(regent.View{Group: "g", Mode: regent.Quorum, Leader: "b", Token: 7})
	refused(`{"leader":"b","candidate":"a"}`, http.StatusForbidden, "rights.remote")
	refused(`{"leader":"c","candidate":"a"}`, http.StatusPreconditionFailed, "c")
	refused(`{"leader":"b","candidat":"a"}`, http.StatusBadRequest, "candidat")
	a.file.HTTP.Anonymous = "read"
	refused(`{"leader":"b","candidate":"a"}`, http.StatusForbidden, "role write")
}

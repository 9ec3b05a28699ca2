package patroni

import (
	"context"
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
}

func (a *fakeAgent) About() core.About {
	return core.About{Name: "a", Version: "test", Timing: regent.LAN, Log: slog.New(slog.DiscardHandler)}
}
func (a *fakeAgent) Config() *config.File              { return a.file }
func (a *fakeAgent) Known() *core.ChangeLog            { return a.known }
func (a *fakeAgent) Members() []regent.PeerStatus      { return a.members }
func (a *fakeAgent) Role(group string) api.RoleInfo    { return a.role }
func (a *fakeAgent) CheckSuccessor(string) error       { return nil }
func (a *fakeAgent) SwitchOrder(to string) *core.Order { return core.NewOrder(regent.Cause{}, to) }

func (a *fakeAgent) LeaderOfGroup(group string, _ uint64, command string) (*core.Candidate, error) {
	return nil, api.Errorf(http.StatusConflict, "group %s: b leads it: %s", group, command)
}

func (a *fakeAgent) UnknownGroup(group string) error {
	return api.Errorf(http.StatusNotFound, "group %s: unknown", group)
}

func (a *fakeAgent) Order(context.Context, *core.Candidate, *core.Order) error { return nil }

func (a *fakeAgent) GraceFor(*core.Candidate, regent.Cause) time.Duration { return 0 }

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

// A switchover asks the leader of a quorum group here. Elsewhere, and without a candidate or the right, it is refused with the reason.
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
	refused(`{"leader":"b","candidate":"a"}`, http.StatusServiceUnavailable, "b leads it")
	refused(`{"leader":"c","candidate":"a"}`, http.StatusPreconditionFailed, "c")
	refused(`{"leader":"b","candidat":"a"}`, http.StatusBadRequest, "candidat")
	a.file.HTTP.Anonymous = "read"
	refused(`{"leader":"b","candidate":"a"}`, http.StatusForbidden, "role write")
}

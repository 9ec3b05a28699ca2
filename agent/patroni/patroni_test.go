package patroni

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/core/coretest"
	"github.com/regentproject/regent/agent/httpd"
)

// ask has the routes of the room answer a request of an operator. A body may follow the path.
func ask(t *testing.T, a interface {
	Agent
	httpd.Agent
}, method, path string, into any, token ...string) int {
	t.Helper()
	path, body, _ := strings.Cut(path, " ")
	rules, err := access.NewRules(a.Config())
	if err != nil {
		t.Fatal(err)
	}
	g := access.NewGate(a.About().Log)
	g.SetAccess(rules)
	web := httpd.New(a, g)
	p := New(a, web)
	defer p.Close()
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	q.Host = "localhost"
	for _, text := range token {
		q.Header.Set("Authorization", "Bearer "+text)
	}
	w := httptest.NewRecorder()
	web.Authenticate(false, web.Handler(p.Routes())).ServeHTTP(w, q)
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
	}
	return w.Code
}

// A switchover that is to come is done once at its time, unless another replaces it or it is cancelled.
func TestScheduledSwitchoversAreDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s switchovers
		var done []string
		plan := func(group, to string, in time.Duration) {
			s.plan(group, &ScheduledInfo{At: time.Now().Add(in), To: to}, func() { done = append(done, to) })
		}
		plan("g", "b", time.Minute)
		plan("g", "c", time.Hour)
		plan("h", "d", time.Hour)
		if p := s.of("g"); p == nil || p.To != "c" {
			t.Errorf("to come: %+v", p)
		}
		if p := s.cancel("h"); p == nil || p.To != "d" || s.cancel("h") != nil {
			t.Errorf("cancelled: %+v", p)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(done) != 1 || done[0] != "c" || s.of("g") != nil {
			t.Errorf("done: %v, still to come: %v", done, s.of("g"))
		}
		plan("g", "e", time.Minute)
		s.cancelAll()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(done) != 1 {
			t.Errorf("done after the end: %v", done)
		}
	})
}

// What tools of Patroni read of a member that waits for its council, and of one that knows of leaders.
func TestWordsOfPatroni(t *testing.T) {
	a := coretest.Idle(t, "default_group: g\ntags: {zone: north}\n")
	var info PatroniInfo
	if status := ask(t, a, "GET", "/patroni", &info); status != http.StatusOK || info.State != "waiting" || info.LastSeen != 0 || !info.Unlocked || info.Tags["zone"] != "north" {
		t.Errorf("before: %d %+v", status, info)
	}
	for _, v := range []regent.View{{Leader: "b", Token: 7}, {}, {Leader: "a", Token: 8}} {
		v.Group, v.Mode = "g", regent.Quorum
		a.ChangeLog.AddView(v)
	}
	info = PatroniInfo{}
	if status := ask(t, a, "GET", "/patroni", &info); status != http.StatusOK || info.Name != "a" || info.Timeline != 8 || info.Unlocked {
		t.Errorf("after: %d %+v", status, info)
	}
	var history [][]any
	if status := ask(t, a, "GET", "/history", &history); status != http.StatusOK || len(history) != 2 || history[0][1] != "b" || history[1][0] != 8.0 {
		t.Errorf("history: %d %v", status, history)
	}
	var refused struct{ Error string }
	if status := ask(t, a, "DELETE", "/switchover", &refused); status != http.StatusNotFound || refused.Error == "" {
		t.Errorf("a switchover that is not to come is cancelled: %d %+v", status, refused)
	}
}

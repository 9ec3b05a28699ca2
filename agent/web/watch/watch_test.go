package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/councillog"
	"github.com/regentproject/regent/internal/transport/loopback"
	"github.com/regentproject/regent/roster"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// fake is an agent that says what it is told to.
type fake struct {
	status  api.AgentStatus
	members []regent.PeerStatus
	groups  []api.GroupInfo
	changes []api.Change
	council []api.CouncilChange
	orders  []string
	asked   atomic.Int64
	// reporting are the members that answer when they are asked for reports, and rounds the groups of each time that they were.
	reporting, rounds []string
}

func (f *fake) Status() api.AgentStatus      { f.asked.Add(1); return f.status }
func (f *fake) Members() []regent.PeerStatus { return f.members }
func (f *fake) Groups() []api.GroupInfo      { return f.groups }
func (f *fake) Changes() []api.Change        { return f.changes }

func (f *fake) Views(_ context.Context, group string) ([]view.MemberView, error) {
	f.asked.Add(1)
	if group == "unknown" {
		return nil, errors.New("no quorum group of that name is known")
	}
	return []view.MemberView{{Member: "a", Answered: true, Leader: "b", Token: 7}, {Member: "b"}}, nil
}

func (f *fake) CouncilChanges() []api.CouncilChange { return f.council }

// Reports are those of the members that the fake has, with one pause each. Each takes itself for the leader of every group.
func (f *fake) Reports(_ context.Context, groups []string) (out []api.Report) {
	f.rounds = append(f.rounds, strings.Join(groups, " "))
	for _, m := range f.reporting {
		r := api.Report{Status: api.AgentStatus{Status: regent.Status{Name: m, PauseCount: 1, PauseBuckets: []regent.PauseBucket{{Upper: time.Millisecond, Count: 1}}}, Timing: api.TimingInfo{Survives: time.Second}},
			Members: []regent.PeerStatus{{Name: m, Self: true}, {Name: "x", Heard: true, Fast: true}}}
		for range groups {
			r.Views = append(r.Views, view.MemberView{Member: m, Answered: true, Leader: m})
		}
		out = append(out, r)
	}
	return out
}

func (f *fake) Drain(_ context.Context, member string, drain bool) (api.Drained, error) {
	f.orders = append(f.orders, fmt.Sprint("drain ", member, " ", drain))
	if member == "c" {
		return api.Drained{}, errors.New("no other host could lead")
	}
	return api.Drained{Member: member, Drained: drain, Moved: 3, Leaderless: []string{"g"}, MoreLeaderless: 1}, nil
}

func (f *fake) Resign(_ context.Context, group string, token uint64) error {
	if group == "elsewhere" {
		return errors.New("group elsewhere: b leads it: ask its agent")
	}
	f.orders = append(f.orders, fmt.Sprint("resign ", group, " ", token))
	return nil
}

func (f *fake) Transfer(_ context.Context, group, to string, token uint64) error {
	f.orders = append(f.orders, fmt.Sprint("transfer ", group, " ", to, " ", token))
	return nil
}

// updates reads the stream of a page.
func updates(t testing.TB, url string) func() *web.Update {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", url+"api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	in := bufio.NewScanner(answer.Body)
	in.Buffer(nil, 1<<20)
	return func() *web.Update {
		t.Helper()
		for in.Scan() {
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				var u web.Update
				if err := json.Unmarshal([]byte(data), &u); err != nil {
					t.Fatal(err)
				}
				return &u
			}
		}
		t.Fatalf("the stream ended: %v", in.Err())
		return nil
	}
}

func TestThePageShowsWhatAnAgentKnows(t *testing.T) {
	begin := time.Now().Add(-time.Hour)
	change := func(serial uint64, after time.Duration, leader string, token uint64, c why.Kind) api.Change {
		return api.Change{Serial: serial, View: regent.View{At: begin.Add(after), Mode: regent.Quorum, Group: "g", Leader: leader, Token: token, Cause: regent.Cause{Why: c}}}
	}
	f := &fake{status: api.AgentStatus{Status: regent.Status{Name: "a", Leading: 1}, Started: begin, Timing: api.TimingInfo{Lease: time.Second, Delay: 10 * time.Millisecond}},
		members: []regent.PeerStatus{{Name: "a", Self: true, Heard: true}, {Name: "b", Heard: true, Fast: true, Bound: time.Millisecond},
			{Name: "c", Heard: true, Silent: true, Silence: time.Minute, Key: "ab12", Revoked: true}, {Name: "d"}, {Name: "e", Heard: true, Bound: time.Second}},
		changes: []api.Change{change(1, time.Second, "b", 1, why.Elected), change(2, 3*time.Second, "", 0, why.LeaseExpired), change(3, 4*time.Second, "a", 2, why.Elected)}}
	f.groups = []api.GroupInfo{{Change: f.changes[2], Changes: 2, Remaining: 700 * time.Millisecond}}
	st := state(&f.status, f.members, f.groups, f.changes, f.council, time.Hour)

	var how []string
	for _, m := range st.Members {
		how = append(how, m.Name+" "+string(m.State))
	}
	if want := []string{"a up", "b up", "c silent", "d silent", "e up"}; !slices.Equal(how, want) {
		t.Errorf("members are %v", how)
	}
	if m := st.Members[2]; m.Key != "ab12" || m.KeyProblem != "its key was revoked here" {
		t.Errorf("the key of c shows as %+v", m)
	}
	how = nil
	for _, l := range st.Links {
		how = append(how, l.From+l.To+" "+string(l.State))
	}
	if want := []string{"ba fast", "ca unknown", "da unknown", "ea slow"}; !slices.Equal(how, want) {
		t.Errorf("links are %v", how)
	}
	g := st.Groups[0]
	if l := g.Leaders; len(l) != 1 || l[0].Member != "a" || l[0].Token != 2 || l[0].Until != time.Hour+700*time.Millisecond || l[0].Lease != time.Second {
		t.Errorf("leaders are %+v", l)
	}
	if got := fmt.Sprintln(len(st.Tenures), st.Tenures[0].From, st.Tenures[0].To, st.Tenures[0].Cause, st.Tenures[1].To); got != "2 1s 3s lease expired 0s\n" {
		t.Errorf("the timeline is %s", got)
	}
	if len(st.Log) != 2 || st.Log[1].Text != "b did not renew its lease; a leads after 1 s" {
		t.Errorf("the log is %+v", st.Log)
	}
}

// The page shows what leaders announce as plain text, in which nothing turns the direction of writing.
func TestThePageShowsValuesEscaped(t *testing.T) {
	v := regent.View{Group: "g", Mode: regent.Quorum, Leader: "a", Token: 1, Value: "http://a/\x1b[31m\u202e<b>"}
	st := state(&api.AgentStatus{Status: regent.Status{Name: "a"}}, nil, []api.GroupInfo{{Change: api.Change{View: v}}}, nil, nil, time.Hour)
	if got, want := st.Groups[0].Leaders[0].Value, `http://a/\x1b[31m\u202e<b>`; got != want {
		t.Errorf("the page shows %q, want %q", got, want)
	}
}

func TestALocalLeaderIsLabelled(t *testing.T) {
	c := api.Change{Serial: 1, View: regent.View{At: time.Now(), Mode: regent.Local, Support: []string{"a", "b"}, Group: "g", Leader: "b", Cause: regent.Cause{Why: why.Elected}}}
	st := state(&api.AgentStatus{Status: regent.Status{Name: "a"}}, nil, []api.GroupInfo{{Change: c}}, []api.Change{c}, nil, 0)
	if l := st.Groups[0].Leaders[0]; !l.Local || l.Token != 0 || !slices.Equal(l.Support, c.Support) || !st.Tenures[0].Local {
		t.Errorf("it shows as %+v, %+v", l, st.Tenures)
	}
	if st.Log[0].Text != "b leads, as first seen here, for a b" {
		t.Errorf("the log says %q", st.Log[0].Text)
	}
}

func TestTheAgentIsAskedOnlyWhileSomebodyLooks(t *testing.T) {
	f := &fake{status: api.AgentStatus{Status: regent.Status{Name: "a", Waiting: "not heard yet: b"}, Started: time.Now()}}
	server := httptest.NewServer(handler(f, func(*http.Request) bool { return true }))
	t.Cleanup(server.Close)
	before := f.asked.Load()
	answer, err := http.Get(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if n := f.asked.Load(); n != before {
		t.Errorf("the page alone asks %d times", n-before)
	}
	next := updates(t, server.URL+"/")
	if u := next(); len(u.Members) != 1 || u.Members[0].State != web.Joining || u.Members[0].Problem != "not heard yet: b" {
		t.Errorf("an agent that waits shows as %+v", u.Members)
	}
	next()
	if f.asked.Load() <= before {
		t.Error("somebody looks and the agent is not asked")
	}
}

// Many pages that show a group cost the members one question a second.
func TestMembersAreAskedForAllPagesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		h := newPoll(f.Views, nil)
		get := func(group string) string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/api/views?mode=quorum&group="+group, nil))
			return strings.TrimSpace(w.Body.String())
		}
		const said = `"views":[{"member":"a","answered":true,"leader":"b","token":7},{"member":"b","answered":false}]`
		if got := get("g"); got != `{`+said+`,"age_ms":0}` {
			t.Errorf("at first: %s", got)
		}
		time.Sleep(pollAge - time.Millisecond)
		if got := get("g"); got != `{`+said+`,"age_ms":999}` || f.asked.Load() != 1 {
			t.Errorf("another page gets %s, after %d questions", got, f.asked.Load())
		}
		time.Sleep(time.Millisecond)
		if get("g"); f.asked.Load() != 2 {
			t.Errorf("a second later %d questions were asked", f.asked.Load())
		}
		if got := get("unknown"); got != `{"views":null,"age_ms":0,"error":"no quorum group of that name is known"}` {
			t.Errorf("an unknown group: %s", got)
		}
		for i := range 10 * pollsKept {
			get(fmt.Sprint(i))
		}
		if n := len(h.known); n > pollsKept {
			t.Errorf("%d answers are kept", n)
		}
	})
}

func TestCommandsGoToTheAgent(t *testing.T) {
	f := &fake{status: api.AgentStatus{Started: time.Now()}}
	may := true
	server := httptest.NewServer(handler(f, func(*http.Request) bool { return may }))
	defer server.Close()
	post := func(body string) int {
		t.Helper()
		answer, err := http.Post(server.URL+"/api/do", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	for body, want := range map[string]int{`{"verb":"resign","group":"g","token":"7"}`: 200, `{"verb":"transfer","group":"g","to":"b"}`: 200,
		`{"verb":"resign","group":"elsewhere"}`: 409, `{"verb":"crash","members":["a"]}`: 409, `{"verb":"drain","members":["b"]}`: 200, `{"verb":"undrain","members":["b"]}`: 200,
		`{"verb":"drain","members":["a","b"]}`: 409, `{"verb":"drain"}`: 409, `{"verb":"drain","members":["c"]}`: 409} {
		if got := post(body); got != want {
			t.Errorf("%s: %d", body, got)
		}
	}
	slices.Sort(f.orders)
	if !slices.Equal(f.orders, []string{"drain b false", "drain b true", "drain c true", "resign g 7", "transfer g b 0"}) {
		t.Errorf("orders were %q", f.orders)
	}
	may = false
	if post(`{"verb":"resign","group":"g"}`) != http.StatusForbidden {
		t.Error("somebody who may not gave a command")
	}
}

// free returns a loopback address that nobody uses.
func free(t *testing.T) string {
	t.Helper()
	addr, err := loopback.Free()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func TestARealAgentServesThePage(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "a.yaml")
	text := fmt.Sprintf("name: a\ncouncil:\n  - {name: a, address: %q}\ndir: %s\nbootstrap: true\nrealtime: false\nsocket: {path: %s}\nhttp: {listen: %q, anonymous: write}\n",
		free(t), filepath.Join(dir, "a"), filepath.Join(dir, "s"), free(t))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	at, over := make(chan string, 1), make(chan error, 1)
	go func() {
		over <- agent.Run(ctx, agent.Options{Config: config, Dashboard: func(a *agent.Agent) http.Handler { return Dashboard(a) }, Log: io.Discard, Ready: func(http string) { at <- http }})
	}()
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}()
	var base string
	select {
	case base = <-at:
	case err := <-over:
		over <- nil
		t.Fatal(err)
	}
	if !strings.HasPrefix(base, "http") {
		base = "http://" + base
	}
	answer, err := http.Get(base + "/ui/")
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != 200 || !strings.Contains(string(page), "<title>Regent</title>") {
		t.Fatalf("%s: %.200s", answer.Status, page)
	}
	for next := updates(t, base+"/ui/"); ; {
		if u := next(); len(u.Members) == 1 && u.Members[0].State == web.Up {
			break
		}
	}
}

func TestThePageShowsTheEngineAndWhatItCannotDo(t *testing.T) {
	status := &api.AgentStatus{}
	status.Name, status.Engine = "a", &engine.Status{Name: "postgres", Where: "db/app", Missing: []string{"transfer to a named member"}, Fault: "no route"}
	about := state(status, nil, nil, nil, nil, 0).About
	if about.Title != "agent of a, on postgres at db/app (without transfer to a named member)" || !strings.Contains(about.Alarm, "no route") {
		t.Errorf("%+v", about)
	}
	for _, a := range about.Actions {
		if a.Verb == "transfer" {
			t.Error("the page offers what the engine cannot do")
		}
	}
}

// The page shows the number of the council, the running change and the mark of each member, and what a change that is over did.
func TestThePageShowsAChangeOfTheCouncil(t *testing.T) {
	begin := time.Now().Add(-time.Hour)
	peer := func(name string, observer bool) roster.Peer { return roster.Peer{Name: name, Observer: observer} }
	c := roster.Council{Number: 7, Settled: true, Since: begin.Add(time.Minute), Phase: roster.Learning, WaitsFor: []string{"d"}, By: "b", Groups: 212,
		Goal: []roster.Peer{peer("a", false), peer("b", false), peer("d", false)}, Members: []roster.Member{{Peer: peer("a", false), Adopted: true, Settled: true, Accepted: true},
			{Peer: peer("b", false), Adopted: true}, {Peer: peer("c", false), Leaving: true}, {Peer: peer("d", true), New: true, Learnt: 40}}}
	f := &fake{status: api.AgentStatus{Status: regent.Status{Name: "a"}, Started: begin, Council: &api.CouncilInfo{Council: c}},
		members: []regent.PeerStatus{{Name: "a", Self: true}, {Name: "b"}, {Name: "c"}, {Name: "d"}},
		changes: []api.Change{{Serial: 4, View: regent.View{At: begin, Mode: regent.Quorum, Group: "g"}}, {Serial: 6, View: regent.View{At: begin, Mode: regent.Quorum, Group: "g"}}},
		council: []api.CouncilChange{{Serial: 5, Change: councillog.Change{At: begin.Add(time.Minute), Number: 7, Cause: "member c added", Took: 210 * time.Millisecond}}}}
	st := state(&f.status, f.members, f.groups, f.changes, f.council, time.Hour)
	if got := st.About.Council; got == nil || got.Number != 7 || got.By != "b" || got.Since != time.Minute || got.Blocked ||
		got.Change != "number 7 to 8: adding d, removing c; learning: d knows 40 of 212 groups; waits for d" {
		t.Errorf("the council shows as %+v", got)
	}
	var marks []string
	for _, m := range st.Members {
		marks = append(marks, fmt.Sprint(m.Name, m.Accepted, m.Adopted, m.Settled, m.Learning, m.Leaving, m.Knows, m.Learns, m.Role))
	}
	if got, want := strings.Join(marks, "; "), "atrue true true false false 0 0; bfalse true false false false 0 0; cfalse false false false true 0 0; dfalse false false true false 40 212observer"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("members show as %s\nwant            %s", got, want)
	}
	if len(st.Log) != 2 || st.Log[0].Text != "council: member c added, number 7, took 210ms" || st.Log[0].At != time.Minute {
		t.Errorf("the log is %+v", st.Log)
	}
	c.Phase, c.Goal = roster.Idle, nil
	f.status.Council = &api.CouncilInfo{Council: c}
	if st := state(&f.status, f.members, f.groups, f.changes, f.council, time.Hour); st.About.Council.Change != "" || st.Members[0].Adopted {
		t.Errorf("nothing is running, and the page shows %+v, %+v", st.About.Council, st.Members[0])
	}
}

package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/httpd"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// events reads a stream of server-sent events.
type events struct {
	t      *testing.T
	cancel context.CancelFunc
	c      chan event
}

type event struct {
	name string
	data map[string]any
}

// stream opens a stream.
func (r *testAgent) stream(t *testing.T, method, path, body string) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, method, "http://"+r.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != 200 {
		t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
	e := &events{t: t, cancel: cancel, c: make(chan event, 1<<12)}
	go func() {
		defer answer.Body.Close()
		defer close(e.c)
		in := bufio.NewScanner(answer.Body)
		in.Buffer(nil, 1<<20)
		var one event
		for in.Scan() {
			if name, ok := strings.CutPrefix(in.Text(), "event: "); ok {
				one.name = name
			}
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				one.data = nil
				_ = json.Unmarshal([]byte(data), &one.data)
				e.c <- one
			}
		}
	}()
	return e
}

// await waits for an event with a name that is as wanted.
func (e *events) await(name string, wanted func(map[string]any) bool) map[string]any {
	e.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case one, ok := <-e.c:
			if !ok {
				e.t.Fatalf("the stream ended before %q", name)
			}
			if one.name == name && (wanted == nil || wanted(one.data)) {
				return one.data
			}
		case <-limit:
			e.t.Fatalf("no event %q", name)
		}
	}
}

func TestOperatorAsksTheLeaderToResign(t *testing.T) {
	h := open(t, 3, "")
	a := h.agents[0]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "a knows", func() bool { s, _ := a.get(t, "/v1/groups/g"); return s == 200 })
	if status, body := a.do(t, "POST", "/v1/groups/g/resign", `{"token":1000000}`); status != 409 || !strings.Contains(body["error"].(string), "is not that of its leader") {
		t.Errorf("resign with a wrong token: %d %v", status, body)
	}
	done := make(chan int, 1)
	go func() {
		status, _ := a.do(t, "POST", "/v1/groups/g/resign", "")
		done <- status
	}()
	<-l.Done()
	if l.Cause().Why != why.Resigned || !l.Valid() {
		t.Errorf("told to stop because of %v, lease valid %v", l.Cause(), l.Valid())
	}
	select {
	case <-done:
		t.Fatal("the group was given up before the program had stopped")
	case <-time.After(100 * time.Millisecond): // wall clock: nothing may happen for a while
	}
	if !l.Valid() {
		t.Error("the lease was not renewed while the program was asked to stop")
	}
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	if status := <-done; status != 200 {
		t.Errorf("resign: %d", status)
	}
	cluster.Eventually(t, "nobody leads", func() bool { _, b := a.get(t, "/v1/groups/g"); return b["leader"] == "" })
	cluster.Eventually(t, "b knows as well", func() bool { _, b := h.agents[1].get(t, "/v1/groups/g"); return b["leader"] == "" })
	if status, body := h.agents[1].do(t, "POST", "/v1/groups/g/resign", ""); status != 409 {
		t.Errorf("resign of a group that nobody leads: %d %v", status, body)
	}
}

func TestOperatorTransfersAndLearnsTheOutcome(t *testing.T) {
	h := open(t, 3, "")
	a, b := h.agents[0], h.agents[1]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *session.Lease, 1)
	other := b.dial(t)
	go func() {
		m, err := other.Campaign(patience(t), session.Candidate{Group: "g"})
		if err != nil {
			t.Error(err)
		}
		next <- m
	}()
	cluster.Eventually(t, "both know", func() bool {
		s, _ := a.get(t, "/v1/groups/g")
		_, body := b.get(t, "/v1/groups/g")
		return s == 200 && body["leader"] == "a"
	})
	for body, want := range map[string]int{`{"to":"z"}`: 400, `{}`: 400, `{"to":"a"}`: 400} {
		if status, got := a.do(t, "POST", "/v1/groups/g/transfer", body); status != want {
			t.Errorf("transfer %s: %d %v", body, status, got)
		}
	}
	if status, got := b.do(t, "POST", "/v1/groups/g/transfer", `{"to":"c"}`); status != 403 || !strings.Contains(got["error"].(string), "a leads it") || !strings.Contains(got["error"].(string), "anonymous may not operate it from another host") {
		t.Errorf("transfer at another agent: %d %v", status, got)
	}
	// Nobody campaigns at c, and so the program is not even asked to stop.
	if status, got := a.do(t, "POST", "/v1/groups/g/transfer", `{"to":"c"}`); status != 409 || !strings.Contains(got["error"].(string), "no program campaigns") {
		t.Errorf("transfer to where nobody campaigns: %d %v", status, got)
	}
	if !l.Guarded() {
		t.Fatal("a refused order has changed something")
	}
	go func() {
		<-l.Done()
		_ = l.Resign(patience(t))
	}()
	status, got := a.do(t, "POST", "/v1/groups/g/transfer", `{"to":"b"}`)
	slow := status == 409 && strings.Contains(got["error"].(string), "b has not taken it yet") // on a host that was paused meanwhile
	if status != 200 && !slow {
		t.Errorf("transfer: %d %v", status, got)
	}
	m := <-next
	if m.Token() <= l.Token() {
		t.Errorf("token %d after %d", m.Token(), l.Token())
	}
	if token, ok := got["token"]; !slow && (got["leader"] != "b" || ok && token != float64(m.Token())) {
		t.Errorf("the outcome is %v, and b leads with token %d", got, m.Token())
	}
	cluster.Eventually(t, "the history tells", func() bool {
		_, body := b.get(t, "/v1/groups/g/history")
		text, _ := json.Marshal(body)
		return strings.Contains(string(text), "transferred")
	})
	if status, got := b.do(t, "POST", "/v1/groups/g/edict", `{"token":`+httpd.Itoa(m.Token())+`}`); status != 200 || got["stamp"] == "" {
		t.Errorf("edict: %d %v", status, got)
	}
	if status, _ := b.do(t, "POST", "/v1/groups/g/edict", `{"token":`+fmt.Sprint(l.Token())+`}`); status != 409 {
		t.Errorf("edict with the token of the one before: %d", status)
	}
	if status, got := a.get(t, "/v1/groups/g/verify"); status != 200 || got["leader"] != "b" || got["token"] != float64(m.Token()) {
		t.Errorf("verify: %d %v", status, got)
	}
	if status, got := a.get(t, "/v1/groups/g/sidecar"); status != 200 || got["name"] != "b" {
		t.Errorf("sidecar: %d %v", status, got)
	}
}

func TestStreamOverHTTPLeadsByItsOwnLease(t *testing.T) {
	h := open(t, 3, "")
	a := h.agents[0]
	s := a.stream(t, "POST", "/v1/groups/g/campaign", `{"name":"curl"}`)
	first := s.await("waiting", nil)
	leads := s.await("leads", nil)
	valid := time.Duration(leads["valid_for_ns"].(float64))
	if valid <= 0 || valid > 2*time.Second || leads["token"].(float64) == 0 {
		t.Errorf("leads %v", leads)
	}
	s.await("until", func(d map[string]any) bool { return d["valid_for_ns"].(float64) > 0 })
	if status, body := a.do(t, "POST", "/v1/sessions/"+first["session"].(string)+"/alive", ""); status != 200 || body["valid_for_ns"].(float64) <= 0 {
		t.Errorf("alive: %d %v", status, body)
	}
	if status, _ := a.get(t, "/v1/groups/g/primary"); status != 200 {
		t.Errorf("primary: %d", status)
	}
	// It hangs up. That is no death: its last end has to pass.
	hung := time.Now()
	s.cancel()
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(hung); waited < 1200*time.Millisecond {
		t.Errorf("replaced after %v: its lease cannot have run out", waited)
	}
	if l.Token() <= uint64(leads["token"].(float64)) {
		t.Errorf("token %d", l.Token())
	}
}

func TestProgramsGetLeasesOfTheLengthThatTheyOrTheConfigurationWant(t *testing.T) {
	h := open(t, 3, "timing: {lease: 2s, longest_lease: 30s}\nleases: [{groups: [batch-*], lease: 10s}]\n")
	a := h.agents[0]
	leads := a.stream(t, "POST", "/v1/groups/nightly/campaign", `{"lease_ns":20000000000}`).await("leads", nil)
	if valid := time.Duration(leads["valid_for_ns"].(float64)); valid < 8*time.Second || valid > 20*time.Second {
		t.Errorf("over HTTP: valid for %v", valid)
	}
	if status, body := a.do(t, "POST", "/v1/groups/g/campaign", `{"lease_ns":60000000000}`); status != 400 || !strings.Contains(body["error"].(string), "longest of the council, 30s") {
		t.Errorf("a lease of a minute: %d %v", status, body)
	}
	c := a.dial(t)
	for _, want := range []struct {
		of          session.Candidate
		least, most time.Duration
	}{
		{session.Candidate{Group: "web"}, 0, 2 * time.Second},
		{session.Candidate{Group: "batch-1"}, 3 * time.Second, 10 * time.Second},
		{session.Candidate{Group: "batch-2", Lease: 20 * time.Second}, 10 * time.Second, 20 * time.Second},
	} {
		l, err := c.Campaign(patience(t), want.of)
		if err != nil {
			t.Fatal(err)
		}
		if r := l.Remaining(); r <= want.least || r > want.most {
			t.Errorf("%+v: %v remain", want.of, r)
		}
	}
	if _, err := c.Campaign(patience(t), session.Candidate{Group: "web-2", Lease: time.Minute}); err == nil || !strings.Contains(err.Error(), "longest of the council, 30s") {
		t.Errorf("a lease of a minute on the socket: %v", err)
	}
}

func TestStreamOverHTTPThatSaysItHasStoppedIsReplacedAtOnce(t *testing.T) {
	h := open(t, 3, "timing: {lease: 8s}\n")
	a := h.agents[0]
	s := a.stream(t, "POST", "/v1/groups/g/campaign", "")
	first := s.await("waiting", nil)
	s.await("leads", nil)
	start := time.Now()
	if status, _ := a.do(t, "POST", "/v1/sessions/"+first["session"].(string)+"/resign", ""); status != 200 {
		t.Errorf("resign: %d", status)
	}
	s.await("over", nil)
	if _, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("the next one led after %v", took)
	}
	if status, _ := a.do(t, "POST", "/v1/sessions/"+first["session"].(string)+"/resign", ""); status != 404 {
		t.Errorf("resign of what is over: %d", status)
	}
}

func TestEventsTellOfEveryChangeAndOfNoLeader(t *testing.T) {
	h := open(t, 3, "")
	a := h.agents[0]
	all, one := h.agents[1].stream(t, "GET", "/v1/events", ""), h.agents[1].stream(t, "GET", "/v1/groups/g/events", "")
	all.await("synced", nil)
	if d := one.await("group", nil); d["leader"] != "" || d["mode"] != "quorum" {
		t.Errorf("a group that nobody heard of: %v", d)
	}
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*events{all, one} {
		s.await("group", func(d map[string]any) bool { return d["leader"] == "a" && d["token"] == float64(l.Token()) })
	}
	all.await("pulse", func(d map[string]any) bool { return len(d["members"].([]any)) == 3 && d["status"] != nil })
	mine := a.stream(t, "GET", "/v1/events", "")
	mine.await("pulse", func(d map[string]any) bool {
		leases, _ := d["leases"].([]any)
		return len(leases) == 1 && leases[0].(map[string]any)["remaining_ns"].(float64) > 0
	})
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*events{all, one} {
		d := s.await("group", func(d map[string]any) bool { return d["leader"] == "" })
		if cause := d["cause"].(map[string]any); cause["why"] != "resigned" {
			t.Errorf("nobody leads because of %v", cause)
		}
	}
}

func TestCurlIsAClient(t *testing.T) {
	h := open(t, 1, "default_group: g\n")
	a := h.agents[0]
	// A session without a library: what a shell script can do, over the socket.
	c := exec.Command("curl", "-sN", "--max-time", "10", "--unix-socket", a.socket, "-X", "POST", "http://agent/v1/groups/g/campaign")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	in := bufio.NewScanner(out)
	for in.Scan() && in.Text() != "event: leads" {
	}
	if in.Text() != "event: leads" {
		t.Fatal("curl was never told that it leads")
	}
	code := func(args ...string) string {
		t.Helper()
		all := append([]string{"-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10"}, args...)
		b, err := exec.Command("curl", all...).Output()
		if err != nil {
			t.Fatalf("curl %v: %v", all, err)
		}
		return string(b)
	}
	for _, args := range [][]string{{"http://" + a.http + "/primary"}, {"-I", "http://" + a.http + "/primary"}, {"-X", "OPTIONS", "http://" + a.http + "/"}} {
		if got := code(args...); got != "200" {
			t.Errorf("curl %v: %s", args, got)
		}
	}
	if got := code("http://" + a.http + "/replica"); got != "503" {
		t.Errorf("replica: %s", got)
	}
	if got := code("-d", "{}", "http://"+a.http+"/v1/groups/nobody/resign"); got != "404" {
		t.Errorf("resign of an unknown group: %s", got)
	}
}

func TestMetricsHaveTheNamesThatPeopleAlertOn(t *testing.T) {
	h := open(t, 1, "default_group: g\n")
	a := h.agents[0]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the metrics have the leader", func() bool { return a.metric(t, `regent_has_leader{group="g"}`) == "1" })
	_, _, body := a.raw(t, "GET", "/metrics", "")
	for _, want := range []string{`leader_election_master_status{name="g"} 1`, `regent_is_leader{group="g"} 1`, `regent_has_leader{group="g"} 1`,
		`regent_leader_changes_total{group="g"} 1`, `regent_lease_remaining_seconds{group="g"} `, `regent_token{group="g"} ` + fmt.Sprint(l.Token()),
		`patroni_primary{name="a",scope="g"} 1`, `patroni_cluster_unlocked{name="a",scope="g"} 0`, "regent_sessions 1", "regent_ready 1", "regent_packets_total", "go_goroutines"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(string(body), "regent_lease_remaining_seconds{group=\"g\"} 0\n") {
		t.Error("nothing remains of the lease")
	}
	if t.Failed() {
		t.Log(string(body))
	}
}

// A group that was for once is over when nobody leads it and nobody takes part: an alert on it must be able to end.
func TestMetricsOfAGroupEndWithIt(t *testing.T) {
	h := open(t, 2, "default_group: kept\n")
	a, b := h.agents[0], h.agents[1]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "once"})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "b knows who leads", func() bool { return b.metric(t, `regent_has_leader{group="once"}`) == "1" })
	const status = `leader_election_master_status{name="once"}`
	if here, there := a.metric(t, status), b.metric(t, status); here != "1" || there != "" {
		t.Errorf("%s: %q here, %q where nobody takes part", status, here, there)
	}
	waiting := b.campaigning(t, "once")
	if there := b.metric(t, status); there != "0" {
		t.Errorf("%s: %q where a program waits", status, there)
	}
	for _, l := range []func() *session.Lease{func() *session.Lease { return l }, func() *session.Lease { return <-waiting }} {
		if err := l().Resign(patience(t)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range h.agents {
		for _, name := range []string{status, `regent_is_leader{group="once"}`, `regent_has_leader{group="once"}`, `regent_token{group="once"}`} {
			cluster.Eventually(t, r.name+" has no more "+name, func() bool { return r.metric(t, name) == "" })
		}
		if n := r.metric(t, `regent_leader_changes_total{group="once"}`); n != "2" {
			t.Errorf("%s counts %q leaderships", r.name, n)
		}
		if got := r.metric(t, `leader_election_master_status{name="kept"}`); got != "0" {
			t.Errorf("the default group, which nobody has led yet, has %q at %s", got, r.name)
		}
	}
}

// The checker of Prometheus accepts the page of an agent that leads something.
func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	a := open(t, 1, "default_group: g\ngroups: [{name: cache, mode: local}, {name: old, mode: eventual}]\n").agents[0]
	if _, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the metrics have the leader", func() bool { return a.metric(t, `regent_has_leader{group="g"}`) == "1" })
	_, _, body := a.raw(t, "GET", "/metrics", "")
	check := exec.CommandContext(patience(t), "promtool", "check", "metrics")
	check.Stdin = bytes.NewReader(body)
	if out, err := check.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: run 'make deps'", err)
	} else if err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

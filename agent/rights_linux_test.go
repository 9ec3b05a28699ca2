package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
)

// shared makes an agent whose socket every user may open, with rights and an audit log.
func shared(t *testing.T, http, rights string) (r *testAgent, audit string) {
	t.Helper()
	r = alone(t, http)
	dir := filepath.Dir(r.socket)
	audit = filepath.Join(dir, "audit")
	replace(t, r.config, "socket: {path: "+r.socket+"}", "socket: {path: "+r.socket+", mode: \"0666\"}\naudit: "+audit+"\n"+rights)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return r, audit
}

// auditLines returns what was written so far.
func auditLines(t *testing.T, path string) []access.AuditLine {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var out []access.AuditLine
	for line := range strings.Lines(string(b)) {
		var l access.AuditLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, l)
	}
	return out
}

// awaitAudit waits for a line.
func awaitAudit(t *testing.T, path string, is func(l access.AuditLine) bool) {
	t.Helper()
	cluster.Eventually(t, "a line of the audit log", func() bool {
		for _, l := range auditLines(t, path) {
			if is(l) {
				return true
			}
		}
		return false
	})
}

// sayAs opens a connection as a user, says a line, and returns the first answer that is not the greeting.
func sayAs(t *testing.T, r *testAgent, uid, gid int, line string) (answer string, c net.Conn) {
	t.Helper()
	as(t, uid, gid, func() {
		var err error
		c, err = net.Dial("unix", r.socket)
		if err != nil {
			t.Error(err)
		}
	})
	if c == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = fmt.Fprintln(c, line)
	_ = c.SetReadDeadline(time.Now().Add(cluster.Patience))
	in := bufio.NewScanner(c)
	for in.Scan() {
		if !strings.Contains(in.Text(), `"hello"`) {
			return in.Text(), c
		}
	}
	t.Fatalf("no answer: %v", in.Err())
	return "", c
}

func TestRightsOfUsersOnTheSocket(t *testing.T) {
	r, audit := shared(t, "{}", "rights:\n  - {groups: [billing, \"batch/*\"], lead: [\"uid:1000\", \"gid:2000\"], read: [\"uid:3000\"]}\n")
	r.begin(t)
	const campaign, view = `{"do":"campaign","id":1,"group":"%s"}`, `{"do":"view","id":1,"group":"%s"}`
	for _, c := range []struct {
		uid, gid     int
		line, group  string
		refused, why string
	}{
		{1000, 1000, campaign, "billing", "", "is listed"},
		{1, 2000, campaign, "batch/x", "", "its group is listed"},
		{3000, 3000, campaign, "billing", "may not lead", "may only look"},
		{3000, 3000, view, "billing", "", "may look"},
		{nobody, nobody, campaign, "billing", "uid 65534 may not lead", "is not listed"},
		{nobody, nobody, view, "billing", "may not read", "is not listed"},
		{nobody, nobody, `{"do":"watch","id":1,"group":"%s"}`, "batch/x", "may not read", "is not listed"},
		{nobody, nobody, `{"do":"verify","id":1,"group":"%s"}`, "batch/x", "may not read", "is not listed"},
		{1000, 1000, view, "billing", "", "who may lead may look"},
		{nobody, nobody, campaign, "other", "", "no rule names the group"},
		{0, 0, campaign, "billing", "", "is root"},
	} {
		got, _ := sayAs(t, r, c.uid, c.gid, fmt.Sprintf(c.line, c.group))
		if refused := strings.Contains(got, `"error"`) && strings.Contains(got, "may not"); refused != (c.refused != "") || !strings.Contains(got, c.refused) {
			t.Errorf("user %d, group %d: %s of %s: %s: it %s", c.uid, c.gid, c.line, c.group, got, c.why)
		}
	}
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Outcome == "refused" && l.Action == "campaign" && l.Group == "billing" && l.Who == "uid 65534" && strings.Contains(l.From, "pid")
	})
}

// askAs asks over HTTP on the socket, as a user.
func askAs(t *testing.T, r *testAgent, uid int, method, path, body string) (int, string) {
	t.Helper()
	var c net.Conn
	as(t, uid, uid, func() {
		var err error
		c, err = net.Dial("unix", r.socket)
		if err != nil {
			t.Error(err)
		}
	})
	if c == nil {
		t.FailNow()
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: agent\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_, _ = b.ReadFrom(answer.Body)
	return answer.StatusCode, b.String()
}

func TestRightsOverHTTP(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ops", "web"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"-token-0123456789\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, audit := shared(t, "{listen: \""+port(t)+"\", tokens: [{name: ops, role: write, file: "+dir+"/ops}, {name: web, role: write, file: "+dir+"/web}]}",
		"rights:\n  - {groups: [billing], lead: [\"uid:1000\"], operate: [\"token:ops\"], read: [\"token:ops\"]}\n")
	r.begin(t)
	leader := r.dial(t)
	l, err := leader.Campaign(patience(t), session.Candidate{Group: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	other := r.dial(t)
	if _, err := other.Campaign(patience(t), session.Candidate{Group: "open"}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "both are known", func() bool { g, _ := r.agent.core.ChangeLog.List("", "", 0); return len(g) == 2 })
	ask := func(token, method, path string) int {
		return r.ask(t, http.DefaultClient, "http", method, path, "Authorization", "Bearer "+token+"-token-0123456789")
	}
	for _, c := range []struct {
		token, method, path string
		want                int
	}{
		{"ops", "GET", "/v1/groups/billing", 200}, {"web", "GET", "/v1/groups/billing", 403}, {"web", "GET", "/v1/groups/open", 200},
		{"web", "GET", "/v1/groups/billing/primary", 403}, {"ops", "GET", "/v1/groups/billing/primary", 200}, {"web", "GET", "/v1/groups/billing/events", 403},
		{"web", "GET", "/v1/groups/billing/history", 403}, {"web", "GET", "/v1/groups/billing/verify", 403}, {"web", "GET", "/v1/groups/billing/patroni", 403},
		{"web", "GET", "/metrics", 403}, {"ops", "GET", "/metrics", 200},
		{"ops", "POST", "/v1/groups/billing/campaign", 403}, {"ops", "POST", "/v1/groups/billing/edict", 403},
		{"web", "POST", "/v1/groups/billing/resign", 403}, {"web", "POST", "/v1/groups/billing/transfer", 403}, {"web", "POST", "/v1/groups/billing/campaign", 403},
		{"web", "DELETE", "/v1/groups/billing/switchover", 403},
		{"web", "POST", "/v1/drain", 403}, {"web", "POST", "/v1/undrain", 403}, {"ops", "POST", "/v1/drain", 400},
	} {
		if got := ask(c.token, c.method, c.path); got != c.want {
			t.Errorf("%s %s with token %s: %d, want %d", c.method, c.path, c.token, got, c.want)
		}
	}
	for _, path := range []string{"/v1/groups", "/v1/history", "/v1/sessions"} {
		if status, body := askAs(t, r, nobody, "GET", path, ""); status != 200 || strings.Contains(body, "billing") || !strings.Contains(body, "open") {
			t.Errorf("nobody asks %s: %d %s", path, status, body)
		}
		if status, body := askAs(t, r, 1000, "GET", path, ""); status != 200 || !strings.Contains(body, "billing") {
			t.Errorf("a user that may lead asks %s: %d %s", path, status, body)
		}
	}
	if status, _ := askAs(t, r, nobody, "POST", "/v1/groups/billing/resign", "{}"); status != 403 {
		t.Errorf("nobody had the leader stopped: %d", status)
	}
	go func() { <-l.Done(); _ = l.Resign(patience(t)) }()
	if got := ask("ops", "POST", "/v1/groups/billing/resign"); got != 200 {
		t.Errorf("a token that may operate: %d", got)
	}
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Action == "resign" && l.Group == "billing" && l.Who == "token ops" && l.Outcome == "done" && strings.HasPrefix(l.From, "127.0.0.1:")
	})
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Outcome == "refused" && l.Who == "token web" && strings.Contains(l.Action, "resign")
	})
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Outcome == "refused" && l.Who == "uid 65534" && l.Group == "billing"
	})
	awaitAudit(t, audit, func(l access.AuditLine) bool { return l.Action == "resign" && l.Who == "uid 0" && l.Outcome == "asked" })
	if info, err := os.Stat(audit); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the audit log: %v, %v", info, err)
	}
}

func TestReloadOfRightsIsInForceAtOnceAndAudited(t *testing.T) {
	r, audit := shared(t, "{}", "")
	r.begin(t)
	if got, _ := sayAs(t, r, nobody, nobody, `{"do":"view","id":1,"group":"g"}`); strings.Contains(got, "may not") {
		t.Fatalf("without rights: %s", got)
	}
	replace(t, r.config, "audit: ", "rights: [{groups: [g], read: [\"uid:1000\"]}]\naudit: ")
	rotated := audit + ".1"
	if err := os.Rename(audit, rotated); err != nil {
		t.Fatal(err)
	}
	file, err := config.Load(r.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.agent.applyConfig(file, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := sayAs(t, r, nobody, nobody, `{"do":"view","id":1,"group":"g"}`); !strings.Contains(got, "may not read") {
		t.Errorf("after the reload: %s", got)
	}
	cluster.Eventually(t, "the reload is in the log, before or after rotation", func() bool {
		for _, l := range append(auditLines(t, audit), auditLines(t, rotated)...) {
			if l.Action == "reload" && strings.Contains(l.Detail, "rights") {
				return true
			}
		}
		return false
	})
	awaitAudit(t, audit, func(l access.AuditLine) bool { return l.Outcome == "refused" })
}

// A change of keys is taken down with the user that the kernel names. Users that cannot have changed them, and clients over TCP, are refused.
func TestKeyChangesNameTheirUser(t *testing.T) {
	r, audit := shared(t, "{listen: \""+port(t)+"\", anonymous: write}", "")
	r.begin(t)
	const change = `{"command":"revoke","detail":"c"}`
	for _, c := range []struct {
		uid    int
		body   string
		status int
	}{
		{0, change, 200}, {0, `{"command":"rotate","detail":"a","failure":"no key"}`, 200}, {0, `{"command":"forge"}`, 400}, {0, `{`, 400}, {nobody, change, 403},
		{0, `{"command":"rotate","reread":true}`, 200}, {nobody, `{"command":"rotate","reread":true}`, 403},
	} {
		if got, text := askAs(t, r, c.uid, "POST", "/v1/keys", c.body); got != c.status {
			t.Errorf("uid %d, %s: %d, want %d: %s", c.uid, c.body, got, c.status, text)
		}
	}
	if got, _ := r.do(t, "POST", "/v1/keys", change); got != 403 {
		t.Errorf("over TCP: %d", got)
	}
	for _, want := range []access.AuditLine{{Action: "keys revoke", Who: "uid 0", Outcome: "done", Detail: "c"}, {Action: "keys rotate", Who: "uid 0", Outcome: "failed", Detail: "a: no key"},
		{Action: "POST /v1/keys", Who: "uid 65534", Outcome: "refused", Detail: "Forbidden"}, {Action: "POST /v1/keys", Who: "anonymous", Outcome: "refused", Detail: "Forbidden"}} {
		awaitAudit(t, audit, func(l access.AuditLine) bool {
			from := l.From
			l.Time, l.From = time.Time{}, ""
			return l == want && from != ""
		})
	}
}

// An order has a line also if its sender does not wait for the outcome. Lines name the successor of a transfer, and what is to become of the council.
func TestOrdersOfTheImpatientAreAudited(t *testing.T) {
	r, audit := shared(t, "{}", "")
	r.begin(t)
	l, err := r.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}}
	post := func(ctx context.Context, path, body string) {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agent"+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		if answer, err := local.Do(q); err == nil {
			_ = answer.Body.Close()
		}
	}
	post(t.Context(), "/v1/groups/g/transfer", `{"to":"elsewhere"}`)
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Action == "transfer" && l.Group == "g" && l.To == "elsewhere" && l.Who == "uid 0" && l.Outcome == "failed"
	})
	post(t.Context(), "/v1/council", `{"remove":["b"],"add":[{"name":"d"}],"dry_run":true}`)
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Action == "members" && l.Outcome == "failed" && strings.HasPrefix(l.Detail, "dry run, add d, remove b: ")
	})
	ctx, cancel := context.WithCancel(t.Context())
	var sender sync.WaitGroup
	sender.Go(func() { post(ctx, "/v1/groups/g/resign", "{}") })
	<-l.Done() // the order is carried out, and its program does not stop yet
	cancel()
	sender.Wait()
	awaitAudit(t, audit, func(l access.AuditLine) bool {
		return l.Action == "resign" && l.Group == "g" && l.Who == "uid 0" && l.Outcome == "asked" && strings.Contains(l.Detail, "did not wait")
	})
	_ = l.Resign(patience(t))
}

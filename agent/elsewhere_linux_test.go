package agent

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

// askByToken asks an agent over HTTP, with a token.
func askByToken(t *testing.T, addr, token, path, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token+"-token-0123456789")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(answer.Body)
	return answer.StatusCode, b.String()
}

// Orders reach the leader from every host. What the host that passes one on says of a client is its word for users of its own; tokens the leader's host
// judges again, by name. The audit logs of both hosts name the other one.
func TestOrdersReachTheLeaderFromEveryHost(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ops", "web"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"-token-0123456789\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	audit := func(name string) string { return filepath.Join(dir, name+".audit") }
	c := cluster.Open(t, cluster.Options{Names: hosts(3), Config: calm("") + "realtime: false\n", SocketMode: "0666"})
	h := openEach(t, c, func(file string) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		rights := "operate: [\"token:ops\"]"
		if name == "a" { // here a user and a token are trusted with orders that the others do not know
			rights = "remote: [\"uid:4000\", \"token:ops\", \"token:web\"]"
		}
		replace(t, file, "anonymous: write}", "anonymous: write, tokens: [{name: ops, role: write, file: "+dir+"/ops}, {name: web, role: write, file: "+dir+"/web}]}\n"+
			"audit: "+audit(name)+"\nrights: [{groups: [g], "+rights+"}]")
	})
	a := h.agents[0]
	listen, err := c.HTTP("a")
	if err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(a.socket); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range h.agents[1:] { // programs that lead whenever they may, and stop when they are asked to
		conn := r.dial(t)
		go func() {
			for {
				l, err := conn.Campaign(t.Context(), session.Candidate{Group: "g"})
				if err != nil {
					return
				}
				<-l.Done()
				_ = l.Resign(t.Context())
			}
		}()
	}
	leader := func() string {
		who := ""
		cluster.Eventually(t, "a knows who leads, and so does the leader", func() bool {
			_, body := a.get(t, "/v1/groups/g")
			who, _ = body["leader"].(string)
			for i, name := range []string{"a", "b", "c"} {
				if name != who {
					continue
				}
				_, own := h.agents[i].get(t, "/v1/groups/g")
				return own["leader"] == who && own["token"] == body["token"] && len(a.agent.core.Members()) == 3
			}
			return false
		})
		return who
	}
	both := func(at, action, to, here, there string) {
		t.Helper()
		awaitAudit(t, audit("a"), func(l access.AuditLine) bool {
			return l.Action == action && l.At == at && l.To == to && l.Who == here && l.Outcome == "done"
		})
		awaitAudit(t, audit(at), func(l access.AuditLine) bool {
			return l.Action == action && l.At == "" && l.To == to && l.Who == there && l.From == "host a" && l.Outcome == "done" && !strings.Contains(l.Detail, "uid")
		})
	}
	cluster.Eventually(t, "programs campaign", func() bool {
		leader()
		return len(h.agents[1].agent.core.Candidates())+len(h.agents[2].agent.core.Candidates()) == 2
	})

	from := leader()
	to := map[string]string{"b": "c", "c": "b"}[from]
	cluster.Eventually(t, "root at a hands the group over", func() bool {
		status, body := askAs(t, a, 0, "POST", "/v1/groups/g/transfer", `{"to":"`+to+`"}`)
		if status != 200 {
			t.Log(status, body)
		}
		return status == 200 && strings.Contains(body, `"leader":"`+to+`"`)
	})
	both(from, "transfer", to, "uid 0", "member a")
	from, to = leader(), from
	if status, body := askAs(t, a, nobody, "POST", "/v1/groups/g/resign", ""); status != 403 || !strings.Contains(body, "uid 65534 may not operate it from another host: rights.remote") {
		t.Errorf("a user without the right: %d %s", status, body)
	}
	if status, body := askAs(t, a, nobody, "POST", "/v1/drain", `{"member":"`+from+`"}`); status != 403 || !strings.Contains(body, "may not operate all groups from another host") {
		t.Errorf("a user without the right drains: %d %s", status, body)
	}
	if status, body := askByToken(t, listen, "web", "/v1/groups/g/resign", ""); status != 403 || !strings.Contains(body, "member a for token web may not operate it (rights") {
		t.Errorf("a token that %s does not let operate: %d %s", from, status, body)
	}
	awaitAudit(t, audit(from), func(l access.AuditLine) bool {
		return l.Outcome == "refused" && l.Who == "member a for token web" && l.Action == "resign"
	})
	if now := leader(); now != from {
		t.Fatalf("refused orders made %s leader", now)
	}
	if status, body := askAs(t, a, 4000, "POST", "/v1/groups/g/resign", ""); status != 200 {
		t.Errorf("a user with the right: %d %s", status, body)
	}
	both(from, "resign", "", "uid 4000", "member a")
	from = leader()
	if status, body := askByToken(t, listen, "ops", "/v1/groups/g/resign", ""); status != 200 {
		t.Errorf("a token that may operate: %d %s", status, body)
	}
	both(from, "resign", "", "token ops", "member a for token ops")

	if status, body := askAs(t, a, 0, "POST", "/v1/drain", `{"member":"b"}`); status != 200 || !strings.Contains(body, `"member":"b","drained":true`) {
		t.Errorf("drain b at a: %d %s", status, body)
	}
	both("b", "drain", "", "uid 0", "member a")
	cluster.Eventually(t, "b is drained, and c leads", func() bool { return len(a.drainedHere()) == 1 && leader() == "c" })
	if status, body := askAs(t, a, 0, "POST", "/v1/undrain", `{"member":"b"}`); status != 200 || !strings.Contains(body, `"drained":false`) {
		t.Errorf("undrain b at a: %d %s", status, body)
	}
}

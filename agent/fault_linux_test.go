package agent

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
)

// ask asks an agent process, and returns the status and the body.
func (v *agentProcesses) ask(agent, path string) (int, map[string]any) {
	v.t.Helper()
	answer, err := http.Get("http://" + v.address(agent) + path)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	b, _ := io.ReadAll(answer.Body)
	var out map[string]any
	_ = json.Unmarshal(b, &out)
	return answer.StatusCode, out
}

// change rewrites the configuration of an agent and restarts it.
func (v *agentProcesses) change(agent, from, to string) {
	v.t.Helper()
	b, err := os.ReadFile(v.ConfigFile(agent))
	if err != nil {
		v.t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		v.t.Fatalf("no %q in\n%s", from, b)
	}
	if err := os.WriteFile(v.ConfigFile(agent), []byte(strings.Replace(string(b), from, to, 1)), 0o600); err != nil {
		v.t.Fatal(err)
	}
	v.Stop(agent, cluster.Patience)
	v.startAgent(agent)
}

// Whoever speaks with another key, or of another council, is not heard, is named, and disturbs nobody.
func TestAgentThatDoesNotBelongIsNamedAndDisturbsNobody(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	for _, name := range []string{"right", "wrong"} {
		if err := config.WriteKey(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	v := startAgents(t, 3, "key_file: "+dir+"/right\ntiming: {lease: 2s}\n")
	p := v.startProgram("p", "a", task{})
	led := v.await(p, "leads")
	for _, c := range []struct{ name, from, to, want string }{
		{"wrong key", dir + "/right", dir + "/wrong", "dropped a packet"},
		{"other council", dir + "/wrong\ntiming: {lease: 2s}", dir + "/right\nprefer: 10s\ntiming: {lease: 2s}", "prefer"},
	} {
		v.change("c", c.from, c.to)
		cluster.Eventually(t, c.name+" is named in the log of a", func() bool { return strings.Contains(v.Process("a").Log(), c.want) })
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		if conn, err := session.Dial(ctx, v.Socket("c")); err == nil {
			if _, err := conn.Campaign(ctx, session.Candidate{Group: "h"}); err == nil {
				t.Errorf("%s: its programs lead", c.name)
			}
			_ = conn.Close()
		}
		cancel()
	}
	if w, again := p.hears("stops", 10*time.Millisecond); again {
		t.Errorf("the program with token %d was disturbed: %v", led.Token, w)
	}
	cluster.Eventually(t, "the members of a name the other configuration", func() bool { // once c has been silent for a while: an introduction can be forged
		status, body := v.ask("a", "/v1/members")
		text, _ := json.Marshal(body)
		return status == 200 && strings.Contains(string(text), "another configuration")
	})
}

// A disk on which nothing can be written is said, and elections go on as far as the last record allows.
func TestAgentWithAFullDiskSaysSo(t *testing.T) {
	t.Setenv(fileLimitVar, "0")
	a := newProcesses(t, cluster.Options{Names: hosts(1)}).startAgent("a")
	select {
	case <-a.Gone():
	case <-time.After(cluster.Patience):
		t.Fatal("it runs on")
	}
	if !strings.Contains(a.Log(), "file too large") || a.ExitCode() != 1 {
		t.Errorf("ended with %d:\n%s", a.ExitCode(), a.Log())
	}
}

package agent

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
)

// ask asks an agent process, and returns the status and the body.
func (v *village) ask(agent, path string) (int, map[string]any) {
	v.t.Helper()
	answer, err := http.Get("http://" + v.http[agent] + path)
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
func (v *village) change(agent, from, to string) {
	v.t.Helper()
	b, err := os.ReadFile(v.config(agent))
	if err != nil {
		v.t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		v.t.Fatalf("no %q in\n%s", from, b)
	}
	if err := os.WriteFile(v.config(agent), []byte(strings.Replace(string(b), from, to, 1)), 0o600); err != nil {
		v.t.Fatal(err)
	}
	v.agents[agent].signal(syscall.SIGTERM)
	<-v.agents[agent].gone
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
	v := newVillage(t, 3, "key_file: "+dir+"/right\ntiming: {lease: 2s}\n")
	p := v.startProgram("p", "a", task{})
	led := v.await(p, "leads")
	for _, c := range []struct{ name, from, to, want string }{
		{"wrong key", dir + "/right", dir + "/wrong", "dropped a packet"},
		{"other council", dir + "/wrong\ntiming: {lease: 2s}", dir + "/right\ntiming: {lease: 2s, longest_lease: 5s}", "longest lease"},
	} {
		v.change("c", c.from, c.to)
		eventually(t, c.name+" is named in the log of a", func() bool { return strings.Contains(v.agents["a"].errs.String(), c.want) })
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		if conn, err := session.Dial(ctx, v.socket("c")); err == nil {
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
	status, body := v.ask("a", "/v1/members")
	text, _ := json.Marshal(body)
	if status != 200 || !strings.Contains(string(text), "another configuration") {
		t.Errorf("members of a: %d %s", status, text)
	}
}

// A disk on which nothing can be written is said, and elections go on as far as the last record allows.
func TestAgentWithAFullDiskSaysSo(t *testing.T) {
	t.Setenv("REGENT_TEST_FILE_LIMIT", "0")
	v := &village{t: t, dir: shortDir(t), agents: make(map[string]*process), programs: make(map[string]*process), http: map[string]string{"a": port(t)}, names: []string{"a"}}
	t.Cleanup(func() { v.agents["a"].kill() })
	text := "name: a\ncouncil: [{name: a, address: \"" + port(t) + "\"}]\nbootstrap: true\ndir: " + filepath.Join(v.dir, "a") +
		"\nsocket: {path: " + v.socket("a") + "}\nhttp: {listen: \"" + v.http["a"] + "\"}\n"
	if err := os.WriteFile(v.config("a"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v.startAgent("a")
	select {
	case <-v.agents["a"].gone:
	case <-time.After(20 * time.Second):
		t.Fatal("it runs on")
	}
	if log := v.agents["a"].errs.String(); !strings.Contains(log, "file too large") || v.agents["a"].cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %d:\n%s", v.agents["a"].cmd.ProcessState.ExitCode(), log)
	}
}

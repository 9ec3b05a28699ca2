package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/transport/loopback"
)

// house is a council of agents in this process, for what needs no processes of their own.
type house struct {
	t      *testing.T
	dir    string
	agents []*resident
}

// resident is one of them.
type resident struct {
	name, socket, config string
	http                 string
	agent                *Agent
	stop                 context.CancelFunc
	done                 chan error
	log                  *logs
}

// logs collects what an agent logs.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// port returns a loopback address that nobody uses.
func port(t testing.TB) string {
	t.Helper()
	addr, err := loopback.Free()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// calm adds to a configuration, unless it says otherwise, a lease that a busy host does not lose by itself: few tests are
// about its length.
func calm(more string) string {
	if strings.Contains(more, "timing:") {
		return more
	}
	return more + "timing: {lease: 2s}\n"
}

// open starts a council of n agents. more is put into every configuration.
func open(t *testing.T, n int, more string) *house {
	t.Helper()
	more = calm(more)
	h := &house{t: t, dir: shortDir(t)}
	council := "council:\n"
	for i := range n {
		council += fmt.Sprintf("  - {name: %c, address: %q}\n", 'a'+i, port(t))
	}
	for i := range n {
		name := string(rune('a' + i))
		r := &resident{name: name, socket: filepath.Join(h.dir, name+".sock"), config: filepath.Join(h.dir, name+".yaml")}
		text := fmt.Sprintf("name: %s\n%sdir: %s\nbootstrap: true\nrealtime: false\nsocket: {path: %s}\nhttp: {listen: %q, anonymous: write}\n",
			name, council, filepath.Join(h.dir, name), r.socket, port(t))
		if err := os.WriteFile(r.config, []byte(text+more), 0o600); err != nil {
			t.Fatal(err)
		}
		h.agents = append(h.agents, r)
	}
	for _, r := range h.agents {
		r.start(t)
	}
	t.Cleanup(h.close)
	for _, r := range h.agents {
		r.await(t)
	}
	return h
}

// shortDir returns a directory whose path is short enough for sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ra")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (r *resident) start(t *testing.T) {
	t.Helper()
	file, err := config.Load(r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.log = new(logs)
	ready := make(chan string, 1)
	if r.agent, err = newAgent(file, Options{Config: r.config, Version: "test", Log: r.log, Ready: func(addr string) { ready <- addr }}); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	r.done = make(chan error, 1)
	go func() { r.done <- r.agent.run(ctx) }()
	select {
	case r.http = <-ready:
	case err := <-r.done:
		t.Fatalf("agent %s: %v", r.name, err)
	}
}

// await waits until the agent's member takes part.
func (r *resident) await(t *testing.T) {
	t.Helper()
	select {
	case <-r.agent.joined:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not take part:\n%s", r.name, r.log)
	}
}

func (h *house) close() {
	for _, r := range h.agents {
		r.stop()
	}
	for _, r := range h.agents {
		select {
		case <-r.done:
		case <-time.After(30 * time.Second):
			h.t.Errorf("%s does not stop:\n%s", r.name, r.log)
		}
	}
}

// dial opens a session.
func (r *resident) dial(t *testing.T) *session.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := session.Dial(ctx, r.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// get asks the agent over HTTP and returns the status and the body.
func (r *resident) get(t *testing.T, path string) (int, map[string]any) {
	t.Helper()
	return r.do(t, "GET", path, "")
}

func (r *resident) do(t *testing.T, method, path, body string) (int, map[string]any) {
	t.Helper()
	q, err := http.NewRequest(method, "http://"+r.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	_ = json.Unmarshal(all, &out)
	return answer.StatusCode, out
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // wall clock: real agents answer when they do
	}
}

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestProgramOnTheSocketLeadsAndEverybodyKnows(t *testing.T) {
	h := open(t, 3, "default_group: g\n")
	c := h.agents[0].dial(t)
	l, err := c.Campaign(patience(t), session.Candidate{Group: "g", Name: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Valid() || l.Token() == 0 {
		t.Fatalf("token %d, valid %v", l.Token(), l.Valid())
	}
	for _, r := range h.agents {
		eventually(t, r.name+" knows the leader", func() bool {
			status, body := r.get(t, "/v1/groups/g")
			return status == 200 && body["leader"] == "a" && body["token"] == float64(l.Token())
		})
		want := 503
		if r.name == "a" {
			want = 200
		}
		for _, path := range []string{"/", "/primary", "/leader", "/v1/groups/g/read-write"} {
			if status, _ := r.get(t, path); status != want {
				t.Errorf("%s at %s: %d, want %d", path, r.name, status, want)
			}
		}
	}
	if e, err := l.Edict(patience(t)); err != nil || e.Token != l.Token() {
		t.Errorf("edict %v, %v", e, err)
	}
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	if l.Valid() {
		t.Error("the lease is valid after resign")
	}
	eventually(t, "nobody leads", func() bool {
		_, body := h.agents[1].get(t, "/v1/groups/g")
		return body["leader"] == ""
	})
}

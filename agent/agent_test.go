package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/transport/loopback"
)

// A testCluster is a cluster whose agents run in this process, for tests that need no processes.
type testCluster struct {
	agents []*testAgent
	// links can be cut, if there is a relay between the agents.
	links *cluster.Cluster
}

// A testAgent is one of them.
type testAgent struct {
	name, socket, config string
	http                 string
	agent                *Agent
	stop                 context.CancelFunc
	done                 chan error
	log                  *logs
	engines              Openers
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

// calm adds to a configuration, unless it has a timing, a lease that a busy host does not lose by itself: few tests are about its
// length.
func calm(more string) string {
	if strings.Contains(more, "timing:") {
		return more
	}
	return more + "timing: {lease: 2s}\n"
}

// hosts returns the names of the first n hosts.
func hosts(n int) []string { return []string{"a", "b", "c"}[:n] }

// open starts n agents in this process. more is put into every configuration.
func open(t *testing.T, n int, more string) *testCluster {
	t.Helper()
	return openOn(t, cluster.Open(t, cluster.Options{Names: hosts(n), Config: calm(more) + "realtime: false\n"}))
}

// openOn starts the agents of a cluster in this process.
func openOn(t *testing.T, c *cluster.Cluster) *testCluster {
	t.Helper()
	return openEach(t, c, func(string) {})
}

// openEach starts the agents of a cluster in this process, after edit has had the file of each.
func openEach(t *testing.T, c *cluster.Cluster, edit func(file string)) *testCluster {
	t.Helper()
	h := &testCluster{links: c}
	for _, name := range c.Names {
		if err := c.WriteConfig(name); err != nil {
			t.Fatal(err)
		}
		edit(c.ConfigFile(name))
		h.agents = append(h.agents, &testAgent{name: name, socket: c.Socket(name), config: c.ConfigFile(name)})
	}
	for _, r := range h.agents {
		r.start(t)
	}
	t.Cleanup(func() { // all at once
		for _, r := range h.agents {
			r.stop()
		}
	})
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

func (r *testAgent) start(t *testing.T) {
	t.Helper()
	file, err := config.Load(r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.log = new(logs)
	ready := make(chan string, 1)
	r.agent, err = newAgent(file, Options{Config: r.config, Version: "test", Log: r.log, Engines: r.engines, Ready: func(addr string) { ready <- addr }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	agent, log, done := r.agent, r.log, make(chan error, 1)
	r.stop, r.done = stop, done
	go func() {
		done <- agent.run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-done:
		case <-time.After(cluster.Patience):
			t.Errorf("%s does not stop:\n%s", r.name, log)
		}
	})
	select {
	case r.http = <-ready:
	case err := <-r.done:
		t.Fatalf("agent %s: %v", r.name, err)
	}
}

// await waits until the agent's member takes part.
func (r *testAgent) await(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cluster.Patience)
	defer cancel()
	if _, err := r.agent.core.AwaitMember(ctx); err != nil {
		t.Fatalf("%s does not take part: %v\n%s", r.name, err, r.log)
	}
}

// dial opens a session.
func (r *testAgent) dial(t *testing.T) *session.Conn {
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
func (r *testAgent) get(t *testing.T, path string) (int, map[string]any) {
	t.Helper()
	return r.do(t, "GET", path, "")
}

func (r *testAgent) do(t *testing.T, method, path, body string) (int, map[string]any) {
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

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), cluster.Patience)
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
		cluster.Eventually(t, r.name+" knows the leader", func() bool {
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
	cluster.Eventually(t, "nobody leads", func() bool {
		_, body := h.agents[1].get(t, "/v1/groups/g")
		return body["leader"] == ""
	})
}

// must returns a value that a test is about to use.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

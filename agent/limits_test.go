package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
	"github.com/regentproject/regent/internal/session"
)

// talk writes lines to the socket and returns what is answered until the agent hangs up or is silent.
func (r *testAgent) talk(t *testing.T, lines ...string) string {
	t.Helper()
	c, err := net.Dial("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	all, _ := io.ReadAll(c)
	return string(all)
}

func TestBadInputIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	h := open(t, 1, "limits: {body: 4096, candidates: 2, groups: 3}\n")
	a := h.agents[0]
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "{not json", "not a request"},
		{"unknown request", `{"do":"dance","id":1}`, "no such request"},
		{"unknown field", `{"do":"view","id":1,"group":"g","x":1}`, `unknown field \"x\"`},
		{"no group", `{"do":"campaign","id":1}`, "must have 1 to 255"},
		{"name of the council's own", `{"do":"campaign","id":1,"group":"\u0000g"}`, "without control characters"},
		{"name of two lines", `{"do":"campaign","id":1,"group":"g\nh"}`, "without control characters"},
		{"nothing to resign", `{"do":"edict","id":1,"of":7}`, "error"},
		{"too long", `{"do":"view","id":1,"group":"` + strings.Repeat("x", 5000) + `"}`, "the line is too long"},
		{"same number twice", `{"do":"campaign","id":1,"group":"g"}` + "\n" + `{"do":"campaign","id":1,"group":"h"}`, "the id is in use"},
		{"too many candidacies", `{"do":"campaign","id":1,"group":"g"}` + "\n" + `{"do":"campaign","id":2,"group":"g"}` + "\n" + `{"do":"campaign","id":3,"group":"g"}`, "limits.candidates"},
		{"keeper of oneself", `{"do":"keep","id":1,"keeper":"` + secret + `"}` + "\n" + `{"do":"campaign","id":2,"group":"g","keeper":"` + secret + `"}`, "no keeper with this secret"},
		{"second keeper with one number", `{"do":"keep","id":1,"keeper":"` + secret + `"}` + "\n" + `{"do":"keep","id":1,"keeper":"` + secret + `2"}`, "the id or the secret is in use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := a.talk(t, c.line); !strings.Contains(got, c.want) {
				t.Errorf("answered %q, want %q", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/groups/g/campaign", "{", 400},
		{"POST", "/v1/groups/g/campaign", `{"heartbeat_ns":1}`, 400},
		{"POST", "/v1/groups/g/campaign", `{"x":1}`, 400},
		{"POST", "/v1/groups/g/campaign", `{"name":"` + strings.Repeat("x", 5000) + `"}`, 413},
		{"POST", "/v1/groups/%00g/campaign", "", 400},
		{"POST", "/v1/groups/" + strings.Repeat("x", 256) + "/campaign", "", 400},
		{"POST", "/v1/groups/unknown/resign", "", 404},
		{"GET", "/v1/groups/unknown", "", 404},
		{"GET", "/v1/groups/unknown/verify", "", 404},
		{"GET", "/v1/groups/" + strings.Repeat("x", 256), "", 400},
		{"GET", "/v1/groups?limit=-1", "", 400},
		{"GET", "/primary", "", 404}, // no default group
		{"GET", "/nothing", "", 404},
		{"DELETE", "/v1/status", "", 405},
	} {
		if status, body := a.do(t, c.method, c.path, c.body); status != c.want {
			t.Errorf("%s %.40s %.20s: %d %v, want %d", c.method, c.path, c.body, status, body, c.want)
		}
	}
	cluster.Eventually(t, "nothing is left", func() bool {
		return len(a.agent.core.Candidates())+a.agent.programs.WaitingKeepers() == 0
	})
	c := a.dial(t)
	for i := range 3 {
		go func(c *session.Conn) { _, _ = c.Campaign(patience(t), session.Candidate{Group: fmt.Sprintf("g%d", i)}) }(c)
		if i == 1 {
			c = a.dial(t)
		}
	}
	cluster.Eventually(t, "three groups", func() bool { return len(a.agent.core.Candidates()) == 3 })
	if _, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "one more"}); err == nil || !strings.Contains(err.Error(), "limits.groups") {
		t.Errorf("a fourth group: %v", err)
	}
}

func TestConnectionsAndStreamsAreBounded(t *testing.T) {
	h := open(t, 1, "limits: {connections: 4, streams: 2}\n")
	a := h.agents[0]
	for range 2 {
		a.stream(t, "GET", "/v1/events", "").await("synced", nil)
	}
	if status, body := a.do(t, "GET", "/v1/events", ""); status != 503 || !strings.Contains(body["error"].(string), "limits.streams") {
		t.Errorf("a third stream: %d %v", status, body)
	}
	for range 4 {
		a.dial(t)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := session.Dial(ctx, a.socket); err == nil || !strings.Contains(err.Error(), "limits.connections") {
		t.Errorf("a fifth connection: %v", err)
	}
}

func TestAgentRefusesToStartWithTheReason(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	run := func(r *testAgent) error {
		file, err := config.Load(r.config)
		if err != nil {
			return err
		}
		a, err := newAgent(file, Options{Config: r.config, Log: io.Discard})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return a.run(ctx)
	}
	if err := run(alone(t, "{listen: \""+taken.Addr().String()+"\"}")); err == nil || !strings.Contains(err.Error(), "http.listen") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port in use: %v", err)
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	busy := alone(t, "{}")
	replace(t, busy.config, "bootstrap:", "bind: \""+packets.LocalAddr().String()+"\"\nbootstrap:")
	if err := run(busy); err == nil || !strings.Contains(err.Error(), packets.LocalAddr().String()) || !strings.Contains(err.Error(), "in use (another process has the port: stop it, such as a second agent") {
		t.Errorf("a port for packets in use: %v", err)
	}
	if _, err := os.Stat(busy.socket); err == nil {
		t.Error("the socket of an agent that could not start is left behind")
	}
	first := alone(t, "{}")
	first.begin(t)
	second := alone(t, "{}")
	replace(t, second.config, second.socket, first.socket)
	if err := run(second); err == nil || !strings.Contains(err.Error(), "another agent listens there") {
		t.Errorf("a socket in use: %v", err)
	}
	file := alone(t, "{}")
	if err := os.WriteFile(file.socket, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(file); err == nil || !strings.Contains(err.Error(), "a file of another kind") {
		t.Errorf("a file where the socket should be: %v", err)
	}
	if b, err := os.ReadFile(file.socket); err != nil || string(b) != "precious" {
		t.Errorf("the file was changed: %q, %v", b, err)
	}
}

func replace(t *testing.T, file, from, to string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(b), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAgentsThatStartAtOnceDoNotTakeEachOthersSocket(t *testing.T) {
	where := config.Socket{Path: filepath.Join(shortDir(t), "a.sock"), Mode: "0600"}
	for range 20 {
		got, failed := make(chan net.Listener, 8), make(chan error, 8)
		var all sync.WaitGroup
		for range cap(got) {
			all.Go(func() {
				if l, err := listenUnix(&where); err != nil {
					failed <- err
				} else {
					got <- l
				}
			})
		}
		all.Wait()
		if len(got) != 1 {
			t.Fatalf("%d of %d have the socket", len(got), cap(got))
		}
		for range len(failed) {
			if err := <-failed; !strings.Contains(err.Error(), "another agent listens there: stop it, or set socket.path") {
				t.Errorf("refused with %v", err)
			}
		}
		l := <-got
		c, err := net.Dial("unix", where.Path)
		if err != nil {
			t.Fatalf("the file of the one that has it is gone: %v", err)
		}
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCampaignThatCanNeverSucceedIsRefusedOverHTTP(t *testing.T) {
	h := open(t, 1, "groups: [{name: cache, mode: local}]\n")
	if status, body := h.agents[0].do(t, "POST", "/v1/groups/cache/campaign", ""); status != 409 || !strings.Contains(body["error"].(string), "is local here") {
		t.Errorf("for a group that hosts lead: %d %v", status, body)
	}
	w := alone(t, "{listen: \""+port(t)+"\", anonymous: write}")
	replace(t, w.config, "[{", "[{name: b, address: \"127.0.0.1:1\", public_keys: [\""+identity.Draw().Public().String()+"\"]}, {witness: true, ")
	dir := filepath.Join(filepath.Dir(w.config), "d")
	own := identity.DrawOwn()
	if err := errors.Join(os.MkdirAll(dir, 0o700), secret.WritePrivate(filepath.Join(dir, secret.PrivateName), "a", &own)); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	if status, body := w.do(t, "POST", "/v1/groups/g/campaign", ""); status != 409 || !strings.Contains(body["error"].(string), "is a witness and leads nothing") {
		t.Errorf("at a witness: %d %v", status, body)
	}
}

func TestSocketIsOpenToNobodyElseAndLeavesNothingBehind(t *testing.T) {
	r := alone(t, "{}")
	replace(t, r.config, "socket: {path: "+r.socket+"}", "socket: {path: "+r.socket+", mode: \"0600\"}")
	// A dead agent has left its socket behind.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	r.start(t)
	r.await(t)
	info, err := os.Stat(r.socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(r.socket), "*.sock*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(r.socket), ".regent-*"))
	if len(hidden) > 0 {
		t.Errorf("left behind: %v", hidden)
	}
}

func TestServiceManagerIsNotified(t *testing.T) {
	path := filepath.Join(shortDir(t), "n")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "200000")
	r := alone(t, "{}")
	r.start(t)
	r.await(t)
	said := make(chan string, 100)
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := c.Read(b)
			if err != nil {
				close(said)
				return
			}
			said <- string(b[:n])
		}
	}()
	want := []string{"READY=1", "takes part", "WATCHDOG=1", "STOPPING=1"}
	for s := range said {
		for i := range want {
			if want[i] != "" && strings.Contains(s, want[i]) {
				want[i] = ""
			}
		}
		if want[0] == "" && want[1] == "" && want[2] == "" && want[3] != "" {
			r.stop()
		}
		if strings.Join(want, "") == "" {
			break
		}
	}
	<-r.done
}

func TestTwoHundredStreamsWhileLeadersChange(t *testing.T) {
	h := open(t, 3, "")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	seen := make([]uint64, 200)
	var mu sync.Mutex
	for i := range seen {
		r := h.agents[i%3]
		q, err := http.NewRequestWithContext(ctx, "GET", "http://"+r.http+"/v1/groups/g/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer answer.Body.Close()
			in := bufio.NewScanner(answer.Body)
			for in.Scan() {
				var token uint64
				if _, rest, ok := strings.Cut(in.Text(), `"token":`); ok {
					_, _ = fmt.Sscan(strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })[0], &token)
				}
				mu.Lock()
				if token != 0 && token < seen[i] {
					t.Errorf("stream %d was told of token %d after %d", i, token, seen[i])
				}
				seen[i] = max(seen[i], token)
				mu.Unlock()
			}
		})
	}
	var last uint64
	for i := range 9 {
		c := h.agents[i%3].dial(t)
		l, err := c.Campaign(patience(t), session.Candidate{Group: "g"})
		if err != nil {
			t.Fatal(err)
		}
		if l.Token() <= last {
			t.Errorf("token %d after %d", l.Token(), last)
		}
		last = l.Token()
		if err := l.Resign(patience(t)); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "every stream was told of the last leader", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range seen {
			if s != last {
				return false
			}
		}
		return true
	})
	cancel()
	all.Wait()
}

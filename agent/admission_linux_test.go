package agent

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
)

// nobody is a user without rights, of every Linux system.
const nobody = 65534

// as calls f on a thread that has another user, as the kernel sees it, and no other groups. Only root can do so.
func as(t *testing.T, uid, gid int, f func()) {
	t.Helper()
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread ends with its user
		var failed syscall.Errno
		for _, call := range [][4]uintptr{{syscall.SYS_SETGROUPS}, {syscall.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)}} {
			if _, _, err := syscall.RawSyscall(call[0], call[1], call[2], call[3]); err != 0 {
				failed = err
			}
		}
		defer func() { done <- failed }()
		if failed == 0 {
			f()
		}
	}()
	if err := <-done; err != 0 {
		t.Fatalf("another user: %v", err)
	}
}

// keepOpen opens connections and keeps them.
func keepOpen(t *testing.T, network, addr string, n int) []net.Conn {
	t.Helper()
	var all []net.Conn
	t.Cleanup(func() {
		for _, c := range all {
			_ = c.Close()
		}
	})
	for range n {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// probe asks as a load balancer does, by a new connection, and returns the status.
func probe(t *testing.T, r *testAgent, path string) int {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	answer, err := c.Get("http://" + r.http + path)
	if err != nil {
		t.Errorf("probe: %v", err)
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestSilentConnectionsDoNotKeepProbesOut(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\"}\ndefault_group: g\nlimits: {connections: 64, per_source: 32}")
	r.begin(t)
	keepOpen(t, "tcp", r.http, 200)
	for range 20 {
		if got := probe(t, r, "/health"); got != 200 {
			t.Fatalf("a probe among silent connections got %d", got)
		}
	}
	// Clients that have begun to say something, and never end, are silent too.
	for _, c := range keepOpen(t, "tcp", r.http, 200) {
		_, _ = fmt.Fprintf(c, "GET /v1/openapi.json HTTP/1.1\r\n")
	}
	if got := probe(t, r, "/health"); got != 200 {
		t.Fatalf("a probe among slow connections got %d", got)
	}
	b := r.agent.admission.Load()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total > 32 {
		t.Errorf("%d connections of one source: at most 32", b.total)
	}
}

func TestStreamsOfOneSourceLeaveRoomForProbes(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\"}\nlimits: {connections: 64, per_source: 16}")
	r.begin(t)
	refused := 0
	for _, c := range keepOpen(t, "tcp", r.http, 16) {
		if _, err := fmt.Fprintf(c, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode == http.StatusServiceUnavailable {
			refused++
		}
	}
	if refused != reserved(16) {
		t.Errorf("%d of 16 streams were refused, want %d", refused, reserved(16))
	}
	if got := probe(t, r, "/health"); got != 200 {
		t.Errorf("a probe among streams got %d", got)
	}
}

func TestSourcesAreJudgedByWhatTheirOwnersCannotChoose(t *testing.T) {
	of := func(ip string) string { return sourceOf(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1}).String() }
	for _, same := range [][2]string{{"127.0.0.1", "127.9.9.9"}, {"2001:db8::1", "2001:db8::ffff:2"}, {"10.0.0.1", "::ffff:10.0.0.1"}} {
		if of(same[0]) != of(same[1]) {
			t.Errorf("%s and %s are one source", same[0], same[1])
		}
	}
	if of("10.0.0.1") == of("10.0.0.2") || of("2001:db8::1") == of("2001:db8:0:1::1") {
		t.Error("sources that differ are taken for one")
	}
}

func TestFullListenerTakesFromTheSourceThatHasMost(t *testing.T) {
	limits := &config.Limits{Connections: 4, PerSource: 4}
	b := newAdmission(nil, func() *config.Limits { return limits })
	from := func(ip string) *addressed { return &addressed{at: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}} }
	small, _ := b.admit(from("10.0.0.1"))
	var first *admitted
	for i := range 3 {
		in, _ := b.admit(from("10.0.0.2"))
		if i == 0 {
			first = in
		}
	}
	if in, out := b.admit(from("10.0.0.3")); in == nil || out != first {
		t.Errorf("the oldest connection of the greatest source did not make room: %v", out)
	}
	if !small.begin() {
		t.Error("a request was refused among idle connections")
	}
	limits.Connections = 2 // a reload
	for range 3 {
		if _, out := b.admit(from("10.0.0.4")); out == small {
			t.Error("a connection that serves a request made room")
		}
	}
	small.end()
	if b.busy != 0 {
		t.Errorf("%d requests under way, want none", b.busy)
	}
}

// addressed is a connection that has an address and no more.
type addressed struct {
	net.Conn
	at net.Addr
}

func (a *addressed) RemoteAddr() net.Addr { return a.at }
func (a *addressed) Close() error         { return nil }

func TestAgentRefusesLimitsAboveTheFilesThatItMayOpen(t *testing.T) {
	r := alone(t, "{}\nlimits: {connections: 1000000}")
	file, err := config.Load(r.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newAgent(file, Options{}); err == nil || !strings.Contains(err.Error(), "needs 4000064 open files") {
		t.Errorf("a limit above RLIMIT_NOFILE: %v", err)
	}
}

// A user who may open the socket cannot keep root out of it.
func TestOtherUsersLeaveTheSocketToTheOperator(t *testing.T) {
	r := alone(t, "{}\nlimits: {connections: 16}")
	replace(t, r.config, "socket: {path: "+r.socket+"}", "socket: {path: "+r.socket+", mode: \"0666\"}")
	if err := os.Chmod(strings.TrimSuffix(r.socket, "/a.sock"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.begin(t)
	as(t, nobody, nobody, func() {
		for _, c := range keepOpen(t, "unix", r.socket, 40) {
			_, _ = fmt.Fprintln(c, `{"do":"hello"}`)
		}
	})
	c, err := session.Dial(patience(t), r.socket)
	if err != nil {
		t.Fatalf("root among the connections of nobody: %v", err)
	}
	defer c.Close()
	if _, err := c.Campaign(patience(t), session.Candidate{Group: "g"}); err != nil {
		t.Error(err)
	}
}

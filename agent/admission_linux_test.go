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
	"github.com/regentproject/regent/agent/httpd"
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
	if n := r.agent.web.Admission.Load().OpenConns(); n > 32 {
		t.Errorf("%d connections of one source: at most 32", n)
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
	if refused != httpd.Reserved(16) {
		t.Errorf("%d of 16 streams were refused, want %d", refused, httpd.Reserved(16))
	}
	if got := probe(t, r, "/health"); got != 200 {
		t.Errorf("a probe among streams got %d", got)
	}
}

func TestAgentRefusesLimitsAboveTheFilesThatItMayOpen(t *testing.T) {
	r := alone(t, "{}\nlimits: {connections: 1000000}")
	file, err := config.Load(r.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newAgent(file, Options{}); err == nil || !strings.Contains(err.Error(), "needs 4000128 open files") {
		t.Errorf("a limit above RLIMIT_NOFILE: %v", err)
	}
	// A reload is refused as a whole, too.
	r = alone(t, "{}\nlimits: {connections: 64}")
	r.begin(t)
	replace(t, r.config, "connections: 64", "connections: 1000000")
	r.agent.reload(nil)
	if got := r.agent.core.Config().Limits.Connections; got != 64 || !strings.Contains(r.log.String(), "needs 4000128 open files") {
		t.Errorf("a reload with a limit above RLIMIT_NOFILE leaves %d connections:\n%s", got, r.log.String())
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

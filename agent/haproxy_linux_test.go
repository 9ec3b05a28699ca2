package agent

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/runtime/parent"
	"github.com/regentproject/regent/internal/session"
)

// HAProxy sends requests to the host whose agent says that it leads, as its configuration for databases does.
func TestHAProxyFollowsTheLeader(t *testing.T) {
	h := open(t, 3, "default_group: db\n")
	dir := shortDir(t)
	front := port(t)
	text := "global\n  maxconn 100\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 5s\n  timeout server 5s\n" +
		"frontend front\n  bind " + front + "\n  default_backend leader\nbackend leader\n  option httpchk OPTIONS /primary\n  http-check expect status 200\n" +
		"  default-server inter 50ms fall 1 rise 1 on-marked-down shutdown-sessions\n"
	for _, r := range h.agents {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, r.name) }))
		t.Cleanup(s.Close)
		host, number, err := net.SplitHostPort(r.http)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("  server %s %s check addr %s port %s\n", r.name, strings.TrimPrefix(s.URL, "http://"), host, number)
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out logs
	proxy := exec.Command("haproxy", "-db", "-f", file)
	proxy.Stdout, proxy.Stderr = &out, &out
	proxy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := parent.Start(proxy); err != nil {
		t.Fatalf("%v: run 'make deps'", err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
	ask := func() string {
		answer, err := http.Get("http://" + front + "/")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		b, _ := io.ReadAll(answer.Body)
		if answer.StatusCode == http.StatusServiceUnavailable {
			return "nobody"
		}
		return string(b)
	}
	cluster.Eventually(t, "haproxy finds nobody", func() bool { return ask() == "nobody" })
	for _, i := range []int{0, 2, 1} {
		l, err := h.agents[i].dial(t).Campaign(patience(t), session.Candidate{Group: "db"})
		if err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "haproxy asks "+h.agents[i].name, func() bool { return ask() == h.agents[i].name })
		if err := l.Resign(patience(t)); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "haproxy finds nobody again", func() bool { return ask() == "nobody" })
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

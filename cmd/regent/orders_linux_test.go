package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/cluster/authority"
)

// A host gets an order, and the link between the agents is cut before its answer. The order is carried out once, and the one who gave it reads that the outcome
// is unknown, and where to look. The test waits until the agent gives up.
func TestOrderWhoseAnswerIsLost(t *testing.T) {
	if os.Getenv("REGENT_TEST") != "long" {
		return
	}
	t.Parallel()
	h := &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Relay: true, Config: runConfig, Regent: command})}
	for _, name := range h.Names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	dir := t.TempDir()
	count := func(file string) int {
		b, _ := os.ReadFile(filepath.Join(dir, file))
		return strings.Count(string(b), "\n")
	}
	// The program stops once a file is there, and takes down when it began and when it was asked to stop.
	_, err := h.Run("run-b", "b", "g", []string{"--restart", "--delay", "10ms", "--grace", "5m"}, "/bin/sh", "-c",
		`trap 'echo asked >>"$0/asked"; until [ -e "$0/may-stop" ]; do sleep 0.1; done; exit' TERM; echo began >>"$0/began"; while :; do sleep 0.1; done`, dir)
	h.check(err)
	cluster.Eventually(t, "the program leads, as a knows", func() bool {
		text, _ := regentSays(t, h.Cluster, "a", "who", "g")
		return strings.TrimSpace(text) == "b" && count("began") == 1
	})
	order := command("resign", "g", "--socket", h.Socket("a"))
	var said strings.Builder
	order.Stdout, order.Stderr = &said, &said
	h.check(order.Start())
	cluster.Eventually(t, "the program is asked to stop", func() bool { return count("asked") == 1 })
	h.check(h.CutLink("a", "b"))
	_ = order.Wait()
	want := "regent: the outcome is unknown: host b received the order and has not answered since, so it may have carried it out (see 'regent who' and 'regent members' before you give it again)\n"
	if said.String() != want || order.ProcessState.ExitCode() != 1 {
		t.Errorf("status %d: %q, want %q", order.ProcessState.ExitCode(), said.String(), want)
	}
	// What the message says to look at still answers, and b, which c hears, carries the order out.
	if text, status := regentSays(t, h.Cluster, "a", "members"); status != 0 || !strings.Contains(text, "\nb ") {
		t.Errorf("regent members at a: status %d: %s", status, text)
	}
	h.check(os.WriteFile(filepath.Join(dir, "may-stop"), nil, 0o600))
	cluster.Eventually(t, "the program leads again", func() bool { return count("began") == 2 })
	h.check(h.HealLink("a", "b"))
	cluster.Eventually(t, "a gives another order", func() bool {
		_, status := regentSays(t, h.Cluster, "a", "resign", "g")
		return status == 0
	})
	cluster.Eventually(t, "the program leads once more", func() bool { return count("began") == 3 })
	if n := count("asked"); n != 2 {
		t.Errorf("two orders asked the program to stop %d times", n)
	}
	for _, name := range []string{"run-b", "a", "b", "c"} {
		h.Finish(t, name)
	}
}

// A user logs in with a client certificate at a real agent. The name of the certificate decides what the user may do, and stands in the audit log.
func TestLoginByCertificate(t *testing.T) {
	t.Parallel()
	c := cluster.Open(t, cluster.Options{Names: []string{"a"}, Config: runConfig, Regent: command})
	ca := authority.New(t)
	for _, name := range []string{"server", "deploy", "monitor"} {
		ca.Issue(name)
	}
	stranger := authority.New(t)
	stranger.Issue("deploy")
	listen, err := c.HTTP("a")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit")
	if err := c.WriteConfig("a"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.ConfigFile("a"))
	if err != nil {
		t.Fatal(err)
	}
	secured := strings.Replace(string(text), "anonymous: write}", fmt.Sprintf("tls: {cert: %s/server.pem, key: %s/server.key, client_ca: %s/authority.pem, write_names: [deploy]}}\naudit: %s", ca.Dir, ca.Dir, ca.Dir, audit), 1)
	if err := os.WriteFile(c.ConfigFile("a"), []byte(secured), 0o600); err != nil || secured == string(text) {
		t.Fatal(err, secured)
	}
	if _, err := c.StartAgent("a"); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitAgents("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run("run-a", "a", "g", []string{"--restart", "--delay", "10ms"}, "sleep", "1000"); err != nil {
		t.Fatal(err)
	}
	url := "https://" + listen
	says := func(user string, want int, part string, args ...string) {
		t.Helper()
		x := command(args...)
		x.Env = append(x.Env, "XDG_CONFIG_HOME="+filepath.Join(dir, user), "REGENT_SOCKET=", "REGENT_AGENT="+url)
		if args[0] == "login" {
			x.Env = x.Env[:len(x.Env)-1]
		}
		out, _ := x.CombinedOutput()
		if got := x.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), part) {
			t.Errorf("%s: regent %s: status %d, want %d: %s", user, strings.Join(args, " "), got, want, out)
		}
	}
	login := func(dir, name, ca string) []string {
		return []string{"login", url, "--ca", ca, "--cert", filepath.Join(dir, name+".pem"), "--key", filepath.Join(dir, name+".key")}
	}
	known := filepath.Join(ca.Dir, "authority.pem")
	says("nobody", 3, "--ca FILE", "who", "g")
	says("deploy", 3, "run 'regent login "+url+" --ca FILE'", login(ca.Dir, "deploy", filepath.Join(stranger.Dir, "authority.pem"))...)
	says("stranger", 3, "", login(stranger.Dir, "deploy", known)...)
	says("stranger", 1, "no such file", login(ca.Dir, "nobody", known)...)
	says("deploy", 0, "logged in to the agent of a", login(ca.Dir, "deploy", known)...)
	says("monitor", 0, "logged in to the agent of a", login(ca.Dir, "monitor", known)...)
	says("deploy", 0, "a\n", "who", "g", "--wait", "30s")
	says("monitor", 0, "a\n", "who", "g")
	says("monitor", 1, "this needs the role write (use a token or a certificate of that role", "resign", "g")
	says("deploy", 0, "g was given up", "resign", "g")
	cluster.Eventually(t, "the audit log names the certificate", func() bool {
		b, _ := os.ReadFile(audit)
		return strings.Contains(string(b), `"action":"resign","group":"g","who":"certificate deploy"`) && strings.Contains(string(b), `"who":"certificate monitor"`)
	})
	says("deploy", 0, "logged out", "logout", url)
	says("deploy", 3, "--ca FILE", "who", "g")
}

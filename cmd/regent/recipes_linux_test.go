package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	runner "github.com/regentproject/regent/agent/run"
)

// A recipe is a block of docs/recipes.md that is marked as tried.
type recipe struct {
	language string
	// name is a path, and the block is the file there; "agent", and it is a part of the agents' configuration; another word, and it is a command that
	// hosts run; or empty, and it is run once.
	name, text string
}

// A kitchen is where the recipes of docs/recipes.md are tried: its hosts are addresses of the loopback network, and its files below a directory.
type kitchen struct {
	*runCluster
	root, net string
	programs  string // of PostgreSQL, in front of the path
	recipes   []recipe
}

// hostsOfRecipes are those on the page. The address of the first is 10.0.0.1.
var hostsOfRecipes = []string{"host1", "host2", "host3"}

// openKitchen reads the page and writes its files. No process runs yet.
func openKitchen(t *testing.T) *kitchen {
	t.Helper()
	page, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	k := &kitchen{root: t.TempDir(), net: fmt.Sprintf("127.%d.%d.", 64+pid>>8%128, pid%256)}
	for i, text := range strings.Split(string(page), "\n```") {
		head, body, _ := strings.Cut(text, "\n")
		if words := strings.Fields(head); i%2 == 1 && len(words) > 1 && words[1] == "tried" {
			k.recipes = append(k.recipes, recipe{words[0], strings.Join(words[2:], " "), k.place(body) + "\n"})
		}
	}
	// Other users run some of it.
	for dir := k.root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k.runCluster = &runCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{Names: hostsOfRecipes, Dir: filepath.Join(k.root, "c"), Regent: command, SocketMode: "0666"})}
	self, err := os.Executable()
	k.check(err, os.MkdirAll(k.place("/usr/local/bin"), 0o755), os.Symlink(self, k.place("/usr/local/bin/regent")))
	for _, r := range k.recipes {
		if strings.HasPrefix(r.name, "/") {
			k.write(r.name, r.text)
		}
	}
	return k
}

// write writes a file of the page.
func (k *kitchen) write(path, text string) {
	k.t.Helper()
	if !strings.HasPrefix(path, k.root) {
		path = k.place(path)
	}
	mode := os.FileMode(0o644)
	if filepath.Base(filepath.Dir(path)) == "bin" {
		mode = 0o755
	}
	k.check(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode))
}

// place replaces addresses and directories of the page by those of the test.
func (k *kitchen) place(text string) string {
	replace := []string{"10.0.0.", k.net}
	for _, dir := range []string{"/etc", "/usr/local", "/var/lib"} {
		replace = append(replace, dir+"/", k.root+dir+"/")
	}
	return strings.NewReplacer(replace...).Replace(text)
}

// on returns a block of host1 as it is on another host.
func (k *kitchen) on(host, text string) string {
	return strings.NewReplacer(k.net+"1", k.net+strings.TrimPrefix(host, "host"), "host1", host).Replace(text)
}

// command returns a command line of a host, as its users run it.
func (k *kitchen) command(host, line string, before ...string) *exec.Cmd {
	c := exec.Command("bash", "-euc", line)
	if len(before) > 0 {
		c = exec.Command(before[0], append(before[1:], c.Args...)...)
	}
	c.Dir = filepath.Join(k.root, host)
	k.check(os.MkdirAll(c.Dir, 0o755))
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "PATH="+k.place("/usr/local/bin:")+k.programs+"/usr/bin:/usr/sbin:/bin:"+os.Getenv("PATH"), "REGENT_SOCKET="+k.Socket(host))
	return c
}

// find returns the blocks of a name. The name may be that of a file.
func (k *kitchen) find(name string) (all []recipe) {
	k.t.Helper()
	for _, r := range k.recipes {
		if r.name == name || r.name == k.place(name) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		k.t.Fatalf("docs/recipes.md has no %s", name)
	}
	return all
}

// spawn has a host run a command of the page.
func (k *kitchen) spawn(host, name string, before ...string) {
	k.t.Helper()
	_, err := k.Spawn(name+" "+host, host, k.command(host, "exec "+k.on(host, k.find(name)[0].text), before...), nil)
	k.check(err)
	k.t.Cleanup(func() {
		if p := k.Process(name + " " + host); !p.Ended() {
			p.Stop(cluster.Patience)
		}
	})
}

// once runs the commands of the page that prepare something.
func (k *kitchen) once() {
	k.t.Helper()
	for _, r := range k.find("") {
		if out, err := k.command("host1", r.text).CombinedOutput(); err != nil {
			k.t.Fatalf("%s: %v: %s", r.text, err, out)
		}
	}
}

// agents starts the agents, with what the page adds to their configuration.
func (k *kitchen) agents() {
	k.t.Helper()
	for _, host := range k.Names {
		k.check(k.WriteConfig(host))
		text, err := os.ReadFile(k.ConfigFile(host))
		k.check(err)
		more := "http:\n"
		for _, r := range k.find("agent") {
			more += strings.TrimPrefix(k.on(host, r.text), "http:\n")
		}
		before, after, _ := strings.Cut(string(text), "http: ")
		_, after, _ = strings.Cut(after, "\n")
		k.check(os.WriteFile(k.ConfigFile(host), []byte(before+more+after), 0o600))
		k.startAgent(host)
	}
	k.check(k.AwaitAgents(k.Names...))
}

// get asks an address over HTTP, and returns status and body.
func (k *kitchen) get(address string) (int, string) {
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: cluster.Patience}).Get("http://" + k.place(address))
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	b, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b)
}

// output runs a command line on a host.
func (k *kitchen) output(host, line string) string {
	out, err := k.command(host, line).Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// fronts are the load balancers of the page.
var fronts = []string{"10.0.0.9:8080", "10.0.0.9:8443", "10.0.0.9:8081"}

// balancers starts the load balancers of the page.
func (k *kitchen) balancers() {
	k.t.Helper()
	k.write("/usr/local/bin/nginx", "#!/bin/sh\nexec /usr/sbin/nginx -p "+k.root+" -c "+k.place("/etc/nginx/nginx.conf")+" \"$@\"\n")
	text := "daemon off;\npid " + k.root + "/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\n  access_log off;\n"
	for _, dir := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += "  " + dir + "_temp_path " + k.root + "/" + dir + ";\n"
	}
	k.write("/etc/nginx/nginx.conf", text+"  include "+k.place("/etc/nginx/conf.d/*.conf;")+"\n}\n")
	for name, line := range map[string]string{"haproxy": "haproxy -db -f /etc/haproxy/haproxy.cfg", "haproxy with TLS": "haproxy -db -f /etc/haproxy/tls.cfg", "follow-leader": "follow-leader"} {
		k.service(name, line)
	}
	cluster.Eventually(k.t, "follow-leader writes the first address", func() bool {
		_, err := os.Stat(k.place("/etc/nginx/leader.conf"))
		return err == nil
	})
	k.service("nginx", "nginx")
}

// service runs a command line until the test ends, as systemd does: it ends with all that it started.
func (k *kitchen) service(name, line string) {
	k.t.Helper()
	p, err := k.Spawn(name, "host3", k.command("host3", "exec "+k.place(line)), nil)
	k.check(err)
	k.t.Cleanup(func() { _ = syscall.Kill(-p.Pid(), syscall.SIGKILL) })
}

// ledBy waits until a host leads a group.
func (k *kitchen) ledBy(host, group string) {
	k.t.Helper()
	cluster.Eventually(k.t, host+" leads "+group, func() bool { return k.output("host3", "regent who "+group) == host })
}

// ports looks at what the two HTTP ports of the page answer.
func (k *kitchen) ports() {
	k.t.Helper()
	for address, want := range map[string]int{"10.0.0.1:8009/v1/groups/web/primary": 200, "10.0.0.2:8009/v1/groups/web/primary": 503, "10.0.0.1:8009/v1/status": 404, "10.0.0.1:8009/": 404} {
		if got, body := k.get(address); got != want {
			k.t.Errorf("%s: status %d, want %d: %s", address, got, want, body)
		}
	}
	ask := k.place("curl -s -o /dev/null -w '%{http_code}' --cacert /etc/haproxy/regent.pem --connect-to host1:8008:10.0.0.1:8008 https://host1:8008/v1/status")
	if got := k.output("host1", ask); got != "401" {
		k.t.Errorf("without a token: %s", got)
	}
	if got := k.output("host1", ask+k.place(` -H "Authorization: Bearer $(cat /etc/regent/ops.token)"`)); got != "200" {
		k.t.Errorf("with a token: %s", got)
	}
}

// nightly runs the job of the timer on all hosts, and returns what waits until it is over.
func (k *kitchen) nightly() (done func()) {
	k.t.Helper()
	report := filepath.Join(k.root, "reports")
	k.write("/usr/local/bin/report", "#!/bin/sh\necho $REGENT_MEMBER >>"+report+"\n")
	unit := k.find("/etc/systemd/system/nightly.service")[0].text
	_, line, ok := strings.Cut(unit, "\nExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	if out, err := exec.Command("systemd-analyze", "verify", k.place("/etc/systemd/system/nightly.service")).CombinedOutput(); !ok || err != nil || len(out) > 0 {
		k.t.Errorf("systemd-analyze verify: %v: %s (run 'make deps' if it is missing)", err, out)
	}
	for _, host := range k.Names {
		_, err := k.Spawn("nightly "+host, host, k.command(host, "exec "+line), nil)
		k.check(err)
	}
	return func() {
		var leads []string
		cluster.Eventually(k.t, "two hosts do not run the report", func() bool {
			leads = slices.DeleteFunc(slices.Clone(k.Names), func(host string) bool { return k.Process("nightly " + host).Ended() })
			return len(leads) == 1
		})
		for _, host := range k.Names {
			if p := k.Process("nightly " + host); host != leads[0] && p.ExitCode() != runner.StatusNotElected {
				k.t.Errorf("%s ends with status %d", host, p.ExitCode())
			}
		}
		if b, err := os.ReadFile(report); err != nil || string(b) != leads[0]+"\n" {
			k.t.Errorf("the report ran on %q, %s leads (%v)", b, leads[0], err)
		}
		k.Process("nightly " + leads[0]).Stop(cluster.Patience)
	}
}

// jobs gives the worker a job, waits until it is done, and returns by which token.
func (k *kitchen) job() string {
	k.t.Helper()
	sql := func(line string) string {
		return k.output("host3", k.place("python3 -c 'import sqlite3; db = sqlite3.connect(\"/var/lib/jobs/db\", timeout=30); print(db.execute(\""+line+"\").fetchone()); db.commit()'"))
	}
	sql("insert into jobs(done_by) values(null)")
	var token string
	cluster.Eventually(k.t, "the worker does a job", func() bool {
		token = strings.Trim(sql("select done_by from jobs order by id desc"), "(,)")
		return token != "None" && !strings.Contains(token, "exit")
	})
	return token
}

// What docs/recipes.md lists works as it stands there, also when the agent of the leader is killed.
func TestTheRecipesWork(t *testing.T) {
	t.Parallel()
	k := openKitchen(t)
	k.once()
	k.agents()
	nightly := k.nightly()
	for i, host := range k.Names {
		k.write(filepath.Join(k.root, host, "index.html"), host)
		k.spawn(host, "web")
		k.spawn(host, "worker")
		if i == 0 {
			k.ledBy("host1", "web")
			k.ledBy("host1", "jobs")
		}
	}
	k.balancers()
	for _, front := range fronts {
		cluster.Eventually(t, front+" answers by host1", func() bool { _, body := k.get(front); return body == "host1" })
	}
	k.ports()
	before := k.job()
	nightly()

	begin := time.Now()
	k.check(k.Crash("host1"))
	for _, front := range fronts {
		cluster.Eventually(t, front+" answers by another host", func() bool { _, body := k.get(front); return body == "host2" || body == "host3" })
	}
	t.Logf("load balancers answer by another host after %v", time.Since(begin))
	after := k.job()
	if len(after) < len(before) || len(after) == len(before) && after <= before {
		t.Errorf("token %s of a leader after that with %s", after, before)
	}
	out, err := k.command("host1", k.place("REGENT_TOKEN="+before+" timeout 20 python3 /usr/local/bin/worker.py")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a later leader has written") {
		t.Errorf("the worker with the token of before: %v: %s", err, out)
	}
}

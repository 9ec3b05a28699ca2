//go:build engines

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// databases are the servers of the recipe for PostgreSQL. On the page all hosts have the same directories.
type databases struct {
	*kitchen
	user []string // the words before a command that runs as the user of PostgreSQL, which is not root
}

// of replaces directories of the page by those of a host.
func (d *databases) of(host, text string) string {
	return strings.NewReplacer(d.place("/var/lib/postgresql"), filepath.Join(d.root, host), d.place("/usr/local/bin/db-lead"), d.place("/usr/local/bin/db-lead-")+host).Replace(d.on(host, text))
}

// run runs a command line on a host as the user of PostgreSQL.
func (d *databases) run(host, line string) (string, error) {
	c := d.command(host, d.of(host, d.place(line)), d.user...)
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// sql asks the server of a host, and returns its answer or the error.
func (d *databases) sql(host, line string) string {
	out, err := d.run(host, `psql -h /var/lib/postgresql -qAtc "`+line+`" postgres`)
	if err != nil {
		return "error: " + out
	}
	return out
}

// must runs a command line that must work.
func (d *databases) must(host, line string) {
	d.t.Helper()
	if out, err := d.run(host, line); err != nil {
		d.t.Fatalf("%s: %s: %v: %s", host, line, err, out)
	}
}

// found makes a primary on host1 that does not run, and a standby on host2 that does.
func (d *databases) found() {
	d.t.Helper()
	for _, host := range []string{"host1", "host2"} {
		d.write("/usr/local/bin/db-lead-"+host, d.of(host, d.find("/usr/local/bin/db-lead")[0].text))
		d.check(os.MkdirAll(filepath.Join(d.root, host), 0o755))
		if len(d.user) > 0 {
			if out, err := exec.Command("chown", "postgres", filepath.Join(d.root, host)).CombinedOutput(); err != nil {
				d.t.Fatalf("%v: %s", err, out)
			}
		}
	}
	const config = "listen_addresses = '10.0.0.1'\nunix_socket_directories = '/var/lib/postgresql'\nshared_buffers = 16MB\nfsync = off\n"
	d.must("host1", "initdb -D /var/lib/postgresql/data --auth=trust --no-sync >/dev/null")
	d.must("host1", "cat >>/var/lib/postgresql/data/postgresql.conf <<end\n"+config+"end\n")
	d.must("host1", "pg_ctl -s -w -D /var/lib/postgresql/data -l log start && psql -h /var/lib/postgresql -qc 'create table t (n int)' postgres")
	d.must("host1", "pg_basebackup -R -h /var/lib/postgresql -D "+filepath.Join(d.root, "host2", "data"))
	d.must("host2", "cat >>/var/lib/postgresql/data/postgresql.conf <<end\n"+config+"end\n")
	d.must("host2", "pg_ctl -s -w -D /var/lib/postgresql/data -l log start")
	d.must("host1", "pg_ctl -s -w -D /var/lib/postgresql/data -m fast stop")
	d.t.Cleanup(func() {
		for _, host := range []string{"host1", "host2"} {
			_, _ = d.run(host, "pg_ctl -s -D /var/lib/postgresql/data -m immediate stop")
		}
	})
}

// lead has a host campaign, as the page says.
func (d *databases) lead(host string) {
	d.t.Helper()
	_, err := d.Spawn("db "+host, host, d.command(host, "exec "+d.of(host, d.find("db")[0].text), d.user...), nil)
	d.check(err)
	d.t.Cleanup(func() { d.Process("db " + host).Stop(cluster.Patience) })
}

// The old primary of docs/recipes.md is gone before the standby takes writes, also if the agent of the primary is killed.
func TestThePostgreSQLRecipeWorks(t *testing.T) {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(programs) == 0 {
		t.Fatal("PostgreSQL is missing: run internal/tools/deps.sh engines")
	}
	d := &databases{kitchen: openKitchen(t)}
	d.check(os.Symlink(programs[len(programs)-1], filepath.Join(d.root, "pg")))
	d.programs = filepath.Join(d.root, "pg") + ":"
	if os.Geteuid() == 0 {
		d.user = []string{"setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"}
	}
	// The user of PostgreSQL may not look into the directory of the test's own executable.
	self, err := os.ReadFile("/proc/self/exe")
	d.check(err, os.Remove(d.place("/usr/local/bin/regent")))
	d.write("/usr/local/bin/regent", string(self))
	d.found()
	d.once()
	d.agents()
	d.lead("host1")
	cluster.Eventually(t, "the first primary takes writes", func() bool { return d.sql("host1", "insert into t values (1) returning n") == "1" })
	d.lead("host2")
	cluster.Eventually(t, "the standby has the row", func() bool { return d.sql("host2", "select n from t") == "1" })
	if got := d.sql("host2", "insert into t values (2) returning n"); !strings.Contains(got, "read-only transaction") {
		t.Errorf("the standby takes writes: %s", got)
	}

	d.check(d.Crash("host1"))
	cluster.Eventually(t, "the standby takes writes", func() bool {
		both := d.sql("host2", "insert into t values (3) returning n") == "3"
		if both && !strings.HasPrefix(d.sql("host1", "select 1"), "error") {
			t.Error("the old primary answers beside the new one")
		}
		return both
	})

	// The first host does not lead again, although nobody else does.
	d.check(os.Remove(d.Socket("host1")))
	d.startAgent("host1")
	cluster.Eventually(t, "the first agent is back", func() bool { return d.output("host1", "regent who db") == "host2" })
	d.Process("db host2").Stop(cluster.Patience)
	if got := d.sql("host2", "select 1"); !strings.HasPrefix(got, "error") {
		t.Errorf("the server of the leader outlives its leadership: %s", got)
	}
	cluster.Eventually(t, "the first host refuses to lead", func() bool { return strings.Contains(d.Process("db host1").Log(), "does not campaign for db") })
	if got := d.sql("host1", "select 1"); !strings.HasPrefix(got, "error") {
		t.Errorf("a host that has led runs a server again: %s", got)
	}
}

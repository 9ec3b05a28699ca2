//go:build engines

package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/regentproject/regent/engines/postgres"
)

// A server is a cluster of PostgreSQL with a port and a directory of its own.
type server struct {
	address string
	dir     string
	cmd     *exec.Cmd
	ended   chan struct{}
	options []string
	// clock is a file that says how far the time of day of the server is ahead, as libfaketime reads it.
	clock string
}

// serve starts a server with the table, and with options of the form name=value.
func serve(t *testing.T, options ...string) *server {
	t.Helper()
	s := start(t, options...)
	s.exec(t, postgres.Schema)
	return s
}

// start starts a server without the table. PostgreSQL does not run as root: then the user postgres runs it.
func start(t *testing.T, options ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "regent-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &server{address: freeAddress(t), dir: filepath.Join(dir, "data"), options: options, clock: filepath.Join(dir, "clock")}
	s.shift(t, 0)
	if os.Geteuid() == 0 {
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := s.program("initdb", "-D", s.dir, "-U", "regent", "--auth=trust", "--no-sync", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	s.run(t)
	t.Cleanup(s.kill)
	s.execOn(t, "postgres", "create database regent")
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// path returns where a program is: those of PostgreSQL have a directory of their own.
func path(name string) string {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err == nil && len(found) > 0 {
		return found[len(found)-1]
	}
	return name
}

// program returns a command of PostgreSQL's.
func (s *server) program(name string, args ...string) *exec.Cmd {
	name = path(name)
	if os.Geteuid() == 0 {
		args = append([]string{"--reuid", "postgres", "--regid", "postgres", "--clear-groups", name}, args...)
		name = "setpriv"
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Dir(s.dir)
	return cmd
}

// run starts the server and waits until it takes connections. A server that was killed may leave processes, which end soon: until then the next one
// does not start.
func (s *server) run(t *testing.T) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.address)
	args := []string{"-D", s.dir, "-k", filepath.Dir(s.dir), "-h", host, "-p", port}
	for _, o := range s.options {
		args = append(args, "-c", o)
	}
	var log strings.Builder
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		log.Reset()
		// The user of the server loads the library, which keeps a semaphore.
		s.cmd = s.program("env", append([]string{"LD_PRELOAD=" + faketime(t), "FAKETIME_TIMESTAMP_FILE=" + s.clock, "FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1", path("postgres")}, args...)...)
		s.cmd.Stderr = &log
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func(cmd *exec.Cmd) {
			defer close(ended)
			_ = cmd.Wait()
		}(s.cmd)
		s.ended = ended
		if s.answers(t, ended, deadline) {
			return
		}
		s.kill()
	}
	t.Fatalf("the server does not start:\n%s", log.String())
}

// answers waits until the server takes connections; false: it has ended, or takes too long.
func (s *server) answers(t *testing.T, ended chan struct{}, deadline time.Time) bool {
	for time.Now().Before(deadline) {
		db := s.open(t, "postgres")
		err := db.Ping()
		_ = db.Close()
		if err == nil {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(50 * time.Millisecond): // wall clock: a real server
		}
	}
	return false
}

// faketime returns the library that moves the time of day of a process.
func faketime(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		t.Fatal("libfaketime is missing: run internal/tools/deps.sh engines")
	}
	return found[0]
}

// shift moves the time of day of the server, which takes effect at its next look.
func (s *server) shift(t *testing.T, ahead time.Duration) {
	t.Helper()
	if err := os.WriteFile(s.clock, fmt.Appendf(nil, "%+d\n", int(ahead.Seconds())), 0o644); err != nil {
		t.Fatal(err)
	}
}

// setTime is shift for a server that runs, and sees that it follows.
func (s *server) setTime(t *testing.T, ahead time.Duration) {
	t.Helper()
	s.shift(t, ahead)
	db := s.open(t, "regent")
	defer db.Close()
	var seconds float64
	if err := db.QueryRow("select extract(epoch from clock_timestamp())").Scan(&seconds); err != nil {
		t.Fatal(err)
	}
	if is := time.Duration((seconds - float64(time.Now().UnixNano())/1e9) * 1e9); (is - ahead).Abs() > time.Minute {
		t.Fatalf("the time of day of the server is ahead by %v, want %v", is, ahead)
	}
}

// kill kills the server. Its processes end when they notice.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// crash kills the server and starts it again on the same data.
func (s *server) crash(t *testing.T) {
	s.kill()
	s.run(t)
}

func (s *server) dsn(database string) string {
	return fmt.Sprintf("postgres://regent@%s/%s?connect_timeout=20", s.address, database)
}

func (s *server) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", s.dsn(database))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (s *server) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	s.execOn(t, "regent", query, args...)
}

func (s *server) execOn(t *testing.T, database, query string, args ...any) {
	t.Helper()
	db := s.open(t, database)
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := db.ExecContext(ctx, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

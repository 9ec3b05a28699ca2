//go:build unix

package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// programVar makes the test binary the program.
const programVar = "LEDGER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVar) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// must fails the test if something could not be done.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWriteOfALeaderThatWasStoppedIsRefused(t *testing.T) {
	c := cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}})
	file := filepath.Join(c.Dir, "db")
	lines := make(chan string, 1000)
	for _, name := range c.Names {
		must(t, c.StartMain(name, programVar, func(line string) { lines <- line }, "-db", file))
	}
	// next returns the next line that matches; nothing if none comes in time.
	next := func(within time.Duration, match func(line string) bool) string {
		limit := time.After(within)
		for {
			select {
			case line := <-lines:
				if match(line) {
					return line
				}
			case <-limit:
				return ""
			}
		}
	}
	wrote := func(line string) bool { return strings.Contains(line, "wrote") }
	// It is stopped in the middle of its thoughts nearly always. If it was between two of them, or held the database's own
	// lock, it is stopped again.
	for range 10 {
		old, _, _ := strings.Cut(next(cluster.Patience, wrote), ":")
		if old == "" {
			t.Fatal("nobody writes")
		}
		must(t, c.Pause(old))
		other := next(5*time.Second, func(l string) bool { return wrote(l) && !strings.HasPrefix(l, old+":") })
		must(t, c.Resume(old))
		if other == "" {
			continue
		}
		if next(2*time.Second, func(l string) bool { return strings.HasPrefix(l, old+": refused") }) != "" {
			checkOrder(t, file)
			c.Finish(t, old)
			return
		}
	}
	t.Error("no write was refused")
}

// checkOrder looks into the ledger: tokens never fall, so no leader of the past has written.
func checkOrder(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT token FROM entry ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var last, n int64
	for rows.Next() {
		var token int64
		if err := rows.Scan(&token); err != nil {
			t.Fatal(err)
		}
		if token < last {
			t.Errorf("an entry with token %d comes after one with %d", token, last)
		}
		last, n = token, n+1
	}
	if n < 2 {
		t.Errorf("only %d entries", n)
	}
}

//go:build unix

package main

import (
	"bufio"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

func TestMain(m *testing.M) {
	if os.Getenv("LEDGER_TEST_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func free(t *testing.T, n int) []string {
	t.Helper()
	var addrs []string
	for range n {
		addr, err := cluster.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, addr)
	}
	return addrs
}

func TestWriteOfALeaderThatWasStoppedIsRefused(t *testing.T) {
	names := []string{"a", "b", "c"}
	var council []string
	for i, addr := range free(t, len(names)) {
		council = append(council, names[i]+"="+addr)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "db")
	lines := make(chan string, 1000)
	programs := make(map[string]*exec.Cmd)
	for _, name := range names {
		cmd := exec.Command(os.Args[0], "-name", name, "-council", strings.Join(council, ","), "-dir", filepath.Join(dir, name), "-db", file)
		cmd.Env = append(os.Environ(), "LEDGER_TEST_PROGRAM=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		programs[name] = cmd
		go func() {
			for in := bufio.NewScanner(out); in.Scan(); {
				lines <- in.Text()
			}
		}()
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
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
		old, _, _ := strings.Cut(next(30*time.Second, wrote), ":")
		if old == "" {
			t.Fatal("nobody writes")
		}
		if err := programs[old].Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		other := next(5*time.Second, func(l string) bool { return wrote(l) && !strings.HasPrefix(l, old+":") })
		if err := programs[old].Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if other == "" {
			continue
		}
		if next(2*time.Second, func(l string) bool { return strings.HasPrefix(l, old+": refused") }) != "" {
			checkOrder(t, file)
			if err := programs[old].Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := programs[old].Wait(); err != nil {
				t.Errorf("%s was asked to stop, and ended with %v", old, err)
			}
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

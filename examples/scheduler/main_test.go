//go:build unix

package main

import (
	"bufio"
	"fmt"
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
	if os.Getenv("SCHEDULER_TEST_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// free returns loopback addresses that nobody listens on.
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

func TestJobRunsOnOneHostOnlyAndMovesOn(t *testing.T) {
	names := []string{"a", "b", "c"}
	var council []string
	for i, addr := range free(t, len(names)) {
		council = append(council, names[i]+"="+addr)
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key") // as regent keygen writes it, but for a comment that is longer than any key
	if err := os.WriteFile(key, []byte("# "+strings.Repeat("Keep it secret. ", 10)+"\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	jobs := make(chan string, 1000)
	programs := make(map[string]*exec.Cmd)
	for _, name := range names {
		cmd := exec.Command(os.Args[0], "-name", name, "-council", strings.Join(council, ","), "-dir", filepath.Join(dir, name), "-every", "20ms", "-key-file", key)
		cmd.Env = append(os.Environ(), "SCHEDULER_TEST_PROGRAM=1")
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
				jobs <- in.Text()
			}
		}()
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	who, token := next(t, jobs, 0)
	for range 10 { // of one leadership all run in one place
		if w, tk := next(t, jobs, 0); tk == token && w != who {
			t.Fatalf("the job ran at %s and at %s with token %d", who, w, token)
		}
	}
	if err := programs[who].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := programs[who].Wait(); err != nil {
		t.Errorf("%s was asked to stop, and ended with %v", who, err)
	}
	second, _ := next(t, jobs, token)
	if second == who {
		t.Errorf("the job still runs at %s", who)
	}
	if err := programs[second].Process.Kill(); err != nil { // with two of three gone nobody may lead
		t.Fatal(err)
	}
	_ = programs[second].Wait()
	// If the last one leads by now, it does so until its lease ends.
	for limit := time.After(20 * time.Second); ; {
		select {
		case line := <-jobs:
			select {
			case <-limit:
				t.Fatalf("a minority of one runs the job: %s", line)
			default:
			}
		case <-time.After(time.Second):
			return
		}
	}
}

// next waits for a job with a token above the one given.
func next(t *testing.T, jobs <-chan string, above uint64) (who string, token uint64) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case line := <-jobs:
			name, rest, _ := strings.Cut(line, ": ")
			if _, err := fmt.Sscanf(rest, "job runs, token %d", &token); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			if token > above {
				return name, token
			}
		case <-limit:
			t.Fatal("no job runs")
		}
	}
}

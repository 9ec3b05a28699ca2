//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// programVar makes the test binary the program.
const programVar = "SCHEDULER_TEST_PROGRAM"

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

func TestJobRunsOnOneHostOnlyAndMovesOn(t *testing.T) {
	c := cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}})
	key := filepath.Join(c.Dir, "key") // as regent keygen writes it, but for a comment that is longer than any key
	must(t, os.WriteFile(key, []byte("# "+strings.Repeat("Keep it secret. ", 10)+"\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=\n"), 0o600))
	jobs := make(chan string, 1000)
	for _, name := range c.Names {
		must(t, c.StartMain(name, programVar, func(line string) { jobs <- line }, "-every", "20ms", "-key-file", key))
	}
	who, token := next(t, jobs, 0)
	for range 10 { // of one leadership all run in one place
		if w, tk := next(t, jobs, 0); tk == token && w != who {
			t.Fatalf("the job ran at %s and at %s with token %d", who, w, token)
		}
	}
	c.Finish(t, who)
	second, _ := next(t, jobs, token)
	if second == who {
		t.Errorf("the job still runs at %s", who)
	}
	must(t, c.Crash(second)) // with two of three gone nobody may lead
	// If the last one leads by now, it does so until its lease ends.
	for limit := time.After(cluster.Patience); ; {
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
	limit := time.After(cluster.Patience)
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

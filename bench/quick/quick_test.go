package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// The measurements start members as "member" and busy processes as "burn" from their own executable: here, this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "member" || os.Args[1] == "burn") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestAShortRunMeasuresEverything(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := parse([]string{"-trials", "2", "-splits", "2", "-members", "3", "-scheduling", "realtime", "-idle", "300ms", "-groups", "1,50", "-values", "1",
		"-calm", "300ms", "-busy", "300ms", "-profile", "lan"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := run(ctx, s, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"floor: round trip", "floor: timer", "kill    3", "stop    3", "resign  3", "cut     3", "split   5", "merge   5", "idle,     1 groups",
		"idle,    50 groups", "all led again", "values, 50 groups", "calm for", "busy for", "no two programs led at one instant"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("it left %v behind", left)
	}
}

func TestQuantiles(t *testing.T) {
	var s sample
	for i := range 100 {
		s = append(s, time.Duration(100-i))
	}
	if s.at(0.5) != 50 || s.at(0.99) != 99 || s.at(1) != 100 || (sample{}).at(0.5) != 0 {
		t.Errorf("p50 %d, p99 %d, max %d", s.at(0.5), s.at(0.99), s.at(1))
	}
}

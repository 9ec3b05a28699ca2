package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cli"
)

// serve runs a command line that serves a page, and returns its address and a function that ends it with its status.
func serve(t *testing.T, args ...string) (url string, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errOut bytes.Buffer
	status := make(chan int, 1)
	go func() {
		s := run(ctx, args, strings.NewReader(""), in, &errOut)
		in.Close()
		status <- s
	}()
	address := regexp.MustCompile(`http://[0-9.:]+/`)
	lines := bufio.NewReader(out)
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended with %d before it served anything: %s", <-status, errOut.String())
		}
		url = address.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return url, func() int { cancel(); return <-status }
}

func TestReplayServesAFailingRunUntilItIsInterrupted(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	var out bytes.Buffer
	// With time-outs as short as this the members do not agree in the end.
	args := strings.Fields("fuzz --protocol rank --members 5 --seed 1 --option timeout=60ms --option cap=60ms --shrink 0 --trace")
	if status := run(t.Context(), append(args, trace), strings.NewReader(""), &out, &out); status != cli.Failed {
		t.Fatalf("status %d: %s", status, out.String())
	}
	url, end := serve(t, "replay", trace, "--no-open")
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !strings.Contains(string(page), "<title>Regent</title>") {
		t.Errorf("%v: %.100s", err, page)
	}
	answer, err = http.Post(url+"api/do", "application/json", strings.NewReader(`{"verb":"seek","value":1}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("a seek is answered with %s", answer.Status)
	}
	if status := end(); status != cli.OK {
		t.Errorf("status %d", status)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the page is still there")
	}
}

// The story of a scenario is as docs/dashboard.md shows it.
func TestReplayPrintsTheStoryOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(page), "$ regent replay hall/fig1 --text\n")
	block, _, ok2 := strings.Cut(block, "```")
	if !ok || !ok2 {
		t.Fatal("docs/dashboard.md has no story")
	}
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"replay", "hall/fig1", "--text"}, strings.NewReader(""), &out, &errOut); status != 0 {
		t.Fatalf("status %d: %s", status, errOut.String())
	}
	for line := range strings.Lines(block) {
		if line != "...\n" && !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

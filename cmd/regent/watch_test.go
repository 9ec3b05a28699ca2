package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/regentproject/regent/agent/cli"
)

// serveStreams is an agent that sends each of the streams to one who asks, and hangs up. An empty one is a refusal: it does
// not take part yet.
func serveStreams(t *testing.T, streams ...string) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "a.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(asked.Add(1))
		if n > len(streams) || streams[n-1] == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for line := range strings.Lines(streams[n-1]) {
			name, data, _ := strings.Cut(strings.TrimSpace(line), " ")
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		}
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return socket
}

// After the agent was away, what it says first of a group is shown and counted only if it is something else.
func TestWatchShowsNothingTwiceAfterARestart(t *testing.T) {
	socket := serveStreams(t,
		`group {"group":"g","leader":"a","token":1}
		group {"group":"h","leader":"b","token":7}
		synced {}
		group {"group":"h","leader":"b","token":7}`, // said again by an agent that was there: shown
		"", "", // gone, and back without a council
		`group {"group":"h","leader":"b","token":7}`, // gone again before it has said all
		`group {"group":"g","leader":"a","token":1}
		group {"group":"h","leader":"c","token":8}
		synced {}
		group {"group":"g","leader":"","token":0}
		group {"group":"g","leader":"c","token":2}
		group {"group":"g","leader":"","token":0}`)
	var out, errOut bytes.Buffer
	if got := run(t.Context(), []string{"watch", "--socket", socket, "--count", "6"}, strings.NewReader(""), &out, &errOut); got != cli.OK {
		t.Errorf("status %d: %s", got, errOut.String())
	}
	var shown []string
	for line := range strings.Lines(out.String()) {
		_, what, _ := strings.Cut(line, "  ")
		what, _, _ = strings.Cut(what, " (")
		shown = append(shown, what)
	}
	want := "g: a leads with token 1, h: b leads with token 7, h: b leads with token 7, h: c leads with token 8, g: no leader, g: c leads with token 2"
	if got := strings.Join(shown, ", "); got != want {
		t.Errorf("shown: %s\nwant:  %s", got, want)
	}
	gone := fmt.Sprintf("regent watch: the agent at %s has gone: trying again until it is back\n", socket)
	const back = "regent watch: the agent is back\n"
	if got := errOut.String(); got != gone+back+gone+back {
		t.Errorf("said %q", got)
	}
}

// What the agent refuses to begin with is refused at once.
func TestWatchDoesNotTryAgainAtTheBeginning(t *testing.T) {
	var out, errOut bytes.Buffer
	if got := run(t.Context(), []string{"watch", "--socket", serveStreams(t, "")}, strings.NewReader(""), &out, &errOut); got != cli.Failed {
		t.Errorf("status %d: %s", got, errOut.String())
	}
	if got := run(t.Context(), []string{"watch", "--socket", filepath.Join(t.TempDir(), "no.sock")}, strings.NewReader(""), &out, &errOut); got != cli.NoAgent {
		t.Errorf("status %d: %s", got, errOut.String())
	}
}

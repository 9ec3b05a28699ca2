package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// historyOfStreams is the history of an agent that streams: g was led by a, which was then asked to stop, and by b.
const historyOfStreams = `{"changes":[
	{"serial":1,"group":"g","mode":"quorum","leader":"a","token":1,"mine":true,"cause":{"why":"elected","member":"a"},"at":"2026-11-19T10:00:00Z"},
	{"serial":3,"group":"g","mode":"quorum","leader":"a","token":1,"mine":true,"stopping":true,"cause":{"why":"drained","member":"a"},"at":"2026-11-19T10:00:01Z"},
	{"serial":4,"group":"g","mode":"quorum","cause":{"why":"resigned","member":"a"},"at":"2026-11-19T10:00:02Z"},
	{"serial":5,"group":"g","mode":"quorum","leader":"b","token":2,"value":"b:80","cause":{"why":"elected","member":"b"},"at":"2026-11-19T10:00:03Z"},
	{"serial":6,"group":"h","mode":"quorum","cause":{"why":"no quorum"},"at":"2026-11-19T10:00:04Z"}],
	"council":[{"serial":2,"at":"2026-11-19T09:00:00Z","cause":"member c added"}]}`

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
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/history") {
			fmt.Fprint(w, historyOfStreams)
			return
		}
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
		group {"group":"h","leader":"b","token":7,"value":"b:80"}`, // another value: shown
		"", "", // gone, and back without a council
		`group {"group":"h","leader":"b","token":7,"value":"b:80"}`, // gone again before it has said all
		`group {"group":"g","leader":"a","token":1}
		group {"group":"h","leader":"c","token":8}
		synced {}
		group {"group":"g","leader":"","token":0,"cause":{"why":"lease expired","member":"a"}}
		group {"group":"g","leader":"c","token":2,"cause":{"why":"elected","member":"c"}}`)
	var out, errOut bytes.Buffer
	if got := run(t.Context(), []string{"watch", "--socket", socket, "--count", "5"}, strings.NewReader(""), &out, &errOut); got != cli.OK {
		t.Errorf("status %d: %s", got, errOut.String())
	}
	var shown []string
	for line := range strings.Lines(out.String()) {
		_, what, _ := strings.Cut(line, "  ")
		shown = append(shown, strings.TrimSuffix(what, "\n"))
	}
	want := "g: a leads (token 1), h: b leads (token 7), h: b leads (token 7) at b:80, h: no cause is known; c leads at once (token 8), " +
		"g: a did not renew its lease; c leads at once (token 2)"
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

// With --since, watch begins with the changes since then; with --json, one object is one change, and the first of a group is its last one. What is in the history and in the
// stream is shown once, also if the history is the newer one.
func TestWatchBeginsWithThePast(t *testing.T) {
	const stream = `group {"serial":4,"group":"g","mode":"quorum","leader":"","cause":{"why":"resigned","member":"a"},"at":"2026-11-19T10:00:02Z"}
		group {"serial":6,"group":"h","mode":"quorum","leader":"","cause":{"why":"no quorum"},"at":"2026-11-19T10:00:04Z"}
		synced {}
		group {"serial":5,"group":"g","mode":"quorum","leader":"b","token":2,"value":"b:80","cause":{"why":"elected","member":"b"},"at":"2026-11-19T10:00:03Z"}
		group {"serial":7,"group":"g","mode":"quorum","leader":"b","token":2,"value":"b:81","cause":{"why":"elected","member":"b"},"at":"2026-11-19T10:00:03Z"}
		group {"serial":8,"group":"g","mode":"quorum","leader":"","cause":{"why":"lease expired","member":"b"},"at":"2026-11-19T10:00:10Z"}
		group {"serial":9,"group":"g","mode":"quorum","leader":"c","token":3,"cause":{"why":"elected","member":"c"},"at":"2026-11-19T10:00:12Z"}
		council {"council":{"serial":10,"at":"2026-11-19T10:00:13Z"}}`
	for args, want := range map[string]string{
		"watch --json --count 5": "g from a to b at b:80: a was drained; b leads after 1 s|h from  to : too few members answered; no leader|g from b to b at b:81: b leads|" +
			"g from b to c: b did not renew its lease; c leads after 2 s|council",
		"watch ? --json --count 3 --since 2026-11-19T09:59:00Z": "g from  to a: a was elected|g from a to b at b:80: a was drained; b leads after 1 s|h from  to : too few members answered; no leader",
		"watch --json --count 5 --since 2026-11-19T10:00:01Z": "g from a to b at b:80: a was drained; b leads after 1 s|h from  to : too few members answered; no leader|g from b to b at b:81: b leads|" +
			"g from b to c: b did not renew its lease; c leads after 2 s|council",
		"watch g --count 4 --since 2026-11-19T10:00:00Z": "g: a was elected (token 1)|g: a was drained; b leads after 1 s (token 2) at b:80|g: b leads (token 2) at b:81|g: b did not renew its lease; c leads after 2 s (token 3)",
	} {
		var out, errOut bytes.Buffer
		if got := run(t.Context(), append(strings.Fields(args), "--socket", serveStreams(t, stream)), strings.NewReader(""), &out, &errOut); got != cli.OK {
			t.Errorf("%s: status %d: %s", args, got, errOut.String())
		}
		var shown []string
		for line := range strings.Lines(out.String()) {
			if !strings.Contains(args, "--json") {
				_, text, _ := strings.Cut(strings.TrimSpace(line), "  ")
				shown = append(shown, text)
				continue
			}
			var c struct {
				watchedChange
				Council *api.CouncilChange
			}
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%s from %s to %s", c.Group, c.From, c.To)
			switch {
			case c.Council != nil:
				text = "council"
			case c.Value != "":
				text += " at " + c.Value + ": " + c.Text
			default:
				text += ": " + c.Text
			}
			shown = append(shown, text)
		}
		if got := strings.Join(shown, "|"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", args, got, want)
		}
	}
}

// A group without a leader is reported once, after a while. A change that is over sooner is one line.
func TestWatchReportsAGroupWithoutALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		w := newWatchView(&out, nil, 0, false)
		w.show = w.line
		defer w.stop()
		say := func(leader string, token uint64, cause why.Kind, of string) {
			g := api.GroupInfo{Change: api.Change{View: view.View{Group: "g", Mode: view.Quorum, Leader: leader, Token: token, Cause: why.Cause{Why: cause, Member: of}, At: time.Now()}}}
			data, _ := json.Marshal(g)
			if more, err := w.take(event{"group", data}); !more || err != nil {
				t.Fatal(more, err)
			}
		}
		say("a", 1, why.Elected, "a")
		say("", 0, why.LeaseExpired, "a")
		time.Sleep(noLeaderFor / 2)
		say("b", 2, why.Elected, "b")
		time.Sleep(2 * noLeaderFor)
		say("", 0, why.Resigned, "b")
		time.Sleep(2 * noLeaderFor)
		say("", 0, why.NoQuorum, "")
		time.Sleep(2 * noLeaderFor)
		say("a", 3, why.Elected, "a")
		var lines []string
		for line := range strings.Lines(out.String()) {
			lines = append(lines, line[len("15:04:05  "):])
		}
		want := "g: a leads since 00:00:00 (token 1)\ng: a did not renew its lease; b leads after 500 ms (token 2)\n" +
			"g: b gave the group up; no leader\ng: b gave the group up; a leads after 4 s (token 3)\n"
		if got := strings.Join(lines, ""); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

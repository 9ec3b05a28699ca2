package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

// groupOf has a group of each mode, as modesConfig lists them.
var groupOf = map[regent.Mode]string{regent.Quorum: "jobs", regent.Local: "cache", regent.Eventual: "ops", regent.Consistent: "shards"}

const modesConfig = "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}, {name: shards, mode: consistent}]\nconsistent: true\n"

// calmModes has deadlines in groups that hosts lead, and in consistent ones, that programs in other languages meet on a busy host.
const calmModes = "profile: wan\n"

// A starter starts a program that leads a group when it can. leads gets the token of each leadership, 0 in groups without. stop asks the program to end, and returns
// when it has.
type starter func(t *testing.T, mode regent.Mode, leads chan<- uint64) (stop func())

// makesGroups is what members and clients have in common.
type makesGroups interface {
	Group(name string) (*regent.Group, error)
	LocalGroup(name string) (*regent.LocalGroup, error)
	ConsistentGroup(name string) (*regent.ConsistentGroup, error)
}

// goProgram leads by the library: at a member and at a client alike.
func goProgram(m makesGroups, eventual func(name string) (*regent.EventualGroup, error)) starter {
	return func(t *testing.T, mode regent.Mode, leads chan<- uint64) func() {
		ctx, cancel := context.WithCancel(t.Context())
		over, name := make(chan error, 1), groupOf[mode]
		lead := func(ctx context.Context, token uint64) error {
			leads <- token
			<-ctx.Done()
			return nil
		}
		go func() {
			switch mode {
			case regent.Quorum:
				over <- must(m.Group(name)).Lead(ctx, func(ctx context.Context, l *regent.Lease) error { return lead(ctx, l.Token()) })
			case regent.Local:
				over <- must(m.LocalGroup(name)).Lead(ctx, func(ctx context.Context, l *regent.LocalLease) error { return lead(ctx, 0) })
			case regent.Eventual:
				for v, err := range must(eventual(name)).Watch(ctx) {
					if err == nil && v.Mine {
						leads <- 0
						break
					}
				}
				over <- nil
			case regent.Consistent:
				over <- must(m.ConsistentGroup(name)).TakePart(ctx, func(ctx context.Context, l *regent.Membership) error { return lead(ctx, l.Token()) })
			}
		}()
		return func() {
			cancel()
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
	}
}

// httpProgram leads by a stream over HTTP.
func httpProgram(a *testAgent) starter {
	return func(t *testing.T, mode regent.Mode, leads chan<- uint64) func() {
		body := `{"mode":"` + string(mode) + `"}`
		if mode == regent.Quorum {
			body = `{}`
		}
		e := a.stream(t, "POST", "/v1/groups/"+groupOf[mode]+"/campaign", body)
		leading := e.await("leads", nil)
		token, _ := leading["token"].(float64)
		leads <- uint64(token)
		return func() {
			if status, answer := a.do(t, "POST", "/v1/sessions/"+text(leading["session"])+"/resign", ""); status != 200 {
				t.Errorf("resign: %d %v", status, answer)
			}
			e.await("over", nil)
			e.cancel()
		}
	}
}

// The examples in other languages.
var (
	inPython     = []string{"python3", "../examples/socket/lead.py"}
	inJavaScript = []string{"node", "../examples/socket/lead.mjs"}
)

// startExample starts an example in another language and passes its lines on.
func startExample(t *testing.T, a *testAgent, example []string, mode regent.Mode, line func(words []string)) (stop func()) {
	t.Helper()
	p := exec.CommandContext(t.Context(), example[0], example[1], a.socket, groupOf[mode], string(mode))
	p.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var problems bytes.Buffer
	p.Stderr = &problems
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: run 'make deps'", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	read, ended := make(chan struct{}), false
	go func() {
		defer close(read)
		for in := bufio.NewScanner(out); in.Scan(); {
			t.Logf("%s at %s: %s", example[1], a.name, in.Text())
			ended = in.Text() == "ended"
			line(strings.Fields(in.Text()))
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		<-read
		if err := p.Wait(); err != nil && !ended { // a signal may come when it has ended by itself
			t.Errorf("%s: %v\n%s", example[1], err, &problems)
		}
	}
}

// exampleProgram leads by the unix socket.
func exampleProgram(a *testAgent, example []string) starter {
	return func(t *testing.T, mode regent.Mode, leads chan<- uint64) func() {
		return startExample(t, a, example, mode, func(words []string) {
			if words[0] == "leads" {
				var token uint64
				_ = json.Unmarshal([]byte(words[3]), &token)
				leads <- token
			}
		})
	}
}

// A program of each kind leads a group of each mode, one after the other: by the library as a member, by the library through the agent, over HTTP, and in
// Python and JavaScript by the unix socket. While it does, every surface of the agent shows the group as its description says.
func TestProgramsOfAllKindsInAllModes(t *testing.T) {
	a := open(t, 1, modesConfig+calmModes).agents[0]
	m, err := regent.Join(patience(t), regent.Config{Name: "m", Council: []regent.Peer{{Name: "m", Addrs: []string{port(t)}}}, Dir: t.TempDir(), Bootstrap: true, Consistent: true, NoRealtime: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Leave(context.Background()) })
	c := a.dialled(t)
	for _, kind := range []struct {
		name  string
		start starter
		// through says that the program leads through the agent, and unattended that it cannot report a recovery.
		through, unattended bool
	}{
		{"Join", goProgram(m, func(name string) (*regent.EventualGroup, error) { return m.EventualGroup(name, "") }), false, false},
		{"Dial", goProgram(c, c.EventualGroup), true, false},
		{"HTTP", httpProgram(a), true, true},
		{"Python", exampleProgram(a, inPython), true, false},
		{"JavaScript", exampleProgram(a, inJavaScript), true, false},
	} {
		for _, mode := range allModes {
			if mode == regent.Consistent && kind.unattended {
				continue // refused: TestReportsOfRecoveriesThatNobodyAskedForAreRefused
			}
			t.Run(kind.name+"/"+string(mode), func(t *testing.T) {
				leads := make(chan uint64, 1)
				stop := kind.start(t, mode, leads)
				select {
				case token := <-leads:
					if has := mode == regent.Quorum || mode == regent.Consistent; has != (token != 0) {
						t.Errorf("a leader of a %s group has token %d", mode, token)
					}
				case <-patience(t).Done():
					t.Error("it does not lead")
				}
				if kind.through {
					shownEverywhere(t, a, mode, kind.name)
				}
				stop()
			})
		}
	}
	check := exec.CommandContext(patience(t), "promtool", "check", "metrics")
	_, _, page := a.raw(t, "GET", "/metrics", "")
	check.Stdin = bytes.NewReader(page)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// shownEverywhere looks at a group that a program of this host leads.
func shownEverywhere(t *testing.T, a *testAgent, mode regent.Mode, kind string) {
	t.Helper()
	group := groupOf[mode]
	cluster.Eventually(t, "HTTP shows the leader", func() bool { v := viewOf(t, a, group); return v["mode"] == string(mode) && v["leader"] == "a" })
	var doc object
	if err := json.Unmarshal(Description(), &doc); err != nil {
		t.Fatal(err)
	}
	described := func(what string, v any) {
		t.Helper()
		if err := conforms(doc, object{"$ref": "#/components/schemas/" + what}, v, what); err != nil {
			t.Error(err)
		}
	}
	described("GroupInfo", viewOf(t, a, group))
	e := a.stream(t, "GET", "/v1/groups/"+group+"/events", "")
	v := e.await("group", func(v map[string]any) bool { return v["leader"] == "a" })
	e.cancel()
	described("GroupInfo", v)
	if mode != regent.Eventual || kind != "Dial" { // the library has no campaign in eventual groups
		_, list := a.get(t, "/v1/sessions")
		described("SessionList", list)
		if n := len(list["sessions"].([]any)); n != 1 {
			t.Errorf("%d programs take part: %v", n, list)
		}
	}
	if got := a.metric(t, `regent_has_leader{group="`+group+`"}`); got != "1" {
		t.Errorf("regent_has_leader of %s is %q", group, got)
	}
	if got := a.metric(t, `regent_is_leader{group="`+group+`"}`); got != "1" {
		t.Errorf("regent_is_leader of %s is %q", group, got)
	}
}

// A program that is the fault manager recovers what another host has lost, and the council goes on. One of the two is in Python, the other in JavaScript.
func TestProgramsInOtherLanguagesRecover(t *testing.T) {
	t.Run("the first in Python", func(t *testing.T) { recovers(t, inPython, inJavaScript) })
	t.Run("the first in JavaScript", func(t *testing.T) { recovers(t, inJavaScript, inPython) })
}

func recovers(t *testing.T, examples ...[]string) {
	h := open(t, 3, modesConfig+calmModes)
	recovers, in := make(chan string, 8), make(chan struct{}, 64)
	for i, a := range h.agents[:2] {
		stop := startExample(t, a, examples[i], regent.Consistent, func(words []string) {
			switch words[0] {
			case "agreed":
				if len(words) == 4 {
					in <- struct{}{}
				}
			case "recovers":
				for _, name := range words[1:] {
					recovers <- name
				}
			}
		})
		defer stop()
	}
	l, err := h.agents[2].dial(t).Campaign(patience(t), session.Candidate{Group: "shards", Mode: regent.Consistent})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-in:
	case <-patience(t).Done():
		t.Fatal("the three hosts do not agree that they are members")
	}
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case name := <-recovers:
			if name == "c" {
				cluster.Eventually(t, "the recovery is over", func() bool {
					agreement, _ := viewOf(t, h.agents[0], "shards")["agreement"].(map[string]any)
					return agreement != nil && agreement["recover"] == nil && len(agreement["members"].([]any)) == 2
				})
				return
			}
		case <-patience(t).Done():
			t.Fatal("no program recovers what c has lost")
		}
	}
}

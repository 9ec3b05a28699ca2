package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/town"
)

const memberEnv = "REGENT_TEST_MEMBER"

func TestMain(m *testing.M) {
	if os.Getenv(memberEnv) != "" {
		os.Exit(town.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv(memberEnv, "1")
	os.Exit(m.Run())
}

// director gives commands when it has seen what they wait for in the output.
type director struct {
	bytes.Buffer
	in    *io.PipeWriter
	scene []scene
}

type scene struct{ sees, says string }

func (d *director) Write(b []byte) (int, error) {
	n, err := d.Buffer.Write(b)
	for len(d.scene) > 0 && strings.Contains(string(b), d.scene[0].sees) {
		says := d.scene[0].says
		d.scene = d.scene[1:]
		go func() { _, _ = io.WriteString(d.in, says+"\n") }()
	}
	return n, err
}

func TestDemonstrationByCommands(t *testing.T) {
	in, to := io.Pipe()
	d := &director{in: to, scene: []scene{
		{"leads with token", "crash leader"}, {"leads with token", "cut leader"}, {"leads with token", "frobnicate a"},
		{"no such command", "crash nobody"}, {"no such member", "quit"}}}
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Run(ctx, Options{Members: 3, Timing: regent.LAN, In: in, Out: d, Command: town.Self()}); err != nil {
		t.Fatal(err)
	}
	if len(d.scene) > 0 {
		t.Errorf("it ended before %q:\n%s", d.scene[0].sees, d.String())
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "regent-demo-*")); len(left) > 0 {
		t.Errorf("it left %v behind", left)
	}
}

func TestDemonstrationOfASetLengthWritesJSON(t *testing.T) {
	var out bytes.Buffer
	err := Run(t.Context(), Options{Members: 3, Timing: regent.LAN, For: 2 * time.Second, JSON: true, Out: &out, Command: town.Self()})
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for line := range strings.Lines(out.String()) {
		var e struct {
			T     *int64
			Event string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.T == nil || e.Event == "" {
			t.Fatalf("line %s: %v", line, err)
		}
		kinds[e.Event]++
	}
	if kinds["joined"] != 3 || kinds["leads"] == 0 || kinds["summary"] != 1 || kinds["said"] != 0 {
		t.Errorf("events: %v", kinds)
	}
}

func TestDemonstrationInWhichNobodyLeadsFails(t *testing.T) {
	err := Run(t.Context(), Options{Members: 3, Timing: regent.LAN, For: time.Millisecond, Out: io.Discard, Command: town.Self()})
	if err == nil || !strings.Contains(err.Error(), "nobody ever led") {
		t.Errorf("got %v", err)
	}
}

func TestKeysActOnTheChosenMember(t *testing.T) {
	k := newKeys(5)
	in := bufio.NewReader(strings.NewReader("c3p\x1b[Ax\x1b[B\x1b[Bzh9q"))
	var got []string
	for {
		c, err := k.next(in)
		if err != nil {
			break
		}
		if c.verb != "" {
			got = append(got, c.verb+" "+c.member)
		}
	}
	if want := "crash a,pause c,cut b,heal d,quit d"; strings.Join(got, ",") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestModelFollowsWhatMembersSay(t *testing.T) {
	m := newModel([]string{"a", "b"})
	at := time.Second
	m.take(&town.Event{Member: "a", What: town.Joined}, at)
	m.take(&town.Event{Member: "a", What: town.Leads, Token: 4}, at)
	if m.leader() != "a" {
		t.Errorf("leader is %q", m.leader())
	}
	m.take(&town.Event{Member: "a", What: town.Stops, Token: 4, Text: "must stop"}, at)
	m.take(&town.Event{Member: "b", What: town.Leads, Token: 5}, at)
	if m.leader() != "b" || m.leaderships != 2 {
		t.Errorf("leader is %q after %d", m.leader(), m.leaderships)
	}
	m.take(&town.Event{Member: "a", What: town.Held, Token: 4, Since: 10, Until: 20}, at)
	m.take(&town.Event{Member: "b", What: town.Held, Token: 5, Since: 20, Until: 40}, at)
	if m.both != 0 {
		t.Errorf("leaderships one after the other count as %v at once", m.both)
	}
	m.take(&town.Event{Member: "a", What: town.Held, Token: 6, Since: 35, Until: 50}, at)
	if m.both != 5 {
		t.Errorf("leaderships that overlap by 5 count as %d", m.both)
	}
	m.take(&town.Event{Member: "b", What: town.Gone}, at)
	if m.leader() != "" {
		t.Errorf("leader is %q after it is gone", m.leader())
	}
}

func TestTableFitsTheScreen(t *testing.T) {
	w, err := town.New(town.Options{Names: []string{"a", "b", "c"}, Timing: regent.LAN})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(w.Names)
	m.take(&town.Event{Member: "b", What: town.Joined}, 0)
	m.take(&town.Event{Member: "b", What: town.Leads, Token: 4}, 0)
	m.take(&town.Event{Member: "b", What: town.Saw, View: &regent.View{Leader: "b", Token: 4}}, 0)
	m.take(&town.Event{Member: "b", What: town.Said, Remaining: 150 * time.Millisecond, Status: &regent.Status{}}, 0)
	wide := m.table(w, time.Second, 0)
	if !strings.Contains(strings.Join(wide, "\n"), "███████··· 150ms") {
		t.Errorf("the lease is not shown:\n%s", strings.Join(wide, "\n"))
	}
	for _, l := range m.table(w, time.Second, 40) {
		if len([]rune(l)) > 40 {
			t.Errorf("%q is too long", l)
		}
	}
}

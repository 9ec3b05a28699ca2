package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/roster"
	"github.com/regentproject/regent/why"
)

func TestMain(m *testing.M) {
	cluster.Main()
	os.Exit(m.Run())
}

// director gives commands when it has seen what they wait for in the output.
type director struct {
	bytes.Buffer
	in *io.PipeWriter
	// first is all that must have been written before the first scene, in any order.
	first []string
	scene []scene
}

type scene struct{ sees, says string }

func (d *director) Write(b []byte) (int, error) {
	n, err := d.Buffer.Write(b)
	for len(d.first) > 0 && strings.Contains(d.String(), d.first[0]) {
		d.first = d.first[1:]
		if len(d.first) == 0 {
			b = []byte(d.scene[0].sees)
		}
	}
	for len(d.first) == 0 && len(d.scene) > 0 && strings.Contains(string(b), d.scene[0].sees) {
		says := d.scene[0].says
		d.scene = d.scene[1:]
		go func() { _, _ = io.WriteString(d.in, says+"\n") }()
	}
	return n, err
}

func TestDemonstrationByCommands(t *testing.T) {
	in, to := io.Pipe()
	// One that has not taken part yet when another dies would have to wait for that one.
	d := &director{in: to, first: []string{"a takes part", "b takes part", "c takes part", "was elected (billing)"}, scene: []scene{
		{"everybody takes part", "crash leader"}, {" leads after ", "cut leader"}, {" leads after ", "frobnicate a"},
		{"no such command", "crash nobody"}, {"no such member", "quit"}}}
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Run(ctx, Options{Members: 3, Timing: regent.LAN, In: in, Out: d, Command: cluster.Child()}); err != nil {
		t.Fatal(err)
	}
	if len(d.scene) > 0 {
		t.Errorf("it ended before %q:\n%s", d.scene[0].sees, d.String())
	}
	if !strings.HasSuffix(d.String(), " leaderships, two at once: 0 s\n") {
		t.Errorf("no summary at the end:\n%s", d.String())
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "regent-demo-*")); len(left) > 0 {
		t.Errorf("it left %v behind", left)
	}
}

// Members come and go by commands, also while another one is dead. The members themselves agree on that.
func TestDemonstrationAddsAndRemovesMembers(t *testing.T) {
	in, to := io.Pipe()
	d := &director{in: to, scene: []scene{
		{"was elected", "add"}, {"council: member d added, number ", "crash c"}, {"c is gone", "add f"}, {"council: member f added, number ", "remove c"},
		{"council: member c removed, number ", "add d"}, {"add d: is there already", "add c"}, {"council: member c added, number ", "remove leader"}, {"removed, number ", "cancel"}, {"no change is running", "quit"}}}
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// The leases must be longer than the pauses of a busy host.
	timing := regent.LAN
	timing.Lease, timing.RoundTrip, timing.Renew = time.Second, 100*time.Millisecond, 200*time.Millisecond
	if err := Run(ctx, Options{Members: 3, Timing: timing, In: in, Out: d, Command: cluster.Child()}); err != nil {
		t.Fatal(err)
	}
	if len(d.scene) > 0 {
		t.Errorf("it ended before %q:\n%s", d.scene[0].sees, d.String())
	}
	t.Log(d.String())
}

func TestDemonstrationOfASetLengthWritesJSON(t *testing.T) {
	var out bytes.Buffer
	err := Run(t.Context(), Options{Members: 3, Timing: regent.LAN, For: 2 * time.Second, JSON: true, Out: &out, Command: cluster.Child()})
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for line := range strings.Lines(out.String()) {
		var e struct {
			T     *int64 `json:"t_ns"`
			Event string
		}
		if unit := regexp.MustCompile(`"(t|at|heard|since|until|took|remaining|both)":\d`).FindString(line); unit != "" {
			t.Errorf("a time without a unit: %s in %s", unit, line)
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
	err := Run(t.Context(), Options{Members: 3, Timing: regent.LAN, For: time.Millisecond, Out: io.Discard, Command: cluster.Child()})
	if err == nil || !strings.Contains(err.Error(), "nobody ever led") {
		t.Errorf("got %v", err)
	}
}

func TestKeysActOnTheChosenMember(t *testing.T) {
	m := newModel([]string{"a", "b", "c", "d", "e"}, Groups...)
	var got []string
	for _, key := range strings.Fields("c 3 p up x down down y h d 9 q + - z") {
		c, _ := keyCommand(key)
		c.choose(m)
		if c.verb != "" {
			got = append(got, c.verb+" "+c.member)
		}
	}
	if want := "crash a,pause c,cut b,heal d,slow d,quit d,add ,remove d,cancel "; strings.Join(got, ",") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// plain takes readings of the clock for time since the beginning.
func plain(at cluster.Time) time.Duration { return time.Duration(at) }

func TestModelFollowsWhatMembersSay(t *testing.T) {
	m := newModel([]string{"a", "b"}, cluster.Group{Name: "g", Mode: regent.Quorum})
	say := func(e cluster.Event) { m.apply(&e, plain) }
	say(cluster.Event{Member: "a", What: cluster.Joined})
	say(cluster.Event{Member: "a", What: cluster.Leads, Group: "g", Token: 4, At: 10})
	if m.leader() != "a" {
		t.Errorf("leader is %q", m.leader())
	}
	// The new leader is heard of before the old one says that it stopped.
	say(cluster.Event{Member: "b", What: cluster.Leads, Group: "g", Token: 5, At: 25})
	if m.leader() != "b" || m.leaderships != 2 {
		t.Errorf("leader is %q after %d", m.leader(), m.leaderships)
	}
	if shown := m.elections[0].standing(25, nil); len(shown) != 1 || shown[0].member != "b" {
		t.Errorf("%d leaders are shown", len(shown))
	}
	say(cluster.Event{Member: "a", What: cluster.Held, Group: "g", Token: 4, Since: 10, Until: 20, At: 26})
	say(cluster.Event{Member: "a", What: cluster.Stops, Group: "g", Token: 4, Text: "must stop", At: 27})
	say(cluster.Event{Member: "b", What: cluster.Held, Group: "g", Token: 5, Since: 25, Until: 40, At: 41})
	if m.overlap != 0 {
		t.Errorf("leaderships one after the other count as %v at once", m.overlap)
	}
	say(cluster.Event{Member: "a", What: cluster.Leads, Group: "g", Token: 6, At: 35})
	say(cluster.Event{Member: "a", What: cluster.Held, Group: "g", Token: 6, Since: 35, Until: 50, At: 51})
	if m.overlap != 5 {
		t.Errorf("leaderships that overlap by 5 count as %d", m.overlap)
	}
	say(cluster.Event{Member: "b", What: cluster.Leads, Group: "g", Token: 7, At: 60})
	say(cluster.Event{Member: "b", What: cluster.Gone, At: 70})
	if m.leader() != "" {
		t.Errorf("leader is %q after it is gone", m.leader())
	}
}

// A leader that is cut off is asked to stop because its lease ends, stops, and gives the group up. What people are told is
// why it had to.
func TestTheCauseIsWhyAProgramWasAskedToStop(t *testing.T) {
	m := newModel([]string{"b"}, cluster.Group{Name: "g", Mode: regent.Quorum})
	saw := func(v regent.View) string {
		v.Group = "g"
		return m.apply(&cluster.Event{Member: "b", What: cluster.Saw, Group: "g", View: &v}, plain)
	}
	leads := func(token uint64) {
		m.apply(&cluster.Event{Member: "b", What: cluster.Leads, Group: "g", Token: token}, plain)
		saw(regent.View{Leader: "b", Token: token, Mine: true})
	}
	lost := regent.Cause{Why: why.LeaseExpired, Member: "b"}
	leads(1)
	saw(regent.View{Leader: "b", Token: 1, Mine: true, Stopping: true, Cause: lost})
	if news := saw(regent.View{Cause: regent.Cause{Why: why.Resigned, Member: "b"}}); !strings.Contains(news, "b did not renew its lease; no leader") {
		t.Errorf("the news are %q", news)
	}
	if cause := m.elections[0].cause; cause != "lease expired b" {
		t.Errorf("the cause is %q", cause)
	}
	// One that resigns of its own will has resigned.
	leads(2)
	if news := saw(regent.View{Cause: regent.Cause{Why: why.Resigned, Member: "b"}}); !strings.Contains(news, "b gave the group up; no leader") {
		t.Errorf("the news are %q", news)
	}
}

func TestAManagerThatHasNothingToRecoverSaysSo(t *testing.T) {
	m := newModel([]string{"a"}, cluster.Group{Name: "shards", Mode: regent.Consistent})
	for text, want := range map[string]string{"": "a is the fault manager, and found nothing to recover", "b c": "a recovered what b c left behind"} {
		if news := m.apply(&cluster.Event{Member: "a", What: cluster.Recovered, Group: "shards", Text: text}, plain); !strings.Contains(news, want) {
			t.Errorf("with %q lost the news are %q", text, news)
		}
	}
}

func TestTheLeaderCannotBeBrokenWhileThereIsNone(t *testing.T) {
	m := newModel([]string{"a"}, Groups...)
	c := parse("crash leader")
	if _, err := c.run(&demonstration{cluster: &cluster.Cluster{}, model: m}); err == nil || !strings.Contains(err.Error(), "crash leader: nobody leads billing now") {
		t.Errorf("got %v", err)
	}
}

func TestLocalLeadersStandBesideAQuorumGroupAndAreNotItsLeader(t *testing.T) {
	m := newModel([]string{"a", "b"}, cluster.Group{Name: "g", Mode: regent.Quorum, Beside: true})
	m.apply(&cluster.Event{Member: "a", What: cluster.Leads, Group: "g", Local: true, Support: []string{"a", "b"}, At: 10}, plain)
	if m.leader() != "" {
		t.Errorf("%s leads", m.leader())
	}
	m.apply(&cluster.Event{Member: "b", What: cluster.Leads, Group: "g", Token: 9, At: 20}, plain)
	g := m.elections[0]
	shown := g.show(30, m)
	if len(shown.Leaders) != 2 || !shown.Leaders[0].Local || shown.Leaders[1].Local || m.leader() != "b" {
		t.Errorf("leaders are %+v", shown.Leaders)
	}
	if s := g.leads(30, m); s != "a leads locally, for a b; b leads with token 9" {
		t.Errorf("the table says %q", s)
	}
	if m.overlap != 0 {
		t.Errorf("a local leader counts as a second one: %v", m.overlap)
	}
}

func TestTableFitsTheScreen(t *testing.T) {
	w, err := cluster.New(cluster.Options{Names: []string{"a", "b", "c"}, Timing: regent.LAN})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(w.Names, Groups...)
	const g = "billing"
	for _, e := range []cluster.Event{{What: cluster.Joined}, {What: cluster.Leads, Group: g, Token: 4},
		{What: cluster.Saw, Group: g, View: &regent.View{Leader: "b", Token: 4}},
		{What: cluster.Said, Status: &regent.Status{}, Standings: []cluster.Standing{{Group: g, Mode: regent.Quorum, Token: 4, Remaining: 150 * time.Millisecond}}}} {
		e.Member = "b"
		m.apply(&e, plain)
	}
	m.members["b"].council = &roster.Council{Number: 3, Settled: true, Phase: roster.Learning, WaitsFor: []string{"d"}, Members: []roster.Member{{Peer: roster.Peer{Name: "a"}}, {Peer: roster.Peer{Name: "b"}}},
		Goal: []roster.Peer{{Name: "a"}, {Name: "b"}, {Name: "d"}}}
	m.follow(0)
	wide := m.table(w, 0, "http://127.0.0.1:1/", 0, 0)
	if text := strings.Join(wide, "\n"); !strings.Contains(text, "███████··· 150ms") || !strings.Contains(text, "http://127.0.0.1:1/") {
		t.Errorf("the lease or the address is not shown:\n%s", text)
	}
	if text := strings.Join(wide, "\n"); !strings.Contains(text, "council number 3 to 4: adding d; learning; waits for d") || !strings.Contains(text, "c       removed") {
		t.Errorf("the council is not shown, or c, which is none of its members:\n%s", text)
	}
	for _, l := range m.table(w, time.Second, "http://127.0.0.1:1/", 40, 24) {
		if len([]rune(l)) > 40 {
			t.Errorf("%q is too long", l)
		}
	}
}

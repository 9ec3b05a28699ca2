package tenure

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

var update = flag.Bool("update", false, "write the table into docs/tenure.md")

// The documentation shows the table between these lines.
const (
	page  = "../../docs/tenure.md"
	first = "<!-- table: go test ./internal/tenure -update -->\n"
	last  = "<!-- end of table -->\n"
)

func list[T fmt.Stringer](all []T) string {
	var names []string
	for _, v := range all {
		names = append(names, v.String())
	}
	return strings.Join(names, ", ")
}

func render() string {
	var b strings.Builder
	b.WriteString("| event |")
	for s := range State(states) {
		fmt.Fprintf(&b, " %v |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", states) + "\n")
	for k := range Kind(kinds) {
		fmt.Fprintf(&b, "| `%v` |", k)
		for s := range State(states) {
			cell := " " + actions[table[s][k]].name + " |"
			if table[s][k] == none {
				cell = " · |"
			}
			b.WriteString(cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| action | what it does | leads to | may ask for |\n|---|---|---|---|\n")
	for _, a := range actions[1:] {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", a.name, a.text, list(a.next), list(a.effects))
	}
	b.WriteString("\n| state | when | what happens | leads to |\n|---|---|---|---|\n")
	for _, e := range expiries {
		fmt.Fprintf(&b, "| %v | %s | %s | %s |\n", e.state, e.when, e.text, list(e.next))
	}
	return b.String()
}

func TestTheDocumentationShowsTheTable(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), first)
	shown, after, ok2 := strings.Cut(rest, last)
	if !ok || !ok2 {
		t.Fatalf("%s does not have the lines %q and %q", page, first, last)
	}
	if shown == render() {
		return
	}
	if !*update {
		t.Fatalf("%s does not show the table (run: go test ./internal/tenure -update)", page)
	}
	if err := os.WriteFile(page, []byte(before+first+render()+last+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A cell that is left out would be none: the table names every pair.
func TestEveryActionIsUsed(t *testing.T) {
	used := make([]bool, len(actions))
	for s := range State(states) {
		for k := range Kind(kinds) {
			used[table[s][k]] = true
		}
	}
	for i, ok := range used {
		if !ok {
			t.Errorf("no pair leads to %s", actions[i].name)
		}
	}
}

// A walk drives a machine by random events, and checks every Step against the table.
type walk struct {
	t    *testing.T
	rng  *rand.Rand
	m    *Machine
	now  protocol.Time
	said string // what has happened, for failures
	// released and ended count effects, killed says that Kill was asked for, deadline is the last that was announced.
	released, ended int
	deadline        protocol.Time
	// seen is the highest end that a reader of a shown deadline may have seen, without the margin.
	seen    protocol.Time
	visited *[states][kinds]int
}

func (w *walk) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s%+v", fmt.Sprintf(format, args...), w.said, *w.m)
}

func randomConfig(rng *rand.Rand) Config {
	flip := func() bool { return rng.IntN(2) == 0 }
	c := Config{Self: 1, Lower: Lower(rng.IntN(lowers)), Guard: 20, Grace: time.Duration(rng.IntN(4)) * 50,
		HookWithin: 60, Answer: 40, KillWithin: 15, Margin: time.Duration(rng.IntN(3))}
	if flip() {
		c.Heartbeat = 80
	}
	c.Owed = c.Lower == Function && flip()
	c.Shown = flip()
	if c.kills() {
		c.Hooks, c.Notes = flip(), c.Lower == Party
		c.Backup = c.Lower == Tree && flip()
	}
	return c
}

func (c Config) kills() bool { return c.Lower == Tree || c.Lower == Party }

func (w *walk) event() Event {
	kind := Kind(w.rng.IntN(kinds))
	if kind == Fixed && w.m.fixing {
		return Event{Kind: Fixed, Until: w.seen.Add(w.m.config.Margin)}
	}
	switch {
	case w.m.state == Waiting && w.rng.IntN(2) == 0:
		kind = Elected
	case w.rng.IntN(2) == 0: // let it live for a while
		kind = []Kind{Extended, Pulse, Tick, Stop, TreeGone}[w.rng.IntN(5)]
	}
	codes := []protocol.CauseCode{protocol.Resigned, protocol.NoQuorum, protocol.Closed, protocol.LeaseExpired, protocol.Transferred}
	return Event{Kind: kind, Token: 7, At: w.now, Until: w.now.Add(time.Duration(w.rng.IntN(200))), To: 2,
		Cause: protocol.Cause{Code: codes[w.rng.IntN(len(codes))], Peer: protocol.Rank(w.rng.IntN(3))}}
}

// step does what Step does, and looks at the parts.
func (w *walk) step(ev Event) {
	m, twin := w.m, *w.m
	start, want := w.m.state, twin.Step(w.now, ev, nil)
	m.out = nil
	if looks(ev.Kind) {
		m.expire(w.now)
	}
	from, before := m.state, len(m.out)
	a := &actions[table[from][ev.Kind]]
	w.visited[from][ev.Kind]++
	a.do(m, w.now, ev)
	w.said += fmt.Sprintf("%v %v × %v: %v → %v %v\n", w.now, from, ev.Kind, a.name, m.state, m.out)
	if m.state != from && !slices.Contains(a.next, m.state) {
		w.fail("%s leads from %v to %v, which the table does not name", a.name, from, m.state)
	}
	for _, e := range m.out[before:] {
		if e.Kind != Log && !slices.Contains(a.effects, e.Kind) {
			w.fail("%s asks for %v, which the table does not name", a.name, e.Kind)
		}
	}
	if !slices.Equal(m.out, want) {
		w.fail("Step returns %v, its parts %v", want, m.out)
	}
	w.judge(start, m.out)
	if m.Wake() <= w.now && looks(ev.Kind) {
		w.fail("wants to be woken at %v, now", m.Wake())
	}
	w.read(looks(ev.Kind) && start != Stopped, m.out)
}

// judge checks what must hold after every Step, whatever came.
func (w *walk) judge(from State, out []Effect) {
	m := w.m
	for _, e := range out {
		switch e.Kind {
		case Release:
			if from == Over {
				continue // it came too late
			}
			w.released++
			if m.proof != gone {
				w.fail("released under what may still act")
			}
			if m.stage == clearing {
				w.fail("released while the lost hooks run")
			}
		case Announce:
			if e.Until <= w.deadline {
				w.fail("the deadline moved from %v to %v", w.deadline, e.Until)
			}
			w.deadline = e.Until
		case End:
			w.ended++ // and again when the record is corrected
		case Exec:
			if w.now >= m.announced.Add(-m.config.Guard) {
				w.fail("the program starts within its guard time")
			}
		}
	}
	switch {
	case w.released > 1:
		w.fail("released %d times", w.released)
	case m.held && m.state == Over, m.state == Over != (w.ended > 0):
		w.fail("held or not ended in Over")
	case m.goesOn && m.state != Stopped, m.handing && m.state != Stopped, m.passed && m.state != Stopping && m.state != Over && m.state != Stopped:
		w.fail("a flag is set in a state that has no use for it")
	case (m.state == Leading || m.state == Asked) && m.proof != mayAct, m.state == Stopping && !m.frozen:
		w.fail("the proof or the frozen deadline does not fit the state")
	case m.state == Leading && (m.frozen || m.cause.Code != protocol.Unexplained && m.proof == gone):
		w.fail("leads with a frozen deadline")
	}
}

// read checks what readers of a shown deadline may have seen, and lets it rise until the driver has fixed it. passed says that
// deadlines were looked at, and that the lower side had not stopped before.
func (w *walk) read(passed bool, out []Effect) {
	m := w.m
	for _, e := range out {
		if e.Kind == Announce {
			w.seen = max(w.seen, e.Until)
		}
		if passed && m.config.Lower == Program && (e.Kind == Release || e.Kind == HandOver) && w.now < w.seen {
			w.fail("a deadline counts as passed, and a reader may have seen %v", w.seen)
		}
	}
	if m.config.Shown && (!m.frozen || m.fixing) && m.announced >= 0 && w.rng.IntN(3) == 0 {
		w.seen = max(w.seen, w.now.Add(time.Duration(w.rng.IntN(200))))
	}
	if m.fixing && w.rng.IntN(2) == 0 {
		w.step(Event{Kind: Fixed, Until: w.seen.Add(m.config.Margin)})
	}
	if !m.fixing && m.frozen && m.announced < w.seen {
		w.fail("%v is announced, and a reader may have seen %v", m.announced, w.seen)
	}
}

func TestRandomEventsLeadWhereTheTableSays(t *testing.T) {
	var visited [states][kinds]int
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 17))
		w := &walk{t: t, rng: rng, now: 1000, visited: &visited, said: fmt.Sprintf("seed %d\n", seed)}
		w.m = New(w.now, randomConfig(rng))
		w.said += fmt.Sprintf("%+v\n", w.m.config)
		for range 25 {
			w.step(w.event())
			if w.m.Wake() <= w.now && rng.IntN(2) == 0 {
				w.step(Event{Kind: Tick})
			}
			w.now = w.now.Add(time.Duration(rng.IntN(40)))
		}
	}
	for s := range State(states) {
		for k := range Kind(kinds) {
			if visited[s][k] == 0 {
				t.Errorf("%v × %v was never reached", s, k)
			}
		}
	}
}

func TestARenewalAllocatesNothing(t *testing.T) {
	m := New(0, Config{Lower: Party, Guard: 20, Grace: 50, Hooks: true, Notes: true, Heartbeat: 1 << 40})
	out := m.Step(0, Event{Kind: Elected, Token: 1, Until: 1000}, make([]Effect, 0, 16))
	now, until := protocol.Time(0), protocol.Time(1000)
	if n := testing.AllocsPerRun(1000, func() {
		now, until = now+10, until+10
		out = m.Step(now, Event{Kind: Extended, Until: until}, out[:0])
		if len(out) != 1 || out[0].Until != until {
			t.Fatalf("announced %v", out)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTheWinnerDoesNotDependOnTheOrder(t *testing.T) {
	var all []protocol.Cause
	for code := range protocol.TooMany + 2 {
		for _, peer := range []protocol.Rank{0, 3} {
			for _, bound := range []time.Duration{0, time.Second} {
				all = append(all, protocol.Cause{Code: code, Peer: peer, Bound: bound})
			}
		}
	}
	for _, a := range all {
		for _, b := range all {
			if Winner(a, b) != Winner(b, a) {
				t.Fatalf("%v and %v: the order decides", a, b)
			}
			for _, c := range all {
				if Winner(Winner(a, b), c) != Winner(a, Winner(b, c)) {
					t.Fatalf("%v, %v and %v: the order decides", a, b, c)
				}
			}
		}
	}
	if place(protocol.TooMany) == len(weight) {
		t.Error("the last cause has no weight")
	}
}

func TestTheDocumentationListsTheCausesByWeight(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range weight[:len(weight)-1] {
		names = append(names, c.String())
	}
	if text := strings.Join(strings.Fields(string(raw)), " "); !strings.Contains(text, strings.Join(names, ", ")+".") {
		t.Errorf("%s does not list: %s", page, strings.Join(names, ", "))
	}
}

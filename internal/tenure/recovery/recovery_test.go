package recovery

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol/rain"
)

var update = flag.Bool("update", false, "write the table into docs/recovery.md")

// The documentation shows the table between these lines.
const (
	page  = "../../../docs/recovery.md"
	first = "<!-- table: go test ./internal/tenure/recovery -update -->\n"
	last  = "<!-- end of table -->\n"
)

func render() string {
	var b strings.Builder
	b.WriteString("| event |")
	for s := range State(states) {
		fmt.Fprintf(&b, " %v |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", states) + "\n")
	for c := range class(classes) {
		fmt.Fprintf(&b, "| %s |", classNames[c])
		for s := range State(states) {
			switch e := table[s][c]; {
			case e == none:
				b.WriteString(" · |")
			case e.sets == keeps:
				fmt.Fprintf(&b, " *%v* |", e.verdict)
			case e.verdict == Nothing:
				fmt.Fprintf(&b, " %v |", State(e.sets))
			default:
				fmt.Fprintf(&b, " *%v*, %v |", e.verdict, State(e.sets))
			}
		}
		b.WriteString("\n")
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
		t.Fatalf("%s does not show the table (run: go test ./internal/tenure/recovery -update)", page)
	}
	if err := os.WriteFile(page, []byte(before+first+render()+last+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A walk remembers all that has happened, and judges by that alone.
type walk struct {
	present  rain.Number
	recovers map[rain.Number]bool // agreements that ask
	// asked are the agreements that the program was asked for, with the readers that asked and have not ended; counted those whose report counted.
	asked   map[rain.Number]map[uint64]bool
	counted map[rain.Number]bool
	over    bool
}

// wants returns the verdict of an event.
func (w *walk) wants(ev Event) Verdict {
	switch ev.Kind {
	case Agree:
		if !w.over && ev.Number.Compare(w.present) >= 0 {
			w.present = ev.Number
			w.recovers[ev.Number] = w.recovers[ev.Number] || ev.Recover
		}
	case Show:
		if !w.over && ev.Number == w.present && w.recovers[ev.Number] && !w.counted[ev.Number] && len(w.asked[ev.Number]) == 0 {
			w.asked[ev.Number] = map[uint64]bool{ev.Reader: true}
			return Ask
		}
	case Close:
		for _, readers := range w.asked {
			delete(readers, ev.Reader)
		}
	case Report:
		_, asked := w.asked[ev.Number]
		switch order := ev.Number.Compare(w.present); {
		case w.over:
			return Late
		case order < 0:
			return Stale
		case order > 0 || !asked:
			return Unasked
		case w.counted[ev.Number]:
			return Repeated
		}
		w.counted[ev.Number] = true
		return Counts
	case Leave:
		w.over = true
	}
	return Nothing
}

func TestEveryVerdictFollowsFromWhatHasHappened(t *testing.T) {
	var visited [states][classes]int
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var m Machine
		w := walk{recovers: map[rain.Number]bool{}, asked: map[rain.Number]map[uint64]bool{}, counted: map[rain.Number]bool{}}
		said := ""
		for range 60 {
			ev := Event{Kind: Kind(r.IntN(int(Leave))), Number: w.present, Recover: r.IntN(2) == 0, Reader: uint64(1 + r.IntN(3))}
			switch r.IntN(4) {
			case 0:
				ev.Number = rain.Number{Token: w.present.Token + uint64(r.IntN(2)), Vid: uint64(r.IntN(4))}
			case 1:
				ev.Number.Vid++
			}
			if r.IntN(80) == 0 {
				ev.Kind = Leave
			}
			visited[m.state][m.classify(ev)]++
			said += fmt.Sprintf("%v: %+v\n", m.State(), ev)
			if got, want := m.Step(ev), w.wants(ev); got != want {
				t.Fatalf("seed %d: %v, want %v, after\n%s", seed, got, want, said)
			}
		}
	}
	for s := range State(states) {
		for c := range class(classes) {
			if visited[s][c] == 0 && !(s == Idle && c == closeAsker) {
				t.Errorf("%v was never reached in %v", classNames[c], s)
			}
		}
	}
}

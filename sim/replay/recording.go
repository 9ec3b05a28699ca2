// Package replay plays a run that the simulator recorded (docs/trace.md) on the dashboard: forwards and backwards, at any
// speed, or line by line. It knows the trace and nothing else of a run; package ledger adds up who leads.
//
//	recording.go  reading a trace; the state after any of its lines
//	record.go     what lines say
//	words.go      the same in words, one entry for each fact
//	story.go      the whole run in words
//	world.go      what the lines so far say about members and links
//	groups.go     and about who leads
//	council.go    and about a council that changes
//	state.go      the same as the page shows it
//	player.go     the source that plays it
//
// Going backwards is going forwards to an earlier line from the nearest state that was kept.
package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim"
)

// A Recording is a recorded run.
type Recording struct {
	records []sim.Record
	lines   []string
	marks   []web.Mark
	// about says what the run is about, and result what came of it; empty if nobody has said.
	about, result string
	// kept are worlds after every stride records.
	kept   []*world
	stride int
}

const (
	// longest is the longest line that is read.
	longest = 1 << 20
	// minStride and maxKept bound how many worlds are kept: a seek is quick, and a long run fits into memory.
	minStride = 256
	maxKept   = 200
	// maxMarks bounds the list of instants to go to.
	maxMarks = 300
)

// Read reads a trace. An empty one, or one with a line that is not a record, is refused.
func Read(r io.Reader) (*Recording, error) {
	t := &Recording{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, longest)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		rec, err := sim.ParseRecord(in.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d is not a line of a trace: %w", len(t.lines)+1, err)
		}
		if rec.Ev == "" {
			return nil, fmt.Errorf("line %d has no \"ev\": this is not a trace as --trace writes it", len(t.lines)+1)
		}
		if n := len(t.records); n > 0 && rec.T < t.records[n-1].T {
			return nil, fmt.Errorf("line %d is from %v, before the line above it: the trace is not whole", n+1, time.Duration(rec.T))
		}
		t.records = append(t.records, rec)
		t.lines = append(t.lines, in.Text())
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(t.records) == 0 {
		return nil, errors.New("the trace is empty: write one with regent-sim run FILE --trace FILE, or regent-sim fuzz ... --seed N --trace FILE")
	}
	t.index()
	return t, nil
}

// index goes through the run once, and keeps what makes seeking quick.
func (t *Recording) index() {
	t.stride = max(minStride, len(t.records)/maxKept)
	t.kept, t.marks = nil, nil
	w := t.begin()
	numbers := make(map[uint64]int) // marks by the numbers of their entries
	for i := range t.records {
		if i%t.stride == 0 {
			t.kept = append(t.kept, w.clone())
		}
		noted := w.entries
		t.apply(w, i)
		for _, e := range w.since(noted) {
			n, again := numbers[w.replaced]
			switch {
			case e.Tone == "":
			case again:
				t.marks[n].Text, numbers[e.ID] = e.Text, n
			case len(t.marks) < maxMarks:
				numbers[e.ID] = len(t.marks)
				t.marks = append(t.marks, web.Mark{Step: i + 1, At: e.At, Text: e.Text})
			}
		}
	}
}

// begin returns what is known before the first line.
func (t *Recording) begin() *world {
	w := newWorld(t.records)
	if t.about != "" {
		w.note(&sim.Record{}, "", t.about, "you")
	}
	return w
}

// apply notes a line, and at the end what came of the run.
func (t *Recording) apply(w *world, i int) {
	w.replaced = 0
	w.apply(&t.records[i])
	if i == len(t.records)-1 {
		w.replaced = 0
		w.note(&t.records[i], "", t.outcome(w), "you")
	}
}

// Explain says what the run is about, and what came of it.
func (t *Recording) Explain(about, result string) {
	t.about, t.result = about, result
	t.index()
}

// Steps returns how many lines there are.
func (t *Recording) Steps() int { return len(t.records) }

// End returns the time of the last line.
func (t *Recording) End() time.Duration { return time.Duration(t.records[len(t.records)-1].T) }

// At returns the time of the last of so many lines.
func (t *Recording) At(step int) time.Duration {
	if step <= 0 {
		return 0
	}
	return time.Duration(t.records[min(step, len(t.records))-1].T)
}

// StepAt returns how many lines there are up to an instant.
func (t *Recording) StepAt(at time.Duration) int {
	return sort.Search(len(t.records), func(i int) bool { return time.Duration(t.records[i].T) > at })
}

// Line returns the last of so many lines.
func (t *Recording) Line(step int) string {
	if step <= 0 {
		return ""
	}
	return t.lines[step-1]
}

// world returns what is known after so many lines.
func (t *Recording) world(step int) *world {
	k := min(step/t.stride, len(t.kept)-1)
	w := t.kept[k].clone()
	for i := k * t.stride; i < step; i++ {
		t.apply(w, i)
	}
	return w
}

// State returns what the page shows after so many lines.
func (t *Recording) State(step int) *web.State {
	step = min(max(0, step), t.Steps())
	return t.world(step).state(t.At(step))
}

// Marks returns the instants that are worth going to.
func (t *Recording) Marks() []web.Mark { return slices.Clone(t.marks) }

// Package recovery decides, as a pure machine, when the program of a fault manager is asked to recover, and which of its reports count.
//
// A consistent group (package rain) agrees on who failed, and asks its manager to recover what was lost. One [Machine] stands between the
// group and the program for one membership of one program:
//
//   - The program is asked once for each agreement, by the first reader that shows it. Another reader asks again only if that one has ended
//     before a report came: the program may not have taken the request.
//   - A report counts once, for the present agreement only, and only if the program was asked. A program cannot have recovered what
//     it has not seen.
//   - An older agreement changes nothing. Nothing counts once the membership is over: if the manager has not reported by then, the group agrees on
//     another one, and the later agreement asks that.
//
// Members drive it on their loop, programs that dial an agent drive it for their own readers, and the simulator drives it below programs that
// report late, twice, and what they were never asked for (sim/suite). docs/recovery.md shows the table.
package recovery

import "github.com/regentproject/regent/internal/protocol/rain"

// State is how far the recovery has come that the present agreement asks for.
type State uint8

// The states.
const (
	Idle   State = iota // nothing is to be recovered
	Due                 // no reader has shown the agreement to the program yet
	Asked               // the program was asked, by a reader that goes on
	Unread              // the program was asked, and that reader has ended
	Done                // the program has reported
	Over                // the membership is over
	states = iota
)

var stateNames = [states]string{"Idle", "Due", "Asked", "Unread", "Done", "Over"}

func (s State) String() string { return stateNames[s] }

// Kind is the kind of an event.
type Kind uint8

// The events.
const (
	Agree  Kind = iota // the members have agreed on Number; Recover says that this member is to recover what was lost
	Show               // Reader is about to show the agreement Number to the program
	Close              // Reader has ended
	Report             // the program reports that it has recovered what Number asks for
	Leave              // the membership is over
)

// An Event is one thing that happens to a membership. Fields that its kind does not name are ignored.
type Event struct {
	Kind    Kind
	Number  rain.Number
	Recover bool
	Reader  uint64
}

// Verdict is what an event leads to.
type Verdict uint8

// The verdicts: the first two of Show, the others of Report.
const (
	Nothing  Verdict = iota // the program is asked for nothing
	Ask                     // the program is asked to recover what was lost
	Counts                  // the report counts: the driver passes it on
	Repeated                // it has counted before
	Unasked                 // the program was not asked for it
	Stale                   // there is a later agreement
	Late                    // the membership is over
	verdicts = iota
)

var verdictNames = [verdicts]string{"Nothing", "Ask", "Counts", "Repeated", "Unasked", "Stale", "Late"}

func (v Verdict) String() string { return verdictNames[v] }

// A Machine is what one program has to recover during one membership. The zero value knows of no agreement.
type Machine struct {
	state State
	// present is the latest agreement.
	// Invariant: it never goes back.
	present rain.Number
	// asker is the reader that asked.
	asker uint64
}

// State returns how far the recovery has come.
func (m *Machine) State() State { return m.state }

// Step takes one event and returns what it leads to.
func (m *Machine) Step(ev Event) Verdict {
	a := table[m.state][m.classify(ev)]
	switch a.sets {
	case keeps:
	case toAsked:
		m.state, m.asker = Asked, ev.Reader
	default:
		m.state = State(a.sets)
	}
	if ev.Kind == Agree && ev.Number.Compare(m.present) > 0 {
		m.present = ev.Number
	}
	return a.verdict
}

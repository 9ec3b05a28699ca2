// Package rule decides what a lock answers to an elector of client-go: when it campaigns, when it lets the elector go on, when it refuses, and when
// it gives the group up.
//
// It is pure: an event goes in, an action comes out. [Rules] is the whole of it; its test goes through every row.
//
// An elector and its program are two things, and the lock learns of them separately. An elector may report that it has stopped before its program
// learns of that, so nothing that the elector reports says that the program has stopped. The group is given up once both have.
package rule

// A State is how far a leadership of an elector has come.
type State uint8

// The states.
const (
	// Idle: the elector does not lead, and no program of an earlier leadership is known to run.
	Idle State = iota
	// Campaigning: a call of the elector waits until the group is led from here.
	Campaigning
	// Leading: the elector leads, its program may run.
	Leading
	// Finished: the elector leads, its program has stopped.
	Finished
	// Lost: the leadership is over or must end, the elector does not know it yet, its program may run.
	Lost
	// Spent: the leadership is over or must end, the elector has not reported that it has stopped, its program has stopped.
	Spent
	// Stopping: the elector has reported that it has stopped, its program may run.
	Stopping

	states
)

// String returns the name of the state.
func (s State) String() string {
	return [states]string{"idle", "campaigning", "leading", "finished", "lost", "spent", "stopping"}[s]
}

// An Event is what happens to a lock.
type Event uint8

// The events.
const (
	// Asked: the elector asks to lead, or to go on leading. It uses the same calls for both.
	Asked Event = iota
	// Unreported: the elector asks in the very try in which it saw a leader for the first time. It reports a leader when a try has ended.
	Unreported
	// Released: the elector gives the group up, before it tells its program to stop.
	Released
	// Won and Failed end a campaign.
	Won
	Failed
	// MustStop: the program must stop; the lease may run on.
	MustStop
	// Over: the lease is over.
	Over
	// Reported: the elector reports that it has stopped.
	Reported
	// Stopped: the program has stopped.
	Stopped
	// Unwatched: the function of the program has returned while it may lead; what it has started may run on.
	Unwatched

	events
)

// String returns the name of the event.
func (e Event) String() string {
	return [events]string{"asked", "asked, with a leader to report", "released", "won", "failed", "must stop", "over", "reported", "stopped", "unwatched"}[e]
}

// An Action is what the lock does.
type Action uint8

// The actions.
const (
	Nothing  Action = iota
	Campaign        // wait until the group is led from here
	Grant           // the elector may go on
	Refuse          // it may not
	Resign          // give the group up
)

// String returns the name of the action.
func (a Action) String() string {
	return [...]string{"nothing", "campaign", "grant", "refuse", "resign"}[a]
}

// A Row is what follows from an event in a state.
type Row struct {
	Next State
	Do   Action
}

// Rules returns what follows from every event in every state. Only Over in Stopping depends on more: see [Machine.Step].
func Rules() [states][events]Row {
	return [states][events]Row{
		Idle: {Asked: {Campaigning, Campaign}, Unreported: {Idle, Refuse}, Released: {Idle, Grant}, Won: {Idle, Resign}, Failed: {Idle, Nothing}, MustStop: {Idle, Nothing},
			Over: {Idle, Nothing}, Reported: {Idle, Nothing}, Stopped: {Idle, Nothing}, Unwatched: {Idle, Nothing}},
		// Another call during a campaign is of a second elector.
		Campaigning: {Asked: {Campaigning, Refuse}, Unreported: {Campaigning, Refuse}, Released: {Campaigning, Refuse}, Won: {Leading, Grant}, Failed: {Idle, Refuse}, MustStop: {Campaigning, Nothing},
			Over: {Campaigning, Nothing}, Reported: {Campaigning, Nothing}, Stopped: {Campaigning, Nothing}, Unwatched: {Campaigning, Nothing}},
		// A release comes before the elector ends the context of the program.
		Leading: {Asked: {Leading, Grant}, Unreported: {Leading, Grant}, Released: {Leading, Refuse}, Won: {Leading, Resign}, Failed: {Leading, Nothing}, MustStop: {Lost, Nothing},
			Over: {Lost, Nothing}, Reported: {Stopping, Nothing}, Stopped: {Finished, Nothing}, Unwatched: {Leading, Nothing}},
		Finished: {Asked: {Finished, Grant}, Unreported: {Finished, Grant}, Released: {Spent, Resign}, Won: {Finished, Resign}, Failed: {Finished, Nothing}, MustStop: {Spent, Nothing},
			Over: {Spent, Nothing}, Reported: {Idle, Resign}, Stopped: {Finished, Nothing}, Unwatched: {Finished, Nothing}},
		// An elector that led again from here, under another token, would never tell its program that it had not led in between.
		Lost: {Asked: {Lost, Refuse}, Unreported: {Lost, Refuse}, Released: {Lost, Refuse}, Won: {Lost, Resign}, Failed: {Lost, Nothing}, MustStop: {Lost, Nothing},
			Over: {Lost, Nothing}, Reported: {Stopping, Nothing}, Stopped: {Spent, Nothing}, Unwatched: {Lost, Nothing}},
		// The elector may believe that it leads until it has reported: the group is not given up before.
		Spent: {Asked: {Spent, Refuse}, Unreported: {Spent, Refuse}, Released: {Spent, Resign}, Won: {Spent, Resign}, Failed: {Spent, Nothing}, MustStop: {Spent, Nothing},
			Over: {Spent, Nothing}, Reported: {Idle, Resign}, Stopped: {Spent, Nothing}, Unwatched: {Spent, Nothing}},
		Stopping: {Asked: {Stopping, Refuse}, Unreported: {Stopping, Refuse}, Released: {Stopping, Refuse}, Won: {Stopping, Resign}, Failed: {Stopping, Nothing}, MustStop: {Stopping, Nothing},
			Over: {Stopping, Nothing}, Reported: {Stopping, Nothing}, Stopped: {Idle, Resign}, Unwatched: {Stopping, Nothing}},
	}
}

// A Machine is one lock. The zero Machine is idle, and nothing reports when its programs stop.
type Machine struct {
	state State
	// watched says that Stopped will be reported of the program of this leadership. Without that, an elector that has stopped and a lease that is
	// over are all that can be known.
	watched bool
}

// State returns the state.
func (m *Machine) State() State { return m.state }

// Watch says of a leadership that was just won whether Stopped will be reported.
func (m *Machine) Watch(reported bool) { m.watched = reported }

// Step returns what the lock does because of the event.
func (m *Machine) Step(e Event) Action {
	row := Rules()[m.state][e]
	if e == Unwatched {
		m.watched = false
	}
	if m.state == Stopping && e == Over && !m.watched {
		row = Row{Idle, Nothing}
	}
	m.state = row.Next
	return row.Do
}

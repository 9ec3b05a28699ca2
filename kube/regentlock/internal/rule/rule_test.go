package rule

import "testing"

// Every pair of a state and an event has its row, written down a second time and in another order: by what must hold.
func TestEveryRow(t *testing.T) {
	rules := Rules()
	type invariant struct {
		name  string
		holds func(s State, e Event, r Row) bool
	}
	mayRun := func(s State) bool { return s == Leading || s == Lost || s == Stopping }
	leads := func(s State) bool { return s == Leading || s == Finished }
	awaits := func(s State) bool { return leads(s) || s == Lost || s == Spent } // the elector has yet to report that it has stopped
	for _, i := range []invariant{
		{"only an idle lock campaigns", func(s State, e Event, r Row) bool { return (r.Do == Campaign) == (s == Idle && e == Asked) }},
		{"a campaign is under way from Campaign to Won or Failed", func(s State, e Event, r Row) bool {
			return (r.Next == Campaigning) == (r.Do == Campaign || s == Campaigning && e != Won && e != Failed)
		}},
		{"an elector goes on exactly while it leads", func(s State, e Event, r Row) bool { return e != Asked || (r.Do == Grant) == leads(s) }},
		{"an elector with a leader to report does not wait for another", func(s State, e Event, r Row) bool {
			return e != Unreported || r == rules[s][Asked] || s == Idle && r == (Row{Idle, Refuse})
		}},
		{"leaving what may lead again needs the report", func(s State, e Event, r Row) bool {
			return !awaits(s) || awaits(r.Next) || e == Reported
		}},
		{"a report ends every leadership", func(s State, e Event, r Row) bool { return e != Reported || !awaits(s) || !awaits(r.Next) }},
		{"no leadership begins but by winning", func(s State, e Event, r Row) bool { return leads(s) || !leads(r.Next) || s == Campaigning && e == Won }},
		{"what is lost is not found again", func(s State, e Event, r Row) bool { return s != Lost && s != Spent || !leads(r.Next) }},
		{"nothing is given up under a program that may run", func(s State, e Event, r Row) bool {
			return r.Do != Resign || !mayRun(s) || e == Stopped || e == Won // what is won beside a campaign is another lease
		}},
		{"a program that may run does so until it has stopped", func(s State, e Event, r Row) bool { return !mayRun(s) || mayRun(r.Next) || e == Stopped }},
		{"what may run or has run was won", func(s State, e Event, r Row) bool { return mayRun(s) || !mayRun(r.Next) || e == Won }},
		{"no lease is left behind", func(s State, e Event, r Row) bool {
			return s == Idle || s == Campaigning || r.Next != Idle || r.Do == Resign
		}},
		{"nothing is given up while the elector may believe that it leads", func(s State, e Event, r Row) bool {
			return r.Do != Resign || !awaits(s) || e == Reported || e == Released || e == Won
		}},
		{"a loss is noticed", func(s State, e Event, r Row) bool { return e != MustStop && e != Over || !leads(r.Next) }},
		{"a release succeeds when nothing runs", func(s State, e Event, r Row) bool {
			return e != Released || (r.Do != Refuse) == (s == Idle || s == Finished || s == Spent)
		}},
		{"the report that a program has stopped is not lost", func(s State, e Event, r Row) bool { return e != Stopped || !mayRun(r.Next) }},
		{"a function that returned early changes nothing", func(s State, e Event, r Row) bool { return e != Unwatched || r == (Row{s, Nothing}) }},
		{"a lease that no campaign has won is given back", func(s State, e Event, r Row) bool { return e != Won || s == Campaigning || r == (Row{s, Resign}) }},
		{"a failed campaign leaves an idle lock", func(s State, e Event, r Row) bool {
			return e != Failed || s == Campaigning && r == (Row{Idle, Refuse}) || s != Campaigning && r == (Row{s, Nothing})
		}},
	} {
		for s := range states {
			for e := range events {
				if r := rules[s][e]; !i.holds(s, e, r) {
					t.Errorf("%s: %v, %v: %v, %v", i.name, s, e, r.Next, r.Do)
				}
			}
		}
	}
}

// What the machine does beside its table.
func TestAProgramThatNobodyWatchesIsForgottenWithItsLease(t *testing.T) {
	for _, c := range []struct {
		name    string
		watched bool
		events  []Event
		want    State
	}{
		{"watched", true, []Event{Asked, Won, Over, Reported, Over}, Stopping},
		{"watched, and it stops", true, []Event{Asked, Won, Over, Reported, Over, Stopped}, Idle},
		{"not watched", false, []Event{Asked, Won, Over, Reported, Over}, Idle},
		{"not watched, and the lease runs", false, []Event{Asked, Won, MustStop, Reported, MustStop}, Stopping},
		{"not watched any more", true, []Event{Asked, Won, Unwatched, Over, Reported, Over}, Idle},
		{"not watched any more, the elector has not reported", true, []Event{Asked, Won, Unwatched, Over, Over, Asked}, Lost},
	} {
		var m Machine
		for _, e := range c.events {
			m.Step(e)
			if e == Won {
				m.Watch(c.watched)
			}
		}
		if m.State() != c.want {
			t.Errorf("%s: %v, want %v", c.name, m.State(), c.want)
		}
	}
}

// Names are for messages: each state, event and action has one of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	note := func(name string) {
		if name == "" || seen[name] {
			t.Errorf("%q is missing or taken", name)
		}
		seen[name] = true
	}
	for s := range states {
		note(s.String())
	}
	for e := range events {
		note(e.String())
	}
	for a := Nothing; a <= Resign; a++ {
		note(a.String())
	}
}

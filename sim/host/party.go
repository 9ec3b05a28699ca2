package host

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// role is what a party is on its host.
type role uint8

const (
	agentRole  role = iota // an agent's machine for a candidate
	runnerRole             // regent run
	keeperRole             // the process beside it
	clientRole             // a program that dialled the agent
	memberRole             // a program that is a member itself
	roles      = iota
)

func (r role) String() string {
	return [roles]string{"agent", "runner", "keeper", "client", "member"}[r]
}

// A reference is how a party finds a tree.
type reference struct {
	tenure.Ref
	mark, cgroup uint64
	// kept says that the party holds a pidfd of the first process, orphan that the runner may have begun another tree since.
	kept, orphan bool
	life         *life // for the checkers
}

// A note is what an agent has written down of a tree.
type note struct {
	ref    *reference
	half   bool
	runner *process
}

// A candidacy holds the parties that take part in one candidacy of a host.
type candidacy struct {
	h    *host
	life *life
	top  *party
	// The parties below the agent: runner and keeper, or a client.
	runner, keeper, client *party
	shape                  shape
	slot                   *slot // where those below read their deadline; nil: in messages
	// hungUp says that the connection between the agent and the one below was closed.
	hungUp bool
	// room is where the program has its turn, in a group that hosts lead; nil: it leads itself.
	room *room
}

// A party drives one machine in one process. It decides nothing.
type party struct {
	h         *host
	p         *process
	role      role
	candidacy *candidacy
	m         *tenure.Machine
	conf      tenure.Config
	// lag is how far its clock is behind that of the agent.
	lag time.Duration
	ref *reference
	// above and beside have what has come, in order; tasks what the party itself has begun.
	fromAbove, beside []tenure.Event
	tasks, threads    []func()
	lastAbove, last   protocol.Time // when the last of them arrives: connections keep the order
	ticks             bool
	armed             protocol.Time
	suspends          int
	// search is the number of the last search; a result of an earlier one is dropped. verdict is what its last walk proved.
	search  int
	verdict tenure.Kind
	// early says that the search began while something was being forked.
	early bool
	// reported says that the end was reported upwards, for the cause said.
	reported, over bool
	said           protocol.Cause
	forgot         bool
	// forks counts forks that are under way; hooksOver says that elected hooks do not begin any more.
	forks     int
	hooksOver bool
	// strays says that an event comes that no driver gives.
	strays bool
	hook   *process
	acts   function
	line   *note
}

// A function is a leading function of a program: of a client, or of a member.
type function struct {
	runs, deaf bool
	life       *life
}

func (h *host) party(p *process, r role, s *candidacy, c tenure.Config, ref *reference) *party {
	c.Self = h.rank
	a := &party{h: h, p: p, role: r, candidacy: s, conf: c, ref: ref, suspends: h.suspends, armed: protocol.Never}
	if r == clientRole || r == runnerRole || r == keeperRole {
		a.lag = h.w.Between(0, marginTime)
	}
	a.m = tenure.New(a.now(), c)
	p.party = append(p.party, a)
	a.arm()
	return a
}

// now reads the clock of the party.
func (a *party) now() protocol.Time { return a.h.w.now.Add(-a.lag) }

// above and side have an event arrive. Events of one side keep their order.
func (a *party) above(ev tenure.Event, d time.Duration) {
	w := a.h.w
	a.lastAbove = max(a.lastAbove, w.now.Add(d))
	w.at(a.lastAbove, func() { a.fromAbove = append(a.fromAbove, ev); a.poke() })
}

func (a *party) side(ev tenure.Event, d time.Duration) {
	w := a.h.w
	a.last = max(a.last, w.now.Add(d))
	w.at(a.last, func() { a.beside = append(a.beside, ev); a.poke() })
}

// latency is how long a message within a host takes.
func (w *World) latency() time.Duration {
	if w.one(16) {
		return w.between(2, 25)
	}
	return w.Between(50*time.Microsecond, 2*ms)
}

// poke has the party run soon, if it is scheduled. One that is not is poked again when it is.
func (a *party) poke() {
	if a.h.runs(a.p) {
		a.h.w.after(a.h.w.Between(0, ms/2), a.run)
	}
}

// arm sets the timer. Timers do not count the time for which the host is suspended.
func (a *party) arm() {
	wake := a.m.Wake()
	if wake == a.armed || wake == protocol.Never {
		return
	}
	a.armed = wake
	left, slept := wake.Sub(a.now()), a.h.slept()
	a.h.w.after(left, func() { a.ring(wake, slept) })
}

func (a *party) ring(wake protocol.Time, slept time.Duration) {
	if a.armed != wake {
		return
	}
	if missed := a.h.slept() - slept; missed > 0 || a.h.suspended {
		a.h.w.after(max(missed, ms), func() { a.ring(wake, a.h.slept()) })
		return
	}
	a.armed, a.ticks = protocol.Never, true
	a.poke()
}

// run gives the machine all that waits: what comes from above first, a tick last.
func (a *party) run() {
	if !a.h.runs(a.p) {
		return
	}
	if a.h.w.one(2) {
		a.runThreads()
	}
	a.resumed()
	for len(a.fromAbove) > 0 || len(a.beside) > 0 {
		from := &a.fromAbove
		if len(a.fromAbove) == 0 {
			from = &a.beside
		}
		ev := (*from)[0]
		*from = (*from)[1:]
		a.step(ev)
	}
	if a.ticks {
		a.ticks = false
		a.step(tenure.Event{Kind: tenure.Tick})
	}
	a.runThreads()
	tasks := a.tasks
	a.tasks = nil
	for _, f := range tasks {
		f()
	}
	a.arm()
}

// resumed gives a suspend that is over, after reports of ends that came before.
func (a *party) resumed() {
	if a.suspends == a.h.suspends {
		return
	}
	a.suspends = a.h.suspends
	for len(a.beside) > 0 && (a.beside[0].Kind == tenure.ProgramStopped || a.beside[0].Kind == tenure.LostDone) {
		ev := a.beside[0]
		a.beside = a.beside[1:]
		a.step(ev)
	}
	a.step(tenure.Event{Kind: tenure.Suspended})
	a.ticks = a.ticks || a.m.State() == tenure.Waiting // a resume ticks at once
}

// runThreads goes on with other threads of the party, which keep no order with the one that drives the machine.
func (a *party) runThreads() {
	threads := a.threads
	a.threads = nil
	for _, f := range threads {
		f()
	}
}

// look has the machine look at its deadline, after renewals that wait.
func (a *party) look() {
	a.resumed()
	for len(a.fromAbove) > 0 {
		ev := a.fromAbove[0]
		a.fromAbove = a.fromAbove[1:]
		a.step(ev)
	}
	a.step(tenure.Event{Kind: tenure.Tick})
}

// task has the party do something after a while, as soon as it is scheduled then.
func (a *party) task(d time.Duration, f func()) {
	a.h.w.after(d, func() { a.tasks = append(a.tasks, f); a.poke() })
}

// step steps the machine and carries out the effects.
func (a *party) step(ev tenure.Event) {
	a.take(ev)
	w, before := a.h.w, a.m.State()
	if a.ref != nil && ev.Kind == tenure.Extended && a.h.find(a.ref.First) != nil {
		a.ref.Seen = a.h.born
	}
	if !a.strays {
		w.cover.step(before, ev.Kind)
	}
	if ev.Kind == tenure.Pulse {
		ev.At = a.now() // the sign is dated by who reads it
	}
	out := a.m.Step(a.now(), ev, nil)
	if w.tracing && ev.Kind != tenure.Extended && ev.Kind != tenure.Pulse && (ev.Kind != tenure.Tick || len(out) > 0) {
		w.note("%v %v: %v × %v (%v) → %v (%v): %s", a.h.rank, a.role, before, ev.Kind, ev.Cause.Code, a.m.State(), a.m.Cause().Code, kindsOf(out))
	}
	w.check.stepped(a, before, ev)
	if len(w.armed) > 0 {
		w.entered(a, before)
	}
	for _, e := range out {
		a.do(e)
	}
}

func (a *party) do(e tenure.Effect) {
	a.doSlot(e)
	switch a.role {
	case agentRole, memberRole:
		a.doTop(e)
	case runnerRole, keeperRole:
		a.doTree(e)
	case clientRole:
		a.doClient(e)
	}
	switch e.Kind {
	case tenure.Kill:
		a.beginSearch()
	case tenure.Forget:
		a.search++
		a.forgot = true
	}
}

// doCouncil carries out what the party below the council asks of it.
func (a *party) doCouncil(e tenure.Effect) {
	c, s := &a.h.w.council, a.candidacy
	switch e.Kind {
	case tenure.Release:
		c.release(s.life)
	case tenure.HandOver:
		c.transfer(s.life, e.To)
	case tenure.Lapse:
		if c.life == s.life {
			c.lapses = true
		}
	}
}

// doTop carries out what the party below the council asks for.
func (a *party) doTop(e tenure.Effect) {
	w, s := a.h.w, a.candidacy
	switch {
	case s.room == nil:
		a.doCouncil(e)
	case e.Kind == tenure.HandOver:
		a.above(tenure.Event{Kind: tenure.Refused}, 0) // no program is the leader
	case e.Kind == tenure.End:
		s.room.over(s)
	}
	switch e.Kind {
	case tenure.Note:
		a.ref.life = s.life
		written := *a.ref
		a.line = &note{ref: &written, runner: s.runner.p}
		a.h.notes = append(a.h.notes, a.line)
	case tenure.Forget:
		a.h.notes = slices.DeleteFunc(a.h.notes, func(n *note) bool { return n == a.line })
		if a.ref != nil && a.h.find(a.ref.Runner) == nil {
			a.h.remove(a.ref.cgroup)
		}
	}
	if a.role == memberRole {
		a.doFunction(e)
		return
	}
	if s == nil || s.client == nil && s.runner == nil {
		return // of an earlier life of the agent
	}
	below, keeper := s.client, s.keeper
	if below == nil {
		below = s.runner
	}
	switch e.Kind {
	case tenure.Announce:
		ev := tenure.Event{Kind: tenure.Extended, Until: e.Until}
		if e.Token != 0 {
			ev.Kind, ev.Token, ev.At = tenure.Elected, e.Token, e.At
			if a.ref != nil {
				s.runner.ref.life, s.keeper.ref.life, a.ref.life = s.life, s.life, s.life
			}
		}
		w.check.announced(a, e.Token)
		s.life.deadline = max(s.life.deadline, e.Until)
		if e.Token == 0 && s.slot != nil {
			return // those below see it
		}
		if !s.hungUp {
			below.above(ev, w.latency())
		}
		if keeper != nil {
			keeper.above(ev, w.latency())
		}
	}
	if e.Kind == tenure.End && keeper != nil && s.runner.p.dead {
		keeper.above(tenure.Event{Kind: tenure.UpperGone}, w.latency())
	}
	if s.hungUp {
		return
	}
	switch e.Kind {
	case tenure.Ask:
		below.above(tenure.Event{Kind: tenure.Stop, Cause: e.Cause}, w.latency())
	case tenure.End:
		below.above(tenure.Event{Kind: tenure.Lost, Cause: e.Cause}, w.latency())
	case tenure.GoOn:
		below.above(tenure.Event{Kind: tenure.Refused}, w.latency())
	}
}

// doClient carries out what the side of a program asks for that dialled.
func (a *party) doClient(e tenure.Effect) {
	switch e.Kind {
	case tenure.Release:
		a.up(tenure.Event{Kind: tenure.ProgramStopped, Cause: e.Cause})
		a.reported = true
	case tenure.HandOver:
		a.up(tenure.Event{Kind: tenure.Yield, To: e.To})
	case tenure.End:
		a.ended(e)
	}
	a.doFunction(e)
}

// doFunction runs and stops a leading function.
func (a *party) doFunction(e tenure.Effect) {
	f, w := &a.acts, a.h.w
	switch e.Kind {
	case tenure.Announce:
		if e.Token != 0 {
			*f = function{runs: true, deaf: a.candidacy.shape.deaf, life: a.candidacy.life}
			a.ends(w.between(100, 2000), w.one(3))
		}
		a.candidacy.life.deadline = max(a.candidacy.life.deadline, e.Until)
	case tenure.GoOn:
		f.runs = true
		a.ends(w.between(100, 2000), false)
	case tenure.Ask:
		if !f.deaf {
			a.ends(w.between(1, 120), false)
		}
	}
}

// ends has the function return after a while, by itself or in favour of another host.
func (a *party) ends(d time.Duration, yields bool) {
	w := a.h.w
	a.task(d, func() {
		if !a.acts.runs {
			return
		}
		a.acts.runs = false
		ev := tenure.Event{Kind: tenure.ProgramStopped}
		if yields {
			ev = tenure.Event{Kind: tenure.Yield, To: protocol.Rank(w.N(len(w.hosts)))}
		}
		a.side(ev, 0)
	})
}

// kindsOf lists effects for the trace.
func kindsOf(out []tenure.Effect) (text string) {
	for _, e := range out {
		text += " " + e.Kind.String()
	}
	return text
}

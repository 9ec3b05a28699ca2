// Package sim runs machines on simulated time, with simulated clocks, links, disks and programs, and with faults in all
// of them. A run is a function of its configuration and its schedule: the same seed gives the same trace.
//
// A [World] drives its machines as internal/protocol demands of every driver: views first, then horizons, records,
// messages, the wake. It is the ground truth beside them: it knows the real time ([Real]), what each clock shows at
// each instant ([Clock]), which links are cut, and who is up. Checkers ([Observer], package check) are fed with the
// facts that the machines state and with that truth.
//
//	real.go     instants, odds, distributions   dice.go     randomness
//	clock.go    clocks                          link.go     links
//	member.go   the driver                      disk.go     records and what waits for them
//	port.go     between machine and link        program.go  the programs that lead
//	fault.go    schedules                       record.go   the trace
//	keys.go     keys and their changes          snapshot.go machines that are restored
//	guardian.go reports of who died
package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
)

// Config is a world before anything goes wrong in it. Lengths that are zero take the defaults of New.
type Config struct {
	Members int
	Seed    uint64
	Spawn   Spawn
	// Link is how links behave; Links overrides it, by sender and receiver.
	Link  Link
	Links func(from, to protocol.Rank) Link
	// Loopback is how long a message to oneself takes.
	Loopback Delay
	// Clocks by rank; a member beyond its end has an exact clock that begins at zero.
	Clocks []ClockSpec
	// Timer is how late a timer fires, Disk how long a record takes to be on disk.
	Timer, Disk Delay
	// Stagger is when members start.
	Stagger Delay
	// Voters have a vote and Leaders may lead, where that is not everybody: for checkers. Machines know by themselves.
	Voters, Leaders protocol.Set
	// Down lists members that do not start by themselves.
	Down protocol.Set
	// Spurious is how often a Tick comes twice.
	Spurious Odds
	// Bound is where bounds on delays come from in a world without ports, Port what makes the ports of one with them.
	Bound Bound
	Port  NewPort
	// Program is how leading programs behave; every member campaigns for each of Groups when it starts.
	Program ProgramSpec
	Groups  []protocol.Group
	// Intercept, if not nil, sees each message before its link does. If it returns true it has taken the message off its link,
	// to lose it, or to give it to Deliver later.
	Intercept func(Intercepted) bool
	// Change, if not nil, makes the command that a fault of that kind stands for.
	Change func(*Fault) protocol.Event
	// Guardian is how guardians behave; zero: there are none.
	Guardian GuardianSpec
	// Late is the delay beyond which a message counts as late in the statistics.
	Late time.Duration
	// Messages makes records of all that happens to messages; Words words the causes of views in full.
	Messages, Words bool
	// Remember says which messages make their receiver recognise an older record of their sender, and within what time it
	// will have said so.
	Remember Remember
	// OnNotice gets messages that were lost, late or duplicated. Probes of a port, and packets lost at a member that
	// is down or asleep, have no message.
	OnNotice func(n Notice, from protocol.Ident, to protocol.Rank, m protocol.Message)
}

// Stats counts what happened in a run.
type Stats struct {
	Events, Steps, Ticks, Records                    uint64
	Sent, Delivered, Lost, Late, Duplicated, Refused uint64
}

// A World is one simulated council. It is not safe for concurrent use; worlds do not share anything.
type World struct {
	config    Config
	now       Real
	queue     Queue[event]
	members   []*member
	links     []link
	dice      Dice
	observers []Observer
	active    []active
	shields   []shield
	rolling   Real // until when members are restarted one after another
	faults    uint64
	stats     Stats
	line      Record
	incoming  protocol.Receive
	executor  drive.Executor
	inside    protocol.Message // while a port sends packets: the message that they are about
	err       error
}

// New returns a world in which no time has passed. Its members start when it runs.
func New(c Config) (*World, error) {
	if c.Members < 1 || c.Members > protocol.MaxMembers {
		return nil, fmt.Errorf("sim: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	}
	if c.Spawn == nil {
		return nil, fmt.Errorf("sim: no Spawn: say how a machine is made")
	}
	defaults(&c)
	w := &World{config: c, dice: newDice(c.Seed, 0)}
	n := c.Members
	w.links = make([]link, n*n)
	for i := range n {
		w.members = append(w.members, w.newMember(protocol.Rank(i)))
		for j := range n {
			w.links[i*n+j] = w.newLink(protocol.Rank(i), protocol.Rank(j))
		}
	}
	for _, m := range w.members {
		if !c.Down.Has(m.rank) {
			w.At(Real(m.dice.Draw(c.Stagger)), func() { w.start(m) })
		}
	}
	return w, nil
}

// defaults fills in what is left out.
func defaults(c *Config) {
	if c.Link.Delay == (Delay{}) {
		c.Link.Delay = Between(time.Millisecond, 5*time.Millisecond)
	}
	if c.Loopback == (Delay{}) {
		c.Loopback = Between(time.Microsecond, 20*time.Microsecond)
	}
	if c.Disk == (Delay{}) {
		c.Disk = Delay{Min: 300 * time.Microsecond, Max: 2 * time.Millisecond, Tail: Percent(1), TailStep: 5 * time.Millisecond}
	}
	if c.Late == 0 {
		c.Late = c.Link.Delay.Max
	}
}

func (w *World) newMember(r protocol.Rank) *member {
	spec := w.clockSpec(r)
	m := &member{
		rank:       r,
		clock:      NewClock(spec),
		rate:       spec.Rate,
		dice:       newDice(w.config.Seed, 1+uint64(r)),
		heard:      make([]protocol.Inc, w.config.Members),
		keys:       firstKeys(w.config.Members),
		recognises: make([]uint32, w.config.Members),
		timer:      Forever,
		due:        Forever,
	}
	m.host = host{w, m}
	return m
}

func (w *World) clockSpec(r protocol.Rank) ClockSpec {
	if int(r) < len(w.config.Clocks) {
		return w.config.Clocks[r]
	}
	return ClockSpec{}
}

func (w *World) newLink(a, b protocol.Rank) link {
	l := link{spec: w.config.Link, dice: newDice(w.config.Seed, 1<<32|uint64(a)<<16|uint64(b))}
	switch {
	case a == b:
		l.spec = Link{Delay: w.config.Loopback}
	case w.config.Links != nil:
		l.spec = w.config.Links(a, b)
	}
	l.sum()
	return l
}

// Run lets time pass until the given instant, and all that happens up to and including it. It returns the first error of
// an observer, or a breach of the contract by a machine; the world stands still after that.
func (w *World) Run(until Real) error {
	for w.err == nil && w.queue.Due(until) {
		at, e := w.queue.Pop()
		w.now = at
		w.stats.Events++
		w.dispatch(&e)
	}
	if w.err == nil {
		w.now = max(w.now, until)
	}
	return w.err
}

// dispatch lets one event happen.
func (w *World) dispatch(e *event) {
	if e.kind == evDo {
		e.do()
		return
	}
	m := w.members[e.to]
	switch {
	case e.kind == evDeliver:
		if !m.up {
			w.drop(&envelope{from: e.from, sent: e.sent, msg: e.msg, data: e.data}, e.to, "down")
			return
		}
	case !m.up || e.life != m.life:
		return
	case e.kind == evTimer:
		w.onTimer(m)
		return
	case e.kind == evPort:
		w.onPort(m)
		return
	case e.kind == evCommand && !e.kept && w.now < m.taken:
		// Those that came before it, while the member was frozen, are yet to be taken in.
		*w.queue.Push(m.taken) = *e
		return
	}
	if m.frozen > 0 {
		w.keep(m, e)
		return
	}
	switch e.kind {
	case evDeliver:
		w.receive(m, e)
	case evWritten:
		w.onWritten(m)
	case evAct:
		w.onAct(m, e.cmd.(programEvent).program)
	case evAnnounce:
		w.onAnnounce(m, e.cmd.(programEvent).program)
	case evQuit:
		w.onQuit(m, e.cmd.(programEvent).program)
	case evCommand:
		w.commandLine(m, e.cmd)
		w.step(m, e.cmd)
	}
}

// commandLine records a command.
func (w *World) commandLine(m *member, cmd protocol.Event) {
	w.record(m, EvCommand, func(r *Record) {
		r.Peer = protocol.NoIdent
		switch c := cmd.(type) {
		case protocol.Campaign:
			r.Why, r.Group, r.Length = "campaign", c.Group, c.Length
			if c.Value != "" {
				r.Detail = c.Value
			}
		case protocol.Resign:
			r.Why, r.Group = "resign", c.Group
		case protocol.Transfer:
			r.Why, r.Group, r.Peer.Rank, r.Seq = "transfer", c.Group, c.To, c.ID
		case protocol.Find:
			r.Why, r.Group, r.Seq = "find", c.Group, c.ID
		case protocol.Verify:
			r.Why, r.Group, r.Seq = "verify", c.Group, c.ID
		case protocol.Stopped:
			r.Why, r.Group = "stopped", c.Group
		case protocol.Lapse:
			r.Why, r.Group, r.Tenure = "lapse", c.Group, c.Tenure
		case protocol.Announce:
			r.Why, r.Group, r.Tenure, r.Detail = "announce", c.Group, c.Tenure, c.Value
		default:
			r.Why = strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", cmd), "protocol."))
		}
	})
}

// fail ends the run with an error; the first one counts.
func (w *World) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// At calls do at the given instant, or as soon as the world runs again if that has passed.
func (w *World) At(t Real, do func()) {
	e := w.queue.Push(max(t, w.now))
	e.kind, e.do = evDo, do
}

// Command gives a member's machine an event of the driver's choice now: a command, Unfit, Trusts. A member that is down
// does not get it, one that is frozen gets it later.
func (w *World) Command(r protocol.Rank, ev protocol.Event) { w.command(w.members[r], ev, w.now) }

// Relink changes how links behave when no fault is on them, from now on.
func (w *World) Relink(change func(from, to protocol.Rank, l Link) Link) {
	for a := range w.members {
		for b := range w.members {
			if a == b {
				continue
			}
			from, to := protocol.Rank(a), protocol.Rank(b)
			l := w.link(from, to)
			l.spec = change(from, to, l.spec)
			l.sum()
		}
	}
}

// Phase records the beginning of a phase and which members it is about.
func (w *World) Phase(name string, members protocol.Set) {
	w.record(nil, EvPhase, func(r *Record) { r.Why, r.Members = name, members })
}

// Now returns the present instant.
func (w *World) Now() Real { return w.now }

// Members returns how many members there are.
func (w *World) Members() int { return len(w.members) }

// Clock returns a member's clock.
func (w *World) Clock(r protocol.Rank) *Clock { return w.members[r].clock }

// Up says whether a member's process exists, Frozen whether it stands still.
func (w *World) Up(r protocol.Rank) bool     { return w.members[r].up }
func (w *World) Frozen(r protocol.Rank) bool { return w.members[r].frozen > 0 }

// Ident returns a member in its present incarnation, or its last one if it is down.
func (w *World) Ident(r protocol.Rank) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: w.members[r].inc}
}

// Cut says whether the link from a to b is cut.
func (w *World) Cut(a, b protocol.Rank) bool { return w.link(a, b).cut }

// Views returns the views that a member published last, one for each domain and group, in the order in which the groups
// appeared. It is empty for a member that is down.
func (w *World) Views(r protocol.Rank) []protocol.View { return w.members[r].views }

// Machine returns a member's machine, nil if it is down.
func (w *World) Machine(r protocol.Rank) protocol.Machine { return w.members[r].machine }

// Dice returns the world's own randomness, for schedules and resources that belong to it.
func (w *World) Dice() *Dice { return &w.dice }

// Stats returns what has been counted so far.
func (w *World) Stats() Stats { return w.stats }

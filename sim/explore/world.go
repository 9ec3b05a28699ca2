package explore

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
	"github.com/regentproject/regent/sim"
)

// A world is one state: of all members, of the network, and of what may still go wrong. It is never changed once it is
// made; the members and messages that two worlds have in common they share.
type world struct {
	options  *Options
	executor *drive.Executor
	quarter  int
	members  []*member
	net      []*message
	ledger   invariants
	broken   error

	holds, duplicates, crashes, resignations, campaigns, slow, lost int
}

// A member is one process. It is never changed once it is in a world.
type member struct {
	rank    protocol.Rank
	machine protocol.Explorable // nil: down
	inc     protocol.Inc
	starts  protocol.Inc
	record  []byte
	wake    protocol.Time
	stepped protocol.Time // when the machine was last asked
	// program runs in the given tenure, zero if none does; asked says that it should stop, late that it takes its time.
	program     uint64
	asked, late bool
	state       key // of all above
}

// A message is on its way. held ones come when they come; the others come in order.
type message struct {
	from protocol.Ident
	to   protocol.Rank
	what protocol.Message
	held bool
	hash key
	// realm is the council of the sender, where that matters.
	realm protocol.CouncilID
}

// turn is one thing that can happen.
type turn struct {
	kind kind
	who  int // a member, or a message
}

type kind uint8

const (
	deliver kind = iota // a message arrives
	again               // a message arrives, and will once more
	hold                // a message is held back
	tick                // a timer fires
	stopped             // a program that was asked to stop has stopped
	dawdle              // it takes its time
	crash
	restart
	resign
	campaign
	forget  // a member comes back without its disk
	advance // a quarter passes
)

// begin starts the council and lets it come to rest; only then may things go wrong.
func begin(o *Options) (*world, error) {
	w := &world{options: o, executor: &drive.Executor{}, ledger: newInvariants(o)}
	for i := range o.Members {
		w.members = append(w.members, &member{rank: protocol.Rank(i), wake: protocol.Never})
	}
	for i := range w.members {
		if err := w.start(i); err != nil {
			return nil, err
		}
	}
	for n := 0; ; n++ {
		if n > 10_000 {
			return nil, fmt.Errorf("explore: the council does not come to rest")
		}
		if err := w.rest(); err != nil {
			return nil, err
		}
		if w.quarter >= 12 {
			break
		}
		w.quarter++
		for r := range o.Gone.All() {
			if w.quarter == 4 {
				w.crash(int(r))
			}
		}
	}
	w.quarter, w.ledger.origin = 0, w.now()
	for i, r := range o.Candidates {
		c := protocol.Campaign{Group: o.Group}
		if i == 0 && o.Beside != "" {
			w.step(int(r), protocol.Campaign{Group: o.Beside, Length: o.Length})
		}
		if i == len(o.Candidates)-1 {
			c.Length = o.Length
		}
		w.step(int(r), c)
	}
	if o.Change != nil {
		w.step(0, o.Change)
	}
	w.holds, w.duplicates, w.crashes, w.resignations, w.campaigns, w.slow, w.lost = o.Holds, o.Duplicates, o.Crashes, o.Resignations, o.Campaigns, o.Slow, o.Lost
	return w, w.broken
}

// rest lets everything happen that can at one instant, in order.
func (w *world) rest() error {
	for n := 0; ; n++ {
		if n > 10_000 {
			return fmt.Errorf("explore: the council never stops talking")
		}
		switch i := w.due(); {
		case len(w.net) > 0:
			m := w.net[0]
			w.net = w.net[1:]
			w.receive(m)
		case i >= 0:
			w.step(i, protocol.Tick{})
		default:
			return w.broken
		}
	}
}

// now is what every clock shows.
func (w *world) now() protocol.Time {
	return w.ledger.origin + protocol.Time(w.quarter)*w.options.Quarter
}

// due returns a member whose timer should fire, -1 if there is none.
func (w *world) due() int {
	for i, m := range w.members {
		if m.machine != nil && m.wake <= w.now() && m.stepped < w.now() {
			return i
		}
	}
	return -1
}

// turns lists what can happen, in the order in which it is tried: first what would happen on a good day.
func (w *world) turns() []turn {
	var list []turn
	calm := true // nothing is left to do at this instant
	for i, m := range w.members {
		if m.program != 0 && m.asked && !m.late {
			list = append(list, turn{stopped, i})
			if w.slow > 0 {
				list = append(list, turn{dawdle, i})
			}
			calm = false
		}
	}
	list, calm = w.arrivals(list, calm)
	if i := w.due(); i >= 0 {
		if calm || w.options.Free {
			list = append(list, turn{tick, i})
		}
		calm = false
	}
	if calm || !w.options.Coarse {
		list = w.faults(list)
	}
	if w.quarter < w.options.Quarters && (calm || w.options.Free && w.due() < 0) {
		list = append(list, turn{advance, 0})
	}
	return list
}

// arrivals lists what the network can do.
func (w *world) arrivals(list []turn, calm bool) ([]turn, bool) {
	first := true
	for i, m := range w.net {
		prompt := !m.held
		if prompt && !first && !w.options.Free || !prompt && !calm && w.options.Coarse {
			continue
		}
		list = append(list, turn{deliver, i})
		if w.duplicates > 0 {
			list = append(list, turn{again, i})
		}
		if prompt {
			first = false
			calm = calm && w.options.Free
			if w.holds > 0 && (w.options.Holdable == nil || w.options.Holdable(m.what)) {
				list = append(list, turn{hold, i})
			}
		}
	}
	return list, calm
}

// faults lists what people and fate can do.
func (w *world) faults(list []turn) []turn {
	for i, m := range w.members {
		switch {
		case w.options.Gone.Has(m.rank):
			continue
		case m.machine == nil:
			list = append(list, turn{restart, i})
			if w.lost > 0 {
				list = append(list, turn{forget, i})
			}
			continue
		case w.crashes > 0:
			list = append(list, turn{crash, i})
		}
		if w.resignations > 0 {
			list = append(list, turn{resign, i})
		}
		if w.campaigns > 0 && w.options.candidate(m.rank) {
			list = append(list, turn{campaign, i})
		}
		if m.late {
			list = append(list, turn{stopped, i})
		}
	}
	return list
}

func (o *Options) candidate(r protocol.Rank) bool {
	for _, c := range o.Candidates {
		if c == r {
			return true
		}
	}
	return false
}

// take returns the world after a turn.
func (w *world) take(t turn) (*world, error) {
	c := *w
	c.members = append([]*member(nil), w.members...)
	c.net = append(make([]*message, 0, len(w.net)+4), w.net...)
	c.ledger = w.ledger.clone()
	c.act(t)
	return &c, nil
}

// act lets a turn happen in a world that is still being made.
func (w *world) act(t turn) {
	switch t.kind {
	case deliver, again:
		m := w.net[t.who]
		w.net = append(w.net[:t.who], w.net[t.who+1:]...)
		if t.kind == again {
			w.duplicates--
			w.keep(m)
		}
		w.receive(m)
	case hold:
		m := w.net[t.who]
		w.net = append(w.net[:t.who], w.net[t.who+1:]...)
		w.holds--
		w.keep(m)
	case tick:
		w.step(t.who, protocol.Tick{})
	case stopped:
		m := w.change(t.who)
		m.program, m.asked, m.late = 0, false, false
		w.step(t.who, protocol.Stopped{Group: w.options.Group})
	case dawdle:
		w.slow--
		w.change(t.who).late = true
	case crash:
		w.crashes--
		w.crash(t.who)
	case restart, forget:
		if t.kind == forget {
			w.lost--
			w.change(t.who).record = nil
		}
		if err := w.start(t.who); err != nil {
			w.broken = err
		}
	case resign:
		w.resignations--
		w.step(t.who, protocol.Resign{Group: w.options.Group})
	case campaign:
		w.campaigns--
		w.step(t.who, protocol.Campaign{Group: w.options.Group, Length: w.options.Length})
	case advance:
		w.quarter++
	}
}

// keep holds a message.
func (w *world) keep(m *message) {
	h := *m
	h.held = true
	w.net = append(w.net, &h)
}

// change returns a member that may be changed in this world.
func (w *world) change(i int) *member {
	m := *w.members[i]
	w.members[i] = &m
	m.state = key{}
	return &m
}

// start brings a member up.
func (w *world) start(i int) error {
	m := w.change(i)
	m.starts++
	b := sim.Boot{Self: m.rank, Members: len(w.members), Inc: m.starts, Record: m.record, Seed: uint64(m.starts)<<8 | uint64(i)}
	machine, err := w.options.Spawn(b)
	if err != nil {
		return err
	}
	m.machine = machine.(protocol.Explorable)
	m.inc, m.wake = m.starts, protocol.Never
	w.step(i, protocol.Start{})
	return nil
}

// crash takes a member down, with its program.
func (w *world) crash(i int) {
	m := w.change(i)
	if w.options.Died != nil && m.inc != 0 {
		who := protocol.Ident{Rank: m.rank, Inc: m.inc}
		for r := range w.members {
			report := w.options.Died()
			w.keep(&message{from: who, to: protocol.Rank(r), what: report, hash: hashMessage(who, protocol.Rank(r), report)})
		}
	}
	m.machine, m.wake, m.program, m.asked, m.late = nil, protocol.Never, 0, false, false
	w.ledger.crash(m.rank)
}

// receive lets a message arrive, if there is anybody to take it.
func (w *world) receive(m *message) {
	to := w.members[m.to].machine
	if to == nil {
		return
	}
	if realm := w.options.Realm; realm != nil && realm(to) != m.realm && !w.options.Open(m.what) {
		return
	}
	w.step(int(m.to), &protocol.Receive{From: m.from, Message: m.what, Delay: protocol.Unknown})
}

// step lets a member's machine take an event, and does what it asks for. What it says to itself arrives at once, and so
// does what it writes to its disk: neither can be lost apart from the member.
func (w *world) step(i int, ev protocol.Event) {
	m := w.change(i)
	m.machine = m.machine.Clone().(protocol.Explorable)
	h := &host{w: w, m: m, queue: []protocol.Event{ev}}
	for len(h.queue) > 0 && w.broken == nil {
		next := h.queue[0]
		h.queue = h.queue[1:]
		w.executor.Step(h, w.now(), next)
	}
}

// see starts the program of a member that begins to lead, and asks it to stop.
func (m *member) see(v *protocol.View, g protocol.Group) {
	if v.Group != g || v.Domain != protocol.Quorum {
		return
	}
	leads := v.Leader.Rank == m.rank
	switch {
	case leads && m.program == 0 && !v.Stop:
		m.program, m.asked, m.late = v.Tenure, false, false
	case m.program != 0 && (!leads || v.Stop || v.Tenure != m.program):
		m.asked = true
	}
}

func (o *Options) cut(a, b protocol.Rank) bool {
	for _, p := range o.Cut {
		if p == [2]protocol.Rank{a, b} || p == [2]protocol.Rank{b, a} {
			return true
		}
	}
	return false
}

// describe says what a turn is, for people.
func (w *world) describe(t turn) string {
	at := fmt.Sprintf("%d/4", w.quarter)
	switch t.kind {
	case deliver, again, hold:
		m := w.net[t.who]
		verb := [...]string{"arrives", "arrives, and will again", "is held back"}[t.kind]
		if m.held {
			verb += " late"
		}
		return fmt.Sprintf("%s %s from %v to %v %s: %+v", at, m.what.Name(), m.from, m.to, verb, m.what)
	case advance:
		return at + " a quarter of a lease passes"
	}
	name := [...]string{tick: "timer of", stopped: "program stops at", dawdle: "program takes its time at", crash: "crash of",
		restart: "restart of", resign: "resign at", campaign: "campaign at", forget: "restart without a disk of"}[t.kind]
	return fmt.Sprintf("%s %s %v", at, name, protocol.Rank(t.who))
}

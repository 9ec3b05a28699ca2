package sim

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Link is how the way from one member to another behaves when no fault is on it.
type Link struct {
	Delay     Delay
	Loss      Odds
	Duplicate Odds
	// FIFO keeps messages in order; otherwise they overtake one another as their delays have it.
	FIFO bool
	// Every, if not zero, lets messages leave only when so much time has passed since they could leave last, however long
	// they wait for it: a link that is not timely, and loses nothing.
	Every time.Duration
	// Reliable neither loses nor duplicates: what is sent over a cut link waits until the cut is healed. Only the death of
	// the receiver loses a message. Some papers assume such links.
	Reliable bool
}

// link is one direction between two members.
type link struct {
	spec   Link
	dice   Dice
	latest Real  // of a FIFO link: when the last message arrives
	mods   []mod // what faults do to it now
	cut    bool  // the rest is what mods come to
	slow   time.Duration
	loss   Odds
	dup    Odds
	kept   []envelope // on a reliable link: what waits for the end of a cut
}

// A mod is what one fault does to a link.
type mod struct {
	fault uint64
	kind  Kind
	value int64
}

// An envelope is a message or a packet in flight.
type envelope struct {
	from protocol.Ident
	sent Real
	msg  protocol.Message
	data []byte
	id   uint64 // the same for a duplicate
	by   origin
}

// An origin is who sent something: in which life, and with which configuration.
type origin struct {
	life    uint32
	setting int
}

func (l *link) add(m mod) {
	l.mods = append(l.mods, m)
	l.sum()
}

func (l *link) remove(fault uint64) {
	l.mods = slices.DeleteFunc(l.mods, func(m mod) bool { return m.fault == fault })
	l.sum()
}

// sum works out the state of the link. Of several faults of one kind the worst counts, so that the order in which they
// begin and end does not matter.
func (l *link) sum() {
	l.cut, l.slow, l.loss, l.dup = false, 0, l.spec.Loss, l.spec.Duplicate
	for _, m := range l.mods {
		switch m.kind {
		case Cut, Partition:
			l.cut = true
		case Revoke:
			l.cut = l.cut || m.value > 0
		case Slow:
			l.slow = max(l.slow, time.Duration(m.value))
		case Lose:
			l.loss = max(l.loss, Odds(m.value))
		case Duplicate:
			l.dup = max(l.dup, Odds(m.value))
		}
	}
}

// carry puts an envelope on the way from its sender to another member.
func (w *World) carry(p envelope, to protocol.Rank) {
	l := w.link(p.from.Rank, to)
	w.stats.Sent++
	p.id = w.stats.Sent
	if w.config.Messages {
		w.tell(&p, to, EvSend, "")
	}
	if w.config.Intercept != nil && w.config.Intercept(Intercepted{From: p.from, To: to, Message: p.msg, envelope: p}) {
		return
	}
	if p.from.Rank == to {
		w.arrive(p, to, w.now.Add(l.dice.Draw(l.spec.Delay)))
		return
	}
	lost, twice := l.dice.Hit(l.loss) && !w.heeded(p.from.Rank, to), l.dice.Hit(l.dup)
	switch {
	case l.spec.Reliable && l.cut:
		l.kept = append(l.kept, p)
		return
	case l.spec.Reliable:
		lost, twice = false, false
	case l.cut:
		w.drop(&p, to, "cut")
		return
	}
	if lost {
		w.drop(&p, to, "lost")
		return
	}
	at := w.transit(l)
	w.arrive(p, to, at)
	if at.Sub(w.now) > w.config.Late {
		w.stats.Late++
		w.notice(NoticeLate, &p, to)
	}
	if twice {
		w.stats.Duplicated++
		w.notice(NoticeDuplicate, &p, to)
		w.arrive(p, to, w.transit(l))
	}
}

// Intercepted is a message that was taken off its link. It keeps its age: a bound on its delay covers the time that it
// was out.
type Intercepted struct {
	From protocol.Ident
	To   protocol.Rank
	// Message may not be changed; nil in a world with ports.
	Message  protocol.Message
	envelope envelope
}

// Deliver lets an intercepted message arrive at the given instant, whatever the links are like. It may be done more than once.
func (w *World) Deliver(l Intercepted, at Real) { w.arrive(l.envelope, l.To, max(at, w.now)) }

// transit draws when something put on the link now arrives.
func (w *World) transit(l *link) Real {
	at := w.now
	if every := Real(l.spec.Every); every > 0 {
		at += every - at%every
	}
	at = at.Add(l.dice.Draw(l.spec.Delay))
	if l.slow > 0 {
		at = at.Add(l.dice.Between(l.slow/2, l.slow))
	}
	if l.spec.FIFO {
		at = max(at, l.latest+1)
		l.latest = at
	}
	return at
}

// arrive lets an envelope arrive at the given instant.
func (w *World) arrive(p envelope, to protocol.Rank, at Real) {
	e := w.queue.Push(at)
	e.kind, e.to, e.from, e.sent, e.msg, e.data, e.id, e.by = evDeliver, to, p.from, p.sent, p.msg, p.data, p.id, p.by
}

// drop loses an envelope.
func (w *World) drop(p *envelope, to protocol.Rank, why string) {
	w.stats.Lost++
	w.notice(NoticeLost, p, to)
	if w.config.Messages {
		w.tell(p, to, EvDrop, why)
	}
}

// flush sends what waited on a reliable link for the end of a cut.
func (w *World) flush(l *link, to protocol.Rank) {
	if l.cut {
		return
	}
	for _, p := range l.kept {
		w.arrive(p, to, w.transit(l))
	}
	l.kept = l.kept[:0]
}

// link returns the link from a to b.
func (w *World) link(a, b protocol.Rank) *link { return &w.links[int(a)*len(w.members)+int(b)] }

// A Notice reports that a message was lost, late or duplicated.
type Notice uint8

const (
	NoticeLost Notice = iota
	NoticeLate
	NoticeDuplicate
)

func (w *World) notice(n Notice, p *envelope, to protocol.Rank) {
	if w.config.OnNotice == nil {
		return
	}
	m := p.msg
	if m == nil {
		m = w.inside
	}
	w.config.OnNotice(n, p.from, to, m)
}

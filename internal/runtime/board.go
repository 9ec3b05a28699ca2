package runtime

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// A Board is what programs see of one machine's groups, and how they take part. It is the machine's Sink. Programs read it
// without locks; everything that changes it happens on the loop.
type Board struct {
	// at is the machine; nil while there is none. It is the loop's own.
	at    *Instance
	epoch uint64
	guard time.Duration
	now   func() int64 // the lease clock, exact
	late  func() int64 // the lease clock, cheap and possibly a little late
	loop  *Loop
	// elector is told what the elector below the machine says, if it is set.
	elector func(v *protocol.View)

	groups sync.Map // protocol.Group to *Group
	// history gets the changes of all groups; nil: nobody wants to know.
	history *history
	// site is where the machine stands if it is not always there.
	site *Site

	// The loop's own.
	horizons map[protocol.HorizonID]*horizon
	// capped are leases with an end of their own.
	capped []*Lease
	// fresh are leases that began in this Step and were not handed to their programs yet; moved are those that lie behind
	// another horizon since, and wait for its end.
	fresh, moved []*Lease
	closing      bool
	// barred says why nothing may be led here for the time being.
	barred bar
	// faulty says that the clock cannot be believed: nothing may be led.
	faulty  bool
	leading atomic.Int64

	questions sync.Map // uint64 to chan protocol.Answer
	nextID    atomic.Uint64
}

// A horizon is the shared end of leases, with the leases.
type horizon struct {
	stamp.Horizon
	until  protocol.Time
	leases []*Lease
}

// BoardOptions is what a board needs to know.
type BoardOptions struct {
	Epoch uint64
	// Guard is how long before the end of its lease a program is told to stop.
	Guard time.Duration
	// Clock is the lease clock, and Late a cheaper reading that may be a little late.
	Clock, Late func() protocol.Time
	// Elector, if it is set, is told what the elector below the machine says, on the loop. It must not wait.
	Elector func(v *protocol.View)
}

// NewBoard returns a board without a loop. Bind gives it one.
func NewBoard(o BoardOptions) *Board {
	b := &Board{history: new(history), epoch: o.Epoch, guard: o.Guard,
		now:  func() int64 { return int64(o.Clock()) },
		late: func() int64 { return int64(o.Late()) }, horizons: make(map[protocol.HorizonID]*horizon), elector: o.Elector}
	return b
}

// Bind says which machine the board is of. It is called before the loop runs.
func (b *Board) Bind(i *Instance) { b.loop, b.at, i.loop.council = i.loop, i, b }

// post gives the machine an event. One that is not there needs none.
func (b *Board) post(ev protocol.Event) {
	if b.at != nil {
		b.at.Post(ev)
	}
}

// Group returns the group with the name, which need not have been heard of.
func (b *Board) Group(name protocol.Group) *Group {
	if g, ok := b.groups.Load(name); ok {
		return g.(*Group)
	}
	g, _ := b.groups.LoadOrStore(name, &Group{Name: name, board: b, history: b.history})
	return g.(*Group)
}

// Groups calls f for every group that was heard of or asked for, in no order.
func (b *Board) Groups(f func(*Group)) {
	b.groups.Range(func(_, g any) bool { f(g.(*Group)); return true })
}

// After returns the changes of all groups after the one with the given serial number, oldest first, and how many of
// them are no longer known. Changed returns a channel that is closed at the next.
func (b *Board) After(serial uint64) (changes []*Change, lost uint64) { return b.history.after(serial) }

// Changed returns a channel that is closed at the next change of any group.
func (b *Board) Changed() <-chan struct{} { return b.history.changed.wait() }

// Leading returns how many groups programs here lead.
func (b *Board) Leading() int { return int(b.leading.Load()) }

// enter lets a program wait for its turn.
func (b *Board) enter(now protocol.Time, g *Group, c *candidate) error {
	if b.site != nil {
		if err := b.site.enter(now); err != nil {
			return err
		}
	}
	g.waiting = append(g.waiting, c)
	b.campaign(g)
	return nil
}

// exit takes note that a program no longer takes part: it waits no more, or does not lead any more.
func (b *Board) exit() {
	if b.site != nil {
		b.site.exit(b.loop.Clock())
	}
}

// campaign tells the machine whether the group has a candidate here, if that changed.
func (b *Board) campaign(g *Group) {
	want := len(g.waiting) > 0 && !b.closing && !b.faulty && b.barred == 0
	if want == g.campaigning || g.lease != nil || b.at == nil {
		return
	}
	g.campaigning = want
	if want {
		b.post(protocol.Campaign{Group: g.Name})
	} else {
		b.post(protocol.Resign{Group: g.Name})
	}
}

// leave takes back what enter did. A program that was given a lease meanwhile never got to know, and so has stopped.
func (b *Board) leave(g *Group, c *candidate) {
	before := len(g.waiting)
	g.waiting = slices.DeleteFunc(g.waiting, func(d *candidate) bool { return d == c })
	if l := c.given; l != nil {
		b.acquit(l, protocol.Resign{Group: g.Name})
		return
	}
	b.campaign(g)
	if len(g.waiting) < before {
		b.exit()
	}
}

// View takes a changed view. What ends comes first: a lease that is over is cleared before the view is to be seen.
func (b *Board) View(now protocol.Time, v *protocol.View) {
	if v.Domain == protocol.Elector {
		if b.elector != nil {
			b.elector(v)
		}
		return
	}
	g := b.Group(v.Group)
	if v.Domain == protocol.Consistent && v.Agreed != nil {
		life := *v
		life.Tenure, v = uint64(v.Horizon), &life // what tells a member's lives in a group apart
	}
	if l := g.lease; l != nil && l.number != v.Tenure {
		l.owes = v.Domain == protocol.Consistent && v.Stop
		b.end(g, v.Cause)
		defer close(l.over) // whoever waits for that then finds the new view
	}
	if v.Tenure != 0 {
		b.lead(g, v)
	}
	if c := g.Latest(); c == nil || !c.shows(v) {
		g.publish(now, v) // else only the lease lies behind another horizon
	}
	if v.Cause.Code == protocol.TooMany {
		b.refuse(g)
	}
	b.campaign(g)
}

// lead takes note that the member leads the group, newly or still.
func (b *Board) lead(g *Group, v *protocol.View) {
	l := g.lease
	if l == nil {
		l = &Lease{group: g, tenure: g.slot.NewTenure(b.epoch, v.Term, v.Quorum), number: v.Tenure,
			told: make(chan struct{}), over: make(chan struct{}), until: protocol.Never, place: -1, shared: v.Domain == protocol.Consistent}
		g.lease = l
		g.campaigning = true
		if !l.shared {
			b.leading.Add(1)
		}
		b.fresh = append(b.fresh, l)
	}
	if v.Domain == protocol.Local {
		support := v.Support
		l.support.Store(&support)
	}
	if h := b.horizon(v.Horizon); !l.void && (l.horizon != h || l.until != v.Until) {
		// The end of h may come only later in this Step, and in the meantime programs look. So the lease first keeps the end
		// that it has, apart from both horizons: what the old one gains from now on is no longer the lease's.
		kept := new(stamp.Horizon)
		kept.Extend(l.tenure.Until())
		g.slot.Publish(l.tenure, kept, int64(v.Until))
		b.place(l, h, v.Until)
		b.moved = append(b.moved, l)
	}
	if v.Stop {
		l.resigned = true
		b.tell(l, v.Cause)
		if l.yields {
			b.stopped(l)
		}
	}
}

// end takes note that the tenure is over.
func (b *Board) end(g *Group, why protocol.Cause) {
	l := g.lease
	first := l.blame(why)
	g.slot.Clear()
	g.lease = nil
	if !l.shared {
		b.leading.Add(-1)
	}
	b.place(l, nil, protocol.Never)
	if first {
		l.rouse()
	}
	// The machine goes on trying only if it is told to: whoever led must ask again.
	g.campaigning = !l.resigned
	if l.taken {
		b.exit()
	}
}

// ask asks the machine to end the tenure, once.
func (b *Board) ask(l *Lease, how protocol.Event) {
	if !l.resigned {
		l.resigned = true
		b.post(how)
	}
}

// acquit says for a program that it has stopped, if the machine waits to hear that: in a tenure that lasts, or in a membership
// that is over.
func (b *Board) acquit(l *Lease, how protocol.Event) {
	g := l.group
	switch {
	case g.lease == l:
		b.ask(l, how)
		b.stopped(l)
	case l.owes && !l.stopped:
		b.ask(l, how)
		b.stopped(l)
		g.campaigning = false
		b.campaign(g)
	}
}

func (b *Board) horizon(id protocol.HorizonID) *horizon {
	h := b.horizons[id]
	if h == nil {
		h = new(horizon)
		b.horizons[id] = h
	}
	return h
}

// place moves a lease behind a horizon; nil: behind none.
func (b *Board) place(l *Lease, h *horizon, until protocol.Time) {
	if old := l.horizon; old != nil && old != h {
		last := old.leases[len(old.leases)-1]
		old.leases[l.place] = last
		last.place = l.place
		old.leases = old.leases[:len(old.leases)-1]
	}
	if h != nil && l.horizon != h {
		l.place = len(h.leases)
		h.leases = append(h.leases, l)
	}
	if l.until != protocol.Never {
		b.capped = slices.DeleteFunc(b.capped, func(m *Lease) bool { return m == l })
	}
	l.horizon, l.until = h, until
	if until != protocol.Never {
		b.capped = append(b.capped, l)
	}
}

// Horizon moves the end of all leases behind it.
func (b *Board) Horizon(_ protocol.Time, h protocol.Horizon) {
	to := b.horizon(h.ID)
	to.until = max(to.until, h.Until)
	to.Extend(int64(h.Until))
}

// Published moves leases behind their horizons, and hands new ones to their programs: only now are the ends known.
func (b *Board) Published(protocol.Time) {
	for i, l := range b.moved {
		b.moved[i] = nil
		if l.group.lease == l && !l.void {
			l.group.slot.Publish(l.tenure, &l.horizon.Horizon, int64(l.until))
		}
	}
	b.moved = b.moved[:0]
	for i, l := range b.fresh {
		b.fresh[i] = nil
		g := l.group
		if g.lease != l || len(g.waiting) == 0 || b.closing || b.faulty || b.barred != 0 {
			// It is over already, or whoever wanted it has gone.
			b.acquit(l, protocol.Resign{Group: g.Name})
			continue
		}
		c := g.waiting[0]
		g.waiting = slices.Delete(g.waiting, 0, 1)
		c.given, l.taken = l, true
		c.lease <- l
	}
	b.fresh = b.fresh[:0]
}

// Tick tells programs to stop whose leases are about to end. There is one instant to watch for each horizon, however
// many leases lie behind it.
func (b *Board) Tick(now protocol.Time) protocol.Time {
	next := protocol.Never
	for id, h := range b.horizons {
		if len(h.leases) == 0 {
			if now >= h.until {
				delete(b.horizons, id)
			}
			continue
		}
		at := h.until.Add(-b.guard)
		if now < at {
			next = min(next, at)
			continue
		}
		for _, l := range h.leases {
			b.lapse(l)
		}
	}
	for _, l := range b.capped {
		if at := l.until.Add(-b.guard); now < at {
			next = min(next, at)
		} else {
			b.lapse(l)
		}
	}
	return next
}

// lapse tells a program that its lease is about to end. If a renewal comes after all, the group is given up once the
// program has stopped.
func (b *Board) lapse(l *Lease) {
	if l.cause.Load() == nil {
		b.tell(l, protocol.Cause{Code: protocol.LeaseExpired, Peer: b.loop.Self})
		if l.shared {
			return // the machine knows by itself, and takes part again
		}
		b.ask(l, protocol.Resign{Group: l.group.Name, Why: protocol.LeaseExpired})
	}
}

// fault says whether the lease clock can be believed. If it cannot, all leases are over for their programs at once, and
// none begins until it can. Nothing is released before they have stopped, as ever.
func (b *Board) fault(faulty bool) {
	b.faulty = faulty
	if faulty {
		b.void()
	}
	b.Groups(b.campaign)
}

// void ends all leases as far as their programs can see. Who is told finds that it is over, and who finds that finds out why.
func (b *Board) void() {
	why := protocol.Cause{Code: protocol.ClockFault, Peer: b.loop.Self}
	for id, h := range b.horizons {
		var untold []*Lease
		for _, l := range h.leases {
			if l.void = true; l.blame(why) {
				untold = append(untold, l)
			}
		}
		h.Retire()
		for _, l := range untold {
			l.rouse()
		}
		for _, l := range h.leases {
			b.ask(l, protocol.Resign{Group: l.group.Name, Why: protocol.ClockFault})
		}
		delete(b.horizons, id) // later leases lie behind a new one
	}
}

// question returns a number for an answer and the channel on which it comes.
func (b *Board) question() (uint64, chan protocol.Answer) {
	id, c := b.nextID.Add(1), make(chan protocol.Answer, 1)
	b.questions.Store(id, c)
	return id, c
}

func (b *Board) await(ctx context.Context, id uint64, c chan protocol.Answer) (protocol.Answer, error) {
	defer b.questions.Delete(id)
	select {
	case a := <-c:
		return a, nil
	case <-b.loop.Ended():
		return protocol.Answer{}, ErrClosed
	case <-ctx.Done():
		return protocol.Answer{}, context.Cause(ctx)
	}
}

// Ask puts a question to the machine and waits for its answer. how makes the event that bears the number.
func (b *Board) Ask(ctx context.Context, how func(id uint64) protocol.Event) (protocol.Answer, error) {
	id, c := b.question()
	if err := b.loop.Do(func(protocol.Time) { b.post(how(id)) }); err != nil {
		b.questions.Delete(id)
		return protocol.Answer{}, err
	}
	return b.await(ctx, id, c)
}

// Answer hands an answer to whoever asked.
func (b *Board) Answer(_ protocol.Time, a *protocol.Answer) {
	if c, ok := b.questions.LoadAndDelete(a.ID); ok {
		c.(chan protocol.Answer) <- *a
	}
}

// A bar is a reason why nothing may be led, by itself or with others.
type bar uint8

const (
	barredElsewhere bar = 1 << iota // another group has a leader
	barredIll                       // the member is not well
)

// bar says whether there is a reason that nothing may be led here. Programs that lead when there is one are asked to stop, for
// the cause given.
func (b *Board) bar(reason bar, on bool, why protocol.Cause) {
	before := b.barred
	if b.barred &^= reason; on {
		b.barred |= reason
	}
	if b.barred == before {
		return
	}
	b.Groups(func(g *Group) {
		if l := g.lease; l != nil && on {
			b.tell(l, why)
			b.ask(l, protocol.Resign{Group: g.Name, Why: why.Code})
			return
		}
		b.campaign(g)
	})
}

// health bars the board while the member is not well.
func (b *Board) health(ill bool) {
	b.bar(barredIll, ill, protocol.Cause{Code: protocol.Unhealthy, Peer: b.loop.Self})
}

// abandon ends all leases without a word to anybody, as a crash would.
func (b *Board) abandon(now protocol.Time) {
	why := protocol.Cause{Code: protocol.Restarted, Peer: b.loop.Self}
	b.Groups(func(g *Group) {
		if c := g.Latest(); c != nil && c.Leader != protocol.NoIdent {
			b.View(now, &protocol.View{Group: g.Name, Domain: protocol.Local, Leader: protocol.NoIdent, Until: protocol.Never, Cause: why})
		}
		g.campaigning = false
	})
}

// close asks all programs that lead to stop, and lets none begin. The machine is told at once: it leaves when the last
// program has stopped.
func (b *Board) close() {
	if b.closing {
		return
	}
	b.closing = true
	why := protocol.Cause{Code: protocol.Closed, Peer: b.loop.Self}
	b.Groups(func(g *Group) {
		if l := g.lease; l != nil {
			b.tell(l, why)
		} else {
			b.campaign(g)
		}
	})
	b.post(protocol.Close{})
}

package runtime

import (
	"math"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/internal/tenure"
)

// This file drives the machines of package tenure for a member: the election protocol is the upper side, and the program that
// leads is the lower one, a Function. It decides nothing.
//
// Renewals move the horizon, which programs read by themselves, and not each lease. A machine gets the latest one before any
// other event, and at the guard time of its horizon.

// answerWithin is how long the protocol may take to begin a transfer or to refuse it.
const answerWithin = 5 * time.Second

// newLife returns the machine of a tenure that waits to begin. The protocol of a shared one, of a consistent group, waits for its
// program to stop even if the member is out.
func (t *GroupTable) newLife(now protocol.Time, shared bool) *tenure.Machine {
	return tenure.New(now, tenure.Config{Self: t.loop.Self, Lower: tenure.Function, Owed: shared, Guard: t.guard, Grace: t.grace, Answer: answerWithin})
}

// end returns the end of a lease that lies behind a horizon.
func (l *Lease) end() protocol.Time { return min(l.horizon.until, l.until) }

// step gives the machine of a lease an event, and carries out what it asks for.
func (t *GroupTable) step(now protocol.Time, l *Lease, ev tenure.Event) {
	out := t.effects[:0]
	if l.horizon != nil {
		out = l.life.Step(now, tenure.Event{Kind: tenure.Extended, Until: l.end()}, out)
	}
	out = l.life.Step(now, ev, out)
	l.recordCause() // before a program can see that the lease is over
	for i := range out {
		t.do(l, ev.Kind, &out[i])
	}
	t.effects = out
	t.watch(l)
}

// recordCause makes the machine's cause the one that programs see.
func (l *Lease) recordCause() {
	c := l.life.Cause()
	if old := l.cause.Load(); c.Code != protocol.Unexplained && (old == nil || *old != c) {
		l.cause.Store(&c)
	}
}

// do carries out one effect of an event.
func (t *GroupTable) do(l *Lease, from tenure.Kind, e *tenure.Effect) {
	g := l.group
	switch e.Kind {
	case tenure.Ask, tenure.End:
		t.askToStop(l, from)
	case tenure.Void:
		t.setHorizon(l, nil, protocol.Never)
		if l.published() {
			g.slot.Clear()
			t.mirror.Ended(g.Name, l.Token())
		}
	case tenure.Lapse:
		t.fixEnd(l)
		if g.lease == l && !l.shared {
			t.post(protocol.Lapse{Group: g.Name, Tenure: l.number, Why: e.Cause.Code})
		}
	case tenure.HandOver:
		t.post(protocol.Transfer{Group: g.Name, To: e.To, ID: l.question})
		if l.isAsked() { // the protocol waits for the program to stop, and it has
			t.post(protocol.Stopped{Group: g.Name})
		}
	case tenure.Release:
		t.release(l, from)
	case tenure.Log:
		t.log(l, e)
	}
}

// askToStop asks the program to stop, once. The protocol learns of it, unless it has asked for it or has ended the tenure.
func (t *GroupTable) askToStop(l *Lease, from tenure.Kind) {
	if l.isAsked() {
		return
	}
	close(l.done)
	if f := l.onDone.Load(); f != nil {
		go (*f)()
	}
	ours := from != tenure.Stop && from != tenure.Freeze && from != tenure.Lost
	if l.shared { // it comes back by itself unless the clock failed
		ours = from == tenure.Suspended
	}
	if ours && l.group.lease == l {
		t.post(protocol.Resign{Group: l.group.Name, Why: l.life.Cause().Code})
	}
}

// release tells the protocol that nothing acts under the tenure any more. A tenure that is over is owed that only if it is shared.
func (t *GroupTable) release(l *Lease, from tenure.Kind) {
	g := l.group
	switch {
	case g.lease == l:
		t.askToStop(l, from)
		t.post(protocol.Stopped{Group: g.Name})
	case l.shared && g.lease == nil:
		t.post(protocol.Stopped{Group: g.Name})
		g.campaigning = false
		t.campaign(g)
	}
}

// published says that the lease is in the slot of its group.
func (l *Lease) published() bool { return l.tenure.Until() != math.MinInt64 }

// fixEnd keeps renewals from moving the end of a lease that programs can still see.
func (t *GroupTable) fixEnd(l *Lease) {
	t.setHorizon(l, nil, protocol.Never)
	if !l.published() {
		return
	}
	end, _ := l.life.Announced()
	fixed := new(stamp.Horizon)
	fixed.Extend(int64(end))
	l.group.slot.Publish(l.tenure, fixed, int64(end))
	t.mirror.Fixed(l.group.Name, l.Token(), end)
}

func (t *GroupTable) log(l *Lease, e *tenure.Effect) {
	if t.loop.Log == nil {
		return
	}
	put := t.loop.Log.Warn
	if e.Line == tenure.Corrected {
		put = t.loop.Log.Info
	}
	put(e.Line.String(), "group", string(l.group.Name), "token", l.Token(), "cause", e.Cause.Code.String())
}

// begin hands a lease whose end is known to the program that waits for it. If none waits, or nothing may be led, it is given back.
func (t *GroupTable) begin(now protocol.Time, l *Lease) {
	g := l.group
	var c *candidate
	if g.lease == l && len(g.waiting) > 0 && t.mayLead() && !g.Latest().Stop {
		c = g.waiting[0]
	} else {
		t.step(now, l, tenure.Event{Kind: tenure.ProgramStopped})
	}
	ev := tenure.Event{Kind: tenure.Elected, Token: l.Token(), At: now}
	if l.horizon != nil {
		ev.Until = l.end()
	}
	t.step(now, l, ev)
	if l.begun() {
		g.waiting = slices.Delete(g.waiting, 0, 1)
		if !l.shared && !g.Latest().announces(c.value) { // the machine began with the value of a program that waits no more
			t.post(protocol.Announce{Group: g.Name, Tenure: l.number, Value: c.value})
		}
		c.given = l
		c.lease <- l
	}
}

// begun says that a program got the lease.
func (l *Lease) begun() bool {
	_, yes := l.life.Announced()
	return yes
}

// watch puts a lease where its machine is woken: behind its horizon while its program leads, and otherwise among those with a wake
// of their own.
func (t *GroupTable) watch(l *Lease) {
	var list *[]*Lease
	switch l.life.State() {
	case tenure.Waiting, tenure.Over:
	case tenure.Leading:
		list = &t.watched
		if l.horizon != nil && l.until == protocol.Never {
			list = &l.horizon.leases
		}
	default:
		list = &t.watched
	}
	l.move(list)
	if list == &t.watched {
		t.alarm = min(t.alarm, l.life.Wake())
		t.arm()
	}
}

// move takes a lease from its list to another one; nil: to none.
func (l *Lease) move(to *[]*Lease) {
	if l.list == to {
		return
	}
	if from := l.list; from != nil {
		last := len(*from) - 1
		(*from)[l.index] = (*from)[last]
		(*from)[l.index].index = l.index
		(*from)[last] = nil
		*from = (*from)[:last]
	}
	l.list = to
	if to != nil {
		l.index = len(*to)
		*to = append(*to, l)
	}
}

// arm has the loop call Tick when the first machine wants to be woken.
func (t *GroupTable) arm() {
	if i := t.instance; i != nil && t.alarm < i.sinkWake {
		i.sinkWake = t.alarm
		i.loop.wakes.set(i)
	}
}

// Tick wakes the machines that are due, and returns when the next one is. There is one instant to watch for each horizon, however
// many leases lie behind it.
func (t *GroupTable) Tick(now protocol.Time) protocol.Time {
	next := protocol.Never
	for id, h := range t.horizons {
		if len(h.leases) == 0 {
			if now >= h.until {
				delete(t.horizons, id)
				t.mirror.Dropped(id)
			}
			continue
		}
		at := h.until.Add(-t.guard)
		if now < at {
			next = min(next, at)
			continue
		}
		for i := len(h.leases) - 1; i >= 0; i-- {
			t.step(now, h.leases[i], tenure.Event{Kind: tenure.Tick})
		}
	}
	if now >= t.alarm {
		t.wake(now)
	}
	return min(next, t.alarm)
}

// wake wakes those that are due of the machines with a wake of their own.
func (t *GroupTable) wake(now protocol.Time) {
	for i := len(t.watched) - 1; i >= 0; i-- {
		if l := t.watched[i]; now >= l.life.Wake() {
			t.step(now, l, tenure.Event{Kind: tenure.Tick})
		}
	}
	t.alarm = protocol.Never
	for _, l := range t.watched {
		t.alarm = min(t.alarm, l.life.Wake())
	}
}

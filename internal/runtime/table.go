package runtime

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/internal/tenure/recovery"
)

// A GroupTable is what programs see of one machine's groups, and how they take part. It is the machine's Sink. Programs read it
// without locks; everything that changes it happens on the loop.
type GroupTable struct {
	// instance is the machine; nil while there is none. It is the loop's own.
	instance *Instance
	// guard is how long before the end of its lease a program is asked to stop, and grace how long it may take.
	guard, grace time.Duration
	// clock is the lease clock as programs read it: cheap, and possibly a little late.
	clock func() int64
	loop  *Loop
	// elector, if it is set, gets the views of the elector below the machine.
	elector func(v *protocol.View)
	mirror  Mirror

	groups sync.Map // protocol.Group to *Group
	// history gets the changes of all groups; nil: they are not kept.
	history *history
	// onDemand is where the machine stands if it is not always there.
	onDemand *OnDemand

	// The loop's own.
	horizons map[protocol.HorizonID]*horizon
	// watched are the leases whose machines have a wake of their own, and alarm is not after the first of their wakes.
	watched []*Lease
	alarm   protocol.Time
	// effects is used again by every step of a machine.
	effects []tenure.Effect
	// begun are leases that began in this Step and were not handed to their programs yet; moved are those that lie behind
	// another horizon since, and wait for its end.
	begun, moved []*Lease
	closing      bool
	// blocked says why nothing may be led here for the time being.
	blocked blockReason
	// faulty says that the clock cannot be believed: nothing may be led.
	faulty  bool
	leading atomic.Int64

	questions sync.Map // uint64 to chan protocol.Answer
	nextID    atomic.Uint64
}

// A horizon is the shared end of leases, with those whose programs lead.
type horizon struct {
	stamp.Horizon
	id     protocol.HorizonID
	until  protocol.Time
	leases []*Lease
}

// GroupTableOptions is what a group table needs to know.
type GroupTableOptions struct {
	// Guard is how long before the end of its lease a program is asked to stop.
	Guard time.Duration
	// Grace is how long it may take to stop while its lease is renewed. After that the lease is left to run out.
	Grace time.Duration
	// Late is a cheap reading of the lease clock. It is never before that, and may be a little later.
	Late func() protocol.Time
	// Elector, if it is set, gets the views of the elector below the machine, on the loop. It must not wait.
	Elector func(v *protocol.View)
	// Mirror, if it is set, shows the leases elsewhere.
	Mirror Mirror
}

// NewGroupTable returns a group table without a loop. Bind gives it one.
func NewGroupTable(o GroupTableOptions) *GroupTable {
	if o.Mirror == nil {
		o.Mirror = noMirror{}
	}
	return &GroupTable{history: new(history), guard: o.Guard, grace: o.Grace, alarm: protocol.Never,
		clock: func() int64 { return int64(o.Late()) }, horizons: make(map[protocol.HorizonID]*horizon), elector: o.Elector, mirror: o.Mirror}
}

// Bind says which machine the table is of. It is called before the loop runs.
func (t *GroupTable) Bind(i *Instance) { t.loop, t.instance, i.loop.council = i.loop, i, t }

// post gives the machine an event. One that is not there needs none.
func (t *GroupTable) post(ev protocol.Event) {
	if t.instance != nil {
		t.instance.Post(ev)
	}
}

// Group returns the group with the name, which need not have been heard of.
func (t *GroupTable) Group(name protocol.Group) *Group {
	if g, ok := t.groups.Load(name); ok {
		return g.(*Group)
	}
	g, _ := t.groups.LoadOrStore(name, &Group{Name: name, table: t, history: t.history})
	return g.(*Group)
}

// Groups calls f for every group that was heard of or asked for, in no order.
func (t *GroupTable) Groups(f func(*Group)) {
	t.groups.Range(func(_, g any) bool { f(g.(*Group)); return true })
}

// After returns the changes of all groups after the one with the given serial number, oldest first, and how many of
// them are no longer known. The latest change of each group is always known. Changed returns a channel that is closed at the next.
func (t *GroupTable) After(serial uint64) (changes []*Change, lost uint64) {
	changes, lost = t.history.after(serial)
	if lost == 0 {
		return changes, 0
	}
	last := serial + lost + uint64(len(changes))
	found := make(map[uint64]bool, len(changes))
	for _, c := range changes {
		found[c.Serial] = true
	}
	t.Groups(func(g *Group) {
		if c := g.Latest(); c != nil && c.Serial > serial && c.Serial <= last && !found[c.Serial] {
			changes = append(changes, c)
			lost--
		}
	})
	slices.SortFunc(changes, func(x, y *Change) int { return cmp.Compare(x.Serial, y.Serial) })
	return changes, lost
}

// Changed returns a channel that is closed at the next change of any group.
func (t *GroupTable) Changed() <-chan struct{} { return t.history.changed.wait() }

// Leading returns how many groups programs here lead.
func (t *GroupTable) Leading() int { return int(t.leading.Load()) }

// enter lets a program wait for its turn.
func (t *GroupTable) enter(now protocol.Time, g *Group, c *candidate) error {
	if t.onDemand != nil {
		if err := t.onDemand.enter(now); err != nil {
			return err
		}
	}
	g.waiting = append(g.waiting, c)
	t.campaign(g)
	return nil
}

// exit takes note that a program no longer takes part: it waits no more, or does not lead any more.
func (t *GroupTable) exit() {
	if t.onDemand != nil {
		t.onDemand.exit(t.loop.Clock())
	}
}

// mayLead says whether programs here may begin to lead.
func (t *GroupTable) mayLead() bool { return !t.closing && !t.faulty && t.blocked == 0 }

// campaign tells the machine whether the group has a candidate here, if that changed.
func (t *GroupTable) campaign(g *Group) {
	want := len(g.waiting) > 0 && t.mayLead()
	same := want == g.campaigning && (!want || g.waiting[0].length == g.length && g.waiting[0].value == g.value)
	if same || g.lease != nil || t.instance == nil {
		return
	}
	g.campaigning = want
	if want {
		g.length, g.value, g.question = g.waiting[0].length, g.waiting[0].value, 0
		if g.length != 0 {
			g.question = t.nextID.Add(1)
		}
		t.post(protocol.Campaign{Group: g.Name, Length: g.length, Value: g.value, ID: g.question})
	} else {
		t.post(protocol.Resign{Group: g.Name})
	}
}

// leave takes back what enter did. A program that was given a lease meanwhile never got to know, and so has stopped.
func (t *GroupTable) leave(now protocol.Time, g *Group, c *candidate) {
	before := len(g.waiting)
	g.waiting = slices.DeleteFunc(g.waiting, func(d *candidate) bool { return d == c })
	if l := c.given; l != nil {
		t.programStopped(now, l)
		return
	}
	t.campaign(g)
	if len(g.waiting) < before {
		t.exit()
	}
}

// View takes a changed view. What ends comes first: a lease that is over is cleared before the view is to be seen.
func (t *GroupTable) View(now protocol.Time, v *protocol.View) {
	if v.Domain == protocol.Elector {
		if t.elector != nil {
			t.elector(v)
		}
		return
	}
	g := t.Group(v.Group)
	if v.Domain == protocol.Consistent && v.Agreed != nil {
		life := *v
		life.Tenure, v = uint64(v.Horizon), &life // what tells a member's lives in a group apart
	}
	if l := g.lease; l != nil && l.number != v.Tenure {
		t.end(now, l, v.Cause)
		defer close(l.over) // a program that waits for that then finds the new view
	}
	if v.Tenure != 0 {
		t.lead(now, g, v)
	}
	if l := g.lease; l != nil && l.shared && v.Agreed != nil {
		l.recoveries.agree(v)
	}
	if c := g.Latest(); c == nil || !c.shows(v) {
		g.publish(now, v) // else only the lease lies behind another horizon
	}
	if v.Cause.Code == protocol.TooMany {
		t.refuse(g)
	}
	t.campaign(g)
}

// lead takes note that the member leads the group, newly or still.
func (t *GroupTable) lead(now protocol.Time, g *Group, v *protocol.View) {
	l := g.lease
	first := l == nil
	if first {
		l = &Lease{group: g, tenure: g.slot.NewTenure(v.Epoch, v.Term, v.Quorum), number: v.Tenure,
			done: make(chan struct{}), over: make(chan struct{}), until: protocol.Never, shared: v.Domain == protocol.Consistent}
		l.life = t.newLife(now, l.shared)
		g.lease = l
		g.campaigning = true
		if !l.shared {
			t.leading.Add(1)
		}
		t.begun = append(t.begun, l)
	}
	if v.Domain == protocol.Local {
		support := v.Support
		l.support.Store(&support)
	}
	if h := t.horizon(v.Horizon); (first || l.horizon != nil) && (l.horizon != h || l.until != v.Until) {
		// The end of h may come only later in this Step, and in the meantime programs look. So the lease first keeps the end
		// that it has, apart from both horizons: what the old one gains from now on is no longer the lease's.
		kept := new(stamp.Horizon)
		kept.Extend(l.tenure.Until())
		g.slot.Publish(l.tenure, kept, int64(v.Until))
		t.mirror.Fixed(g.Name, l.Token(), min(protocol.Time(kept.Until()), v.Until))
		t.setHorizon(l, h, v.Until)
		t.moved = append(t.moved, l)
	}
	switch {
	case v.Until != protocol.Never:
		t.step(now, l, tenure.Event{Kind: tenure.Freeze, Cause: v.Cause})
	case v.Stop:
		t.step(now, l, tenure.Event{Kind: tenure.Stop, Cause: v.Cause})
	}
	if v.Stop && l.life.State() == tenure.Stopped { // the protocol begins the transfer
		t.release(l, tenure.Stop)
	}
}

// end takes note that the tenure is over.
func (t *GroupTable) end(now protocol.Time, l *Lease, why protocol.Cause) {
	g := l.group
	// The protocol goes on trying unless its program was to stop: then it must be asked to campaign again.
	g.campaigning = !l.isAsked()
	t.step(now, l, tenure.Event{Kind: tenure.Lost, Cause: why})
	l.recoveries.step(recovery.Event{Kind: recovery.Leave})
	g.slot.Clear()
	t.mirror.Ended(g.Name, l.Token())
	g.lease = nil
	if !l.shared {
		t.leading.Add(-1)
	}
	t.setHorizon(l, nil, protocol.Never)
	if l.begun() {
		t.exit()
	}
}

// programStopped says for a program that it has stopped. It leaves a consistent group for good, which it stays in otherwise.
func (t *GroupTable) programStopped(now protocol.Time, l *Lease) {
	g := l.group
	if l.shared && l.life.State() != tenure.Over && (g.lease != l || !g.Latest().Stop) {
		t.post(protocol.Resign{Group: g.Name})
	}
	t.step(now, l, tenure.Event{Kind: tenure.ProgramStopped})
}

func (t *GroupTable) horizon(id protocol.HorizonID) *horizon {
	h := t.horizons[id]
	if h == nil {
		h = &horizon{id: id}
		t.horizons[id] = h
	}
	return h
}

// setHorizon moves a lease behind a horizon; nil: behind none.
func (t *GroupTable) setHorizon(l *Lease, h *horizon, until protocol.Time) {
	l.horizon, l.until = h, until
	t.watch(l)
}

// Horizon moves the end of all leases behind it.
func (t *GroupTable) Horizon(_ protocol.Time, h protocol.Horizon) {
	to := t.horizon(h.ID)
	to.until = max(to.until, h.Until)
	to.Extend(int64(h.Until))
	t.mirror.Extended(h.ID, to.until)
}

// Published moves leases behind their horizons, and hands new ones to their programs: only now are the ends known.
func (t *GroupTable) Published(now protocol.Time) {
	for i, l := range t.moved {
		t.moved[i] = nil
		if l.group.lease == l && l.horizon != nil {
			l.group.slot.Publish(l.tenure, &l.horizon.Horizon, int64(l.until))
			t.mirrorLease(l)
		}
	}
	t.moved = t.moved[:0]
	for i, l := range t.begun {
		t.begun[i] = nil
		t.begin(now, l)
	}
	t.begun = t.begun[:0]
}

// fault says whether the lease clock can be believed. If it cannot, all leases are over for their programs at once, and
// none begins until it can.
func (t *GroupTable) fault(faulty bool) {
	t.faulty = faulty
	now := t.loop.Clock()
	t.Groups(func(g *Group) {
		if g.lease != nil && faulty {
			t.step(now, g.lease, tenure.Event{Kind: tenure.Suspended})
		}
		t.campaign(g)
	})
}

// A blockReason is a reason why nothing may be led, by itself or with others.
type blockReason uint8

const (
	blockedByOther blockReason = 1 << iota // another group has a leader
	blockedUnfit                           // the member is unhealthy, or drained
)

// setBlock says whether there is a reason that nothing may be led here. Programs that lead when there is one are asked to stop, for
// the cause given.
func (t *GroupTable) setBlock(reason blockReason, on bool, why protocol.Cause) {
	before := t.blocked
	t.blocked &^= reason
	if on {
		t.blocked |= reason
	}
	if t.blocked == before {
		return
	}
	now := t.loop.Clock()
	t.Groups(func(g *Group) {
		if g.lease != nil && on {
			t.step(now, g.lease, tenure.Event{Kind: tenure.Resign, Cause: why})
		}
		t.campaign(g)
	})
}

// health blocks leading while the member is not fit to lead.
func (t *GroupTable) health(h protocol.Health) {
	t.setBlock(blockedUnfit, !h.Fit(), protocol.Cause{Code: h.Cause(), Peer: t.loop.Self})
}

// abandon ends all leases without a message to other members, as a crash would.
func (t *GroupTable) abandon(now protocol.Time) {
	why := protocol.Cause{Code: protocol.Restarted, Peer: t.loop.Self}
	t.Groups(func(g *Group) {
		if c := g.Latest(); c != nil && c.Leader != protocol.NoIdent {
			t.View(now, &protocol.View{Group: g.Name, Domain: protocol.Local, Leader: protocol.NoIdent, Until: protocol.Never, Cause: why})
		}
		g.campaigning = false
	})
}

// close asks all programs that lead to stop, and lets none begin. The machine learns it at once: it leaves when the last
// program has stopped.
func (t *GroupTable) close() {
	if t.closing {
		return
	}
	t.closing = true
	why, now := protocol.Cause{Code: protocol.Closed, Peer: t.loop.Self}, t.loop.Clock()
	t.Groups(func(g *Group) {
		if g.lease != nil {
			t.step(now, g.lease, tenure.Event{Kind: tenure.Stop, Cause: why})
		}
		t.campaign(g)
	})
	t.post(protocol.Close{})
}

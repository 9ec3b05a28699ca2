package runtime

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// OnDemand opens the machine of one group when the first program here takes part, and removes it a while after the last has
// left. A group that no program uses costs neither memory nor packets.
type OnDemand struct {
	loop    *Loop
	channel Channel
	name    string
	make    func(now, renamed protocol.Time, inc protocol.Inc) (protocol.Machine, error)
	linger  time.Duration
	// table and watchOnly are what programs see; one of them is set.
	table     *GroupTable
	watchOnly *watchOnly
	unless    *Group
	discovery time.Duration
	inUse     func(yes bool)

	// The rest is the loop's own.

	instance *Instance
	users    int
	// closeAt is when the machine is removed if no program has come back.
	closeAt protocol.Time
	// otherKnownAt is when it will be known whether the other group has a leader.
	otherKnownAt protocol.Time
}

// OnDemandOptions is what an on-demand machine needs to know.
type OnDemandOptions struct {
	Channel Channel
	// Name is for people, such as "the local group g".
	Name  string
	Group protocol.Group
	// Make makes the machine of a member that speaks as inc. The machines before it, and what they knew of their promises, may
	// have been lost at renamed, when the process ceased to speak as another incarnation; zero if it never has.
	Make func(now, renamed protocol.Time, inc protocol.Inc) (protocol.Machine, error)
	// Linger is how long a machine that no program uses must stay: until all that it promised is over.
	Linger time.Duration
	// Table says that programs may lead the group; otherwise they can only watch it.
	Table *GroupTableOptions
	// Unless, if it is set, is a group of another table: nothing is led here while that one is known to have a leader.
	Unless *Group
	// Discovery is how long it takes, once the member votes, until it has heard of every leader there is. Before that nothing is
	// led here if Unless is set.
	Discovery time.Duration
	// Changed, if it is set, is called at every change, on the loop. It must not wait.
	Changed func(c *Change)
	// InUse, if it is set, is called with true when the loop begins to need the OnDemand, because a program takes part, and with false
	// when it needs it no more. It is called on the loop, and must not wait.
	InUse func(yes bool)
}

// NewOnDemand returns an on-demand machine of a loop that may run already. It may be called on any goroutine.
func NewOnDemand(l *Loop, o OnDemandOptions) *OnDemand {
	s := &OnDemand{loop: l, channel: o.Channel, name: o.Name, make: o.Make, linger: o.Linger, unless: o.Unless, discovery: o.Discovery,
		inUse: o.InUse, closeAt: protocol.Never, otherKnownAt: protocol.Never}
	if o.Table != nil {
		s.table = NewGroupTable(*o.Table)
		s.table.history, s.table.loop, s.table.onDemand = nil, l, s
		s.table.Group(o.Group)
	} else {
		s.watchOnly = &watchOnly{group: &Group{Name: o.Group}}
	}
	if o.Changed != nil {
		s.Group(o.Group).notify = func(_ protocol.Time, c *Change) { o.Changed(c) }
	}
	return s
}

// Group returns the group.
func (d *OnDemand) Group(name protocol.Group) *Group {
	if d.table != nil {
		return d.table.Group(name)
	}
	return d.watchOnly.group
}

// Enter makes the member take part until Exit. Many may enter.
func (d *OnDemand) Enter() error {
	c := make(chan error, 1)
	if err := d.loop.Do(func(now protocol.Time) { c <- d.enter(now) }); err != nil {
		return err
	}
	select {
	case err := <-c:
		return err
	case <-d.loop.Ended():
		return ErrClosed
	}
}

// Exit takes an Enter back. It does not wait.
func (d *OnDemand) Exit() { _ = d.loop.Do(d.exit) }

func (d *OnDemand) enter(now protocol.Time) error {
	if d.loop.closing {
		return ErrClosed // nothing begins any more, and the member does not wait for what has not begun
	}
	if err := d.open(now); err != nil {
		return err
	}
	d.users++
	d.closeAt = protocol.Never
	d.need(true)
	return nil
}

// need has the loop know of the machine, or forget it.
func (d *OnDemand) need(yes bool) {
	if _, known := d.loop.onDemand[d]; known == yes {
		return
	}
	if yes {
		d.loop.onDemand[d] = struct{}{}
	} else {
		delete(d.loop.onDemand, d)
	}
	if d.inUse != nil {
		d.inUse(yes)
	}
}

func (d *OnDemand) exit(now protocol.Time) {
	d.users--
	if d.users > 0 {
		return
	}
	if d.instance == nil {
		d.need(false)
		return
	}
	if d.table != nil {
		// It leaves the group even if it goes on campaigning, because it was only asked to make room for another.
		d.table.Groups(func(g *Group) { d.table.post(protocol.Resign{Group: g.Name}) })
	}
	d.closeAt = now.Add(d.linger)
	d.instance.sinkWake = min(d.instance.sinkWake, d.closeAt)
	d.loop.wakes.set(d.instance)
}

// open puts the machine into the loop, if the member knows who it is.
func (d *OnDemand) open(now protocol.Time) error {
	inc := d.loop.stats.Inc()
	if d.instance != nil || inc == 0 {
		return nil
	}
	m, err := d.make(now, d.loop.renamed, inc)
	if err != nil {
		return err
	}
	at, err := d.loop.Add(d.channel, d.name, m, d.sink())
	if err != nil {
		return err
	}
	d.instance = at
	if t := d.table; t != nil {
		t.instance, t.faulty, t.closing = at, d.loop.faulty, d.loop.closing
		d.watchOther(now)
		t.health(d.loop.health)
		t.Groups(t.campaign)
	} else if !d.loop.health.Fit() {
		d.health()
	}
	return nil
}

// health reports whether the member may lead: to the table, or to a machine that has none.
func (d *OnDemand) health() {
	switch {
	case d.table != nil:
		d.table.health(d.loop.health)
	case d.instance != nil:
		d.instance.Post(d.loop.health)
	}
}

// watchOther blocks leading, from now on, while the other group has a leader, or may have one that this member has not heard of.
func (d *OnDemand) watchOther(now protocol.Time) {
	if d.unless == nil {
		return
	}
	d.unless.notify = d.checkOther
	d.checkOther(now, d.unless.Latest())
}

// votes takes note of when the member votes. Machines that wait to know of leaders look again when that changes.
func (l *Loop) votes(now, at protocol.Time) {
	if at == l.stats.Votes() {
		return
	}
	l.stats.votes.Store(int64(at))
	if at == protocol.Never { // it does not know who it is any more: all on-demand machines are closed
		return
	}
	for s := range l.onDemand {
		if s.unless != nil && s.instance != nil {
			s.checkOther(now, s.unless.Latest())
		}
	}
}

func (d *OnDemand) checkOther(now protocol.Time, c *Change) {
	known := d.loop.stats.Votes().Add(d.discovery)
	d.otherKnownAt = protocol.Never
	if now < known {
		d.otherKnownAt = known
		d.instance.sinkWake = min(d.instance.sinkWake, known)
		d.loop.wakes.set(d.instance)
	}
	leads := c != nil && c.Leader != protocol.NoIdent
	d.table.setBlock(blockedByOther, leads || now < known, protocol.Cause{Code: protocol.Elected, Peer: leaderOf(c)})
}

func leaderOf(c *Change) protocol.Rank {
	if c == nil {
		return protocol.Nobody
	}
	return c.Leader.Rank
}

// close takes the machine out of the loop.
func (d *OnDemand) close() {
	if d.instance == nil {
		return
	}
	if d.unless != nil {
		d.unless.notify = nil
	}
	d.loop.Remove(d.instance)
	d.instance = nil
	if d.users == 0 {
		d.need(false)
	}
	if d.table != nil {
		d.table.instance = nil
	}
}

func (d *OnDemand) sink() Sink {
	if d.table != nil {
		return onDemandSink{d.table, d}
	}
	return onDemandSink{d.watchOnly, d}
}

// abandon removes a machine whose incarnation is over. To the others it has crashed: its leaderships are over, and nothing is
// released.
func (d *OnDemand) abandon(now protocol.Time) {
	if d.table != nil {
		d.table.abandon(now)
	}
	d.close()
}

// openAgain opens a machine of the new incarnation, if there is one and a program uses the group.
func (d *OnDemand) openAgain(now protocol.Time) {
	if d.users == 0 || d.loop.closing {
		return
	}
	if err := d.open(now); err != nil {
		d.loop.Log.Error("a group cannot be opened again", "group", d.name, "err", err)
	}
}

// onDemandSink is the sink of an on-demand machine: it also watches when to close it.
type onDemandSink struct {
	Sink
	onDemand *OnDemand
}

func (k onDemandSink) Tick(now protocol.Time) protocol.Time {
	s := k.onDemand
	if now >= s.otherKnownAt {
		s.checkOther(now, s.unless.Latest())
	}
	next := k.Sink.Tick(now)
	if now < s.closeAt {
		return min(next, s.otherKnownAt, s.closeAt)
	}
	s.close()
	return protocol.Never
}

// A watchOnly is the sink of a machine whose groups can only be watched.
type watchOnly struct{ group *Group }

func (s *watchOnly) View(now protocol.Time, v *protocol.View) { s.group.publish(now, v) }
func (s *watchOnly) Horizon(protocol.Time, protocol.Horizon)  {}
func (s *watchOnly) Answer(protocol.Time, *protocol.Answer)   {}
func (s *watchOnly) Published(protocol.Time)                  {}
func (s *watchOnly) Tick(protocol.Time) (next protocol.Time)  { return protocol.Never }

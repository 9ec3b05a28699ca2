package rain

import (
	"errors"
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
	"github.com/regentproject/regent/internal/protocol/record"
)

// An Authority grants the leases under which views are decided: package nerio, or package stack with nerio in it.
type Authority interface {
	protocol.Incarnate
	protocol.Closable
	// Begun says that this start of the member began the council: nobody in it has anything to remember.
	Begun() bool
	Proved() protocol.Time // until when proofs may be believed that it has given
}

// Machine is one member of the consistent groups of one council, over its links and, where there is a gate, over the authority
// of the council, whose other groups it leaves alone.
type Machine struct {
	cfg    Config
	below  Authority         // nil: there is no gate
	out    *protocol.Effects // of the present Step
	now    protocol.Time     // of the present Step
	links  *link.Links       // nil while the member does not know its incarnation
	sender carrier           // the links, as far as groups need them
	inc    protocol.Inc
	groups []*group // in the order of their names
	// closed says that the member is leaving, ill that it is not fit to be in any group, going that it has no vote and is to leave
	// the council.
	closed, ill, going bool
	// term is the configuration in force, where members come and go. asks are the last questions of peers, by rank, and held are
	// commands that came before the member had a seat.
	term term
	asks []Ask
	held []protocol.Event

	// queue is what the authority is to get, one event a Step, because it uses its messages again.
	queue     []protocol.Event
	stepped   bool
	belowWake protocol.Time
	horizons  map[protocol.HorizonID]protocol.Time

	halted halted
	// remembers says that no view was ever forgotten. rec is the member's whole record, encoded, of which the view is ours;
	// empty while there is none.
	remembers bool
	rec       []byte
	dirty     bool
	writes    []write
	asked     uint64 // how many of our own writes were asked for, and how many are on disk
	durable   uint64
	lives     uint32 // numbers horizons
	memory    []byte
	came      []protocol.Fact // what links stated of the present message
	err       error
}

// A carrier takes messages to a peer, in order, if there is a link to it.
type carrier interface {
	Send(to protocol.Rank, m link.Message) bool
	SendDurable(to protocol.Rank, m link.Message) bool
}

// A write is a record on its way to the disk: whether the authority waits for it, and which of our own writes is in it.
type write struct {
	below bool
	own   uint64
}

// New returns the machine of one member that starts from its encoded record; nil if it has none. The same record is the authority's.
func New(cfg Config, below Authority, rec []byte) (*Machine, error) {
	if cfg.Council != nil {
		cfg.Self, cfg.Members, cfg.Quorums, cfg.Leaders = 0, 1, protocol.Majority(1), protocol.Set{} // until a configuration names the member
	}
	if err := cfg.check(below != nil); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, below: below, belowWake: protocol.Never, horizons: make(map[protocol.HorizonID]protocol.Time)}
	if rec != nil && below != nil && !cfg.Diskless {
		r, err := record.Decode(rec)
		switch {
		case errors.Is(err, record.ErrDamaged):
		case err != nil:
			return nil, err
		default:
			m.rec = append(m.rec, rec...)
			if r.Void {
				break // it is an old copy, and so is what it says of views
			}
			if r.View == nil {
				m.remembers = true // it was never in a consistent group: there is nothing to forget
			} else if err := m.recall(r.View); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// Incarnation implements protocol.Incarnate.
func (m *Machine) Incarnation() protocol.Inc {
	if m.below == nil {
		return m.cfg.Inc
	}
	return m.below.Incarnation()
}

// Votes implements protocol.Incarnate.
func (m *Machine) Votes() protocol.Time {
	if m.below == nil {
		return 0
	}
	return m.below.Votes()
}

// Closed implements protocol.Closable: a program that was asked to stop is waited for.
func (m *Machine) Closed() bool {
	for _, g := range m.groups {
		if g.phase == Stopping || g.phase == Alive {
			return false
		}
	}
	return m.closed && (m.below == nil || m.below.Closed())
}

// Err returns why there are no links, if they could not be made.
func (m *Machine) Err() error { return m.err }

// Step implements protocol.Machine.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now, m.out, m.stepped = now, out, false
	m.expire(now) // whose time is over is dead before anything else happens
	switch ev := ev.(type) {
	case *protocol.Receive:
		m.onReceive(now, ev)
	case protocol.Persisted:
		m.onPersisted(now)
	case protocol.Tick:
		m.onTick(now)
	case protocol.Campaign:
		m.command(now, ev.Group, ev, (*group).onCampaign)
	case protocol.Resign:
		m.command(now, ev.Group, ev, (*group).onResign)
	case protocol.Stopped:
		m.command(now, ev.Group, ev, (*group).onStopped)
	case protocol.Lapse:
		if !m.owns(ev.Group) { // a membership ends by itself
			m.authority(now, ev)
		}
	case protocol.Recover:
		m.command(now, ev.Group, ev, func(g *group, _ protocol.Time) { g.onRecovered(Number{ev.Term, ev.Vid}) })
	case protocol.Begin:
		m.command(now, ev.Group, ev, (*group).onBegin)
	case protocol.Health:
		m.onHealth(now, ev)
	case protocol.Close:
		m.onClose(now, ev)
	default:
		m.authority(now, ev)
	}
	m.settle(now)
}

// owns says whether a group is consistent.
func (m *Machine) owns(g protocol.Group) bool { return m.cfg.Owns == nil || m.cfg.Owns(g) }

// command gives a command to the consistent group that it is about, or to the authority.
func (m *Machine) command(now protocol.Time, name protocol.Group, ev protocol.Event, do func(*group, protocol.Time)) {
	switch {
	case !m.owns(name):
		m.authority(now, ev)
	case m.hold(ev):
	case m.takes(name):
		do(m.group(name), now)
	default:
		if _, ok := ev.(protocol.Campaign); ok {
			m.out.Views = append(m.out.Views, protocol.View{Group: name, Domain: protocol.Consistent, Leader: protocol.NoIdent,
				Cause: protocol.Cause{Code: protocol.TooMany, Peer: protocol.Nobody}})
		}
	}
}

// MaxGroups is how many consistent groups a council may have: all their views are in one record. A program that would take part in another
// gets the cause TooMany; what peers say of others is ignored.
const MaxGroups = 64

// takes says whether there is such a group, or can be.
func (m *Machine) takes(name protocol.Group) bool {
	return m.owns(name) && (len(m.groups) < MaxGroups || slices.ContainsFunc(m.groups, func(g *group) bool { return g.name == name }))
}

// group finds a group, or makes it.
func (m *Machine) group(name protocol.Group) *group {
	i, ok := slices.BinarySearchFunc(m.groups, name, func(g *group, name protocol.Group) int {
		return strings.Compare(string(g.name), string(name))
	})
	if !ok {
		g := newGroup(m, name)
		m.groups = slices.Insert(m.groups, i, g)
		g.announce() // a peer that has heard nothing takes the member for one that will answer
	}
	return m.groups[i]
}

// authority lets the authority take an event, if there is one.
func (m *Machine) authority(now protocol.Time, ev protocol.Event) {
	if m.below == nil {
		return
	}
	m.stepped = true
	o := m.out
	views, horizons := len(o.Views), len(o.Horizons)
	m.below.Step(now, ev, o)
	m.belowWake = o.Wake
	keep := o.Views[:views]
	for i := range o.Views[views:] {
		if v := &o.Views[views+i]; v.Domain == protocol.Quorum && m.takes(v.Group) {
			m.group(v.Group).onLease(v) // it publishes nothing
		} else {
			keep = append(keep, *v)
		}
	}
	o.Views = keep
	for _, h := range o.Horizons[horizons:] {
		m.horizons[h.ID] = h.Until
	}
	if len(o.Persist) > 0 {
		m.rec = append(m.rec[:0], o.Persist...)
	}
	m.follow(now)
}

// onTick wakes the authority if it wanted to be woken, or if nobody else did.
func (m *Machine) onTick(now protocol.Time) {
	if len(m.queue) == 0 && (now >= m.belowWake || m.links == nil) {
		m.authority(now, protocol.Tick{})
	}
}

func (m *Machine) onClose(now protocol.Time, ev protocol.Close) {
	m.closed = true
	for _, g := range m.groups {
		g.open = false
		g.retire(protocol.Cause{Code: protocol.Closed, Peer: g.me})
	}
	m.authority(now, ev)
}

// onHealth takes a member that is not fit to lead out of its groups: it would be the one to decide, and could not.
func (m *Machine) onHealth(now protocol.Time, ev protocol.Health) {
	m.ill = !ev.Fit()
	m.unfit(protocol.Cause{Code: ev.Cause(), Peer: m.cfg.Self})
	m.authority(now, ev)
}

// onReceive gives a message to the part that it is for.
func (m *Machine) onReceive(now protocol.Time, r *protocol.Receive) {
	if m.halted.stopped && own(r.Message) {
		return
	}
	switch msg := r.Message.(type) {
	case *Stay:
		m.onStay(r.From, msg)
	case *Stays:
		m.onStays(now, r.From, msg)
	case link.Message:
		if m.links == nil {
			return
		}
		m.onWord(now, r)
	default:
		m.authority(now, r)
	}
}

// onWord takes what came over a link. Facts are stated in the order of cause and effect: the transitions, and each message before what
// follows from it.
func (m *Machine) onWord(now protocol.Time, r *protocol.Receive) {
	changes, messages := m.links.Receive(now, r)
	m.came = m.links.Facts(m.came[:0])
	first := len(m.came) - len(messages)
	m.out.Facts = append(m.out.Facts, m.came[:first]...)
	m.changed(now, changes)
	for i, msg := range messages {
		m.fact(m.came[first+i])
		m.deliver(now, r.From.Rank, msg)
	}
}

// changed passes on what became of links.
func (m *Machine) changed(now protocol.Time, changes []link.Change) {
	for i := range changes {
		for _, g := range m.groups {
			g.onLink(now, &changes[i])
		}
		r := changes[i].Peer.Rank
		if int(r) < len(m.asks) {
			m.asks[r] = Ask{}
		}
		if changes[i].Up && m.term.conf != nil && m.here(r) {
			m.sender.Send(r, &Ask{Number: m.term.number, Nonce: m.term.pull.nonce})
		}
	}
}

// deliver gives a message of a session to its group. What no honest member says is dropped.
func (m *Machine) deliver(now protocol.Time, from protocol.Rank, msg link.Message) {
	switch msg := msg.(type) {
	case *Cand:
		if g := m.about(&msg.Topic); g != nil {
			g.onCand(from, &msg.Topic)
		}
	case *Accept:
		if g := m.about(&msg.Topic); g != nil {
			g.onAccept(from, &msg.Topic)
		}
	case *Cancel:
		if g := m.about(&msg.Topic); g != nil {
			g.onCancel(from, &msg.Topic)
		}
	case *Install:
		if m.sane(msg.Group, &msg.View) {
			m.group(msg.Group).onInstall(now, from, &msg.View)
		}
	case *State:
		if m.sane(msg.Group, &msg.View) && msg.Phase <= Alive {
			m.group(msg.Group).onState(now, from, msg)
		}
	case *Answer:
		if m.sane(msg.Group, &msg.View) {
			m.group(msg.Group).onAnswer(from, msg)
		}
	case *Installed:
		if m.takes(msg.Group) {
			m.group(msg.Group).onInstalled(from, msg.Number, msg.Epoch)
		}
	case *Links:
		if m.takes(msg.Group) {
			m.group(msg.Group).onLinks(from, msg)
		}
	case *Query:
		if m.takes(msg.Group) {
			m.group(msg.Group).onQuery(from, msg)
		}
	case *Ask:
		m.onAsk(now, from, msg)
	case *Told:
		m.onTold(from, msg)
	}
}

// about returns the group that a topic belongs to, nil if it makes no sense.
func (m *Machine) about(t *Topic) *group {
	if !m.takes(t.Group) || int(t.About) >= m.cfg.Members || t.Kind > Up || t.Attempt == 0 {
		return nil
	}
	return m.group(t.Group)
}

// sane says whether a view can be one of this council.
func (m *Machine) sane(name protocol.Group, v *View) bool {
	if m.takes(name) {
		m.fit(v)
	}
	everyone := protocol.Everyone(m.cfg.Members)
	return m.takes(name) && everyone.Contains(v.everyone())
}

// expire ends memberships whose time is over, and lets links go down that are silent.
func (m *Machine) expire(now protocol.Time) {
	for _, g := range m.groups {
		g.expire(now)
	}
	if m.links != nil {
		changes := m.links.Tick(now)
		m.out.Facts = m.links.Facts(m.out.Facts)
		m.changed(now, changes)
	}
}

// settle does what follows from the event, whatever it was.
func (m *Machine) settle(now protocol.Time) {
	m.incarnate(now)
	m.evaluate(now)
	if !m.stepped && len(m.queue) > 0 {
		ev := m.queue[0]
		m.queue = append(m.queue[:0], m.queue[1:]...)
		m.authority(now, ev)
		m.incarnate(now)
		m.evaluate(now)
	}
	remind := m.remind(now)
	m.remembered()
	m.persist()
	m.out.Wake = min(m.belowWake, remind)
	if len(m.queue) > 0 {
		m.out.Wake = now
	}
	if m.links != nil {
		m.links.Flush(now, m.out)
		m.out.Facts = m.links.Facts(m.out.Facts)
		m.out.Wake = min(m.out.Wake, m.links.Wake())
	}
	for _, g := range m.groups {
		m.out.Wake = min(m.out.Wake, g.wake(now))
	}
}

func (m *Machine) evaluate(now protocol.Time) {
	if m.links == nil {
		return
	}
	for _, g := range m.groups {
		g.evaluate(now)
	}
}

// incarnate makes the links when the member knows who it is, and anew if it finds out that it was wrong.
func (m *Machine) incarnate(now protocol.Time) {
	inc := m.Incarnation()
	if inc == m.inc {
		return
	}
	if m.inc != 0 {
		// What the member took for its record is an old copy: it may have forgotten views.
		m.remembers = false
		for _, g := range m.groups {
			g.forgotten(now)
		}
	}
	m.inc, m.links, m.sender = inc, nil, nil
	m.term.pull = pull{nonce: m.term.pull.nonce, carried: m.term.number == 0}
	if inc == 0 || m.changing() && m.term.conf == nil {
		return
	}
	if m.below != nil && m.below.Begun() {
		m.remembers = true
		for _, g := range m.groups {
			g.known = true
		}
	}
	links, err := link.New(m.cfg.links(inc))
	m.err = err
	if err == nil {
		m.links, m.sender = links, links
		links.Grow(m.cfg.Members, m.absent())
		m.term.pull.late = now.Add(m.cfg.Rho.WaitAtLeast(m.cfg.Tin + m.cfg.Tout))
		m.question(now)
	}
}

// note has a view that was installed written down, where there is a disk.
func (m *Machine) note() {
	m.asked++
	if len(m.rec) == 0 || m.cfg.Diskless {
		m.durable = m.asked
		return
	}
	m.dirty = true
}

// persist asks for the record to be made durable if the authority does, or if a view has changed, which the authority knows
// nothing of.
func (m *Machine) persist() {
	if m.below != nil && m.below.Begun() && !m.remembers && m.inc == 0 {
		m.remembers = true // in the very first record: it is written before the member speaks
	}
	below := len(m.out.Persist) > 0
	if !m.dirty && !below {
		return
	}
	m.memory = m.appendMemory(m.memory[:0])
	m.rec = record.ReplaceView(m.rec, m.memory)
	m.writes = append(m.writes, write{below, m.asked})
	m.dirty = false
	m.out.Persist = append(m.out.Persist[:0], m.rec...)
}

// onPersisted goes on with what waited for the oldest write.
func (m *Machine) onPersisted(now protocol.Time) {
	if len(m.writes) == 0 {
		return
	}
	w := m.writes[0]
	m.writes = append(m.writes[:0], m.writes[1:]...)
	m.durable = max(m.durable, w.own)
	for _, g := range m.groups {
		g.again = true
	}
	if w.below {
		m.authority(now, protocol.Persisted{})
	}
}

func (m *Machine) fact(f protocol.Fact) { m.out.Facts = append(m.out.Facts, f) }

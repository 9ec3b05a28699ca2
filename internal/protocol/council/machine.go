package council

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Options is what a member has to know of itself.
type Options struct {
	Name string
	// First is the configuration with number 0, for a member that may begin the council; nil for one that joins it.
	First *Config
	// Peers are seats that a member asks that knows no configuration.
	Peers protocol.Set
	// RoundTrip bounds a round trip in good times. Renew is how often a member repeats how far it has got.
	RoundTrip, Renew time.Duration
	// Dead is how long a leaving voter is silent before it is taken for dead. Quiet is how long a member hears no majority before
	// it asks whether there is a later configuration.
	Dead, Quiet time.Duration
	// Patience is how long a step waits for a newcomer to learn who leads. HandOver is how long it waits for a leaving member to hand
	// over what it leads, a group that no other member wants included; zero: as long as Patience.
	Patience, HandOver time.Duration
	// Answer is how long a member that was asked for a change waits to hear a majority, before it forgets the change; zero: for ever.
	Answer time.Duration
	// Mourn is how long members must have been silent before the others may give the council up for lack of them; zero: the council is
	// not given up, and members that have nothing to do are silent. It is at least as long as so many of the longest promises as MournPromises says.
	Mourn         time.Duration
	MournPromises int
}

// A Host is the rest of the member, as far as the council depends on it.
type Host interface {
	// Inc returns the incarnation under which the member speaks; zero while it does not.
	Inc() protocol.Inc
	// Highest bounds every term that the member has accepted or proposed.
	Highest() uint64
	// Promised returns the instant at which nothing stands any more that the member has promised, its other starts included.
	Promised() protocol.Time
	// Leads returns how many groups the member leads, Assigned how many it knows the leaders of.
	Leads() (leads, assigned uint32)
	// Adopt puts a configuration in force, which is on disk. The member has the given seat in it.
	Adopt(now protocol.Time, c *Config, seat protocol.Rank)
	// Carried says whether the member knows all that was agreed on besides leases under configurations before the one with a number.
	Carried(number uint64) bool
	// CaughtUp says that a voter is in the member's configuration now.
	CaughtUp(now protocol.Time)
	// Raise makes the member accept no term below floor any more.
	Raise(now protocol.Time, floor uint64)
	// Recovered lets a member begin to speak that had no trusted record: nothing of what it forgot matters above floor.
	Recovered(now protocol.Time, floor uint64)
	// Begun says whether the member has a record, or writes one. One that has Recovered may not have begun yet. Withhold keeps it from
	// that until it has Recovered once more.
	Begun() bool
	Withhold()
	// Distrust makes the member stop and ask, because its record is an old copy.
	Distrust(now protocol.Time)
	// Leave ends the member's part in the council.
	Leave(now protocol.Time)
	// Hold keeps the member from granting anything before an instant.
	Hold(now, until protocol.Time)
}

// Machine is one member's part in the agreement on configurations. It is driven by the machine that owns the member's record.
type Machine struct {
	opt  Options
	host Host
	out  *protocol.Effects // of the present Step
	now  protocol.Time     // of the present Step
	pcg  *rand.PCG
	rng  *rand.Rand

	phase phase
	seat  protocol.Rank // Nobody while no configuration names the member
	// rec is the state on disk, or on its way there. Its Conf is in force, unless next is not nil: then next is on its way to the
	// disk, and is in force when the record with the serial landing is there.
	rec     Record
	next    *Config
	landing uint64
	dirty   bool
	durable uint64 // the highest serial that is on disk
	// until is when nothing stands any more that was promised before the configuration was adopted (R8).
	until protocol.Time
	// settledAt is when the member settled, or started settled.
	settledAt protocol.Time
	peers     []peer // by seat
	nonce     uint64 // of this life
	// round is the highest that was heard of.
	round   uint32
	attempt attempt
	// backoff is before when no new attempt begins; since is since when there is a reason for one.
	backoff, since protocol.Time
	want           *Change
	// wanted is when want was asked for. If it was given up, unheard are the voters that were silent since.
	wanted  protocol.Time
	unheard protocol.Set
	// offered says that a value was sent to acceptors since want was asked for.
	offered bool
	// fixed are voters that said that they cannot follow a change.
	fixed protocol.Set
	lost  forgotten
	// surrender is how far the member has got with giving its council up.
	surrender surrender
	// began is the serial that the member started with. Until doubt a peer may say that it is not the last one (R10).
	began uint64
	doubt protocol.Time
	// doubted says that the record is not trusted, and hint that Conf is still the one of that record.
	doubted, hint bool
	// repeat is when the member says again how far it has got, and fetch when it asks for a later configuration.
	repeat, fetch protocol.Time
	started       protocol.Time
}

type phase uint8

const (
	unborn    phase = iota // not started
	forgetful              // without a trusted record
	seated                 // has a seat and a record
	gone                   // was a member
)

// A peer is what was heard of one seat.
type peer struct {
	heard protocol.Time // anything
	// carry is how far it had got, and when it said so; zero if it did not in the present configuration.
	carry   Carry
	carried protocol.Time
	// told is when it was last sent a configuration.
	told protocol.Time
	// serial is the highest that the incarnation inc has named, and former the highest of those before.
	inc            protocol.Inc
	serial, former uint64
}

// New returns a member that starts from its part of the record; nil if it has none. A record that is not trusted is a hint. The
// seed must differ from start to start.
func New(o Options, h Host, rec *Record, trusted bool, seed uint64) *Machine {
	m := &Machine{opt: o, host: h, seat: protocol.Nobody, attempt: attempt{due: protocol.Never}, doubted: !trusted}
	m.pcg = rand.NewPCG(seed, uint64(len(o.Name)))
	m.rng = rand.New(m.pcg)
	if rec != nil {
		m.rec = *rec
	}
	return m
}

// Conf returns the configuration in force; nil if none is known.
func (m *Machine) Conf() *Config { return m.rec.Conf }

// Seat returns the member's seat; Nobody if it has none.
func (m *Machine) Seat() protocol.Rank { return m.seat }

// Settled says whether a majority of the present voters has waited, as far as the member knows.
func (m *Machine) Settled() bool { return m.phase == seated && m.rec.Settled }

// Adopting says that a configuration is on its way to the disk. Until it is there, the member judges no request for a lease.
func (m *Machine) Adopting() bool { return m.next != nil }

// Out says that the member was one, and is none any more.
func (m *Machine) Out() bool { return m.phase == gone }

// Forgetful says that the member has not found out yet what it has forgotten.
func (m *Machine) Forgetful() bool { return m.phase == forgetful }

// Bound returns for how long promises of members may stand.
func (m *Machine) Bound() time.Duration { return m.rec.Bound }

// Wants says that a change was asked for here that is not under way yet.
func (m *Machine) Wants() bool { return m.want != nil }

// Seated says that the member has a seat and a record.
func (m *Machine) Seated() bool { return m.phase == seated }

// Found makes the first configuration this member's, because the host has begun the council.
func (m *Machine) Found(now protocol.Time) {
	c := m.opt.First
	m.phase, m.seat = seated, c.Named(m.opt.Name).Seat
	m.rec = Record{Conf: c, Settled: true, Bound: c.Terms.Wait(), Birth: c.Named(m.opt.Name).Birth, Serial: m.rec.Serial}
	m.until, m.settledAt, m.doubt = now, now, now
	m.write()
}

// FirstRecord returns the record of a member that begins the council.
func FirstRecord(o *Options) []byte {
	m := Machine{opt: *o}
	m.Found(0)
	b, _ := m.TakeRecord(nil)
	return b
}

// Start begins the member's part. The host has taken its own Start before.
func (m *Machine) Start(now protocol.Time, out *protocol.Effects) {
	m.now, m.out = now, out
	m.started, m.settledAt = now, now
	m.nonce = m.rng.Uint64()
	m.fetch, m.repeat = now, now
	m.began, m.durable = m.rec.Serial, m.rec.Serial
	switch {
	case m.rec.Conf == nil || m.doubted:
		m.forget(now)
	case m.rec.Removed:
		m.phase = gone
		m.host.Leave(now)
	default:
		m.phase, m.seat = seated, m.rec.Conf.Named(m.opt.Name).Seat
		m.hold(now)
		m.note()
		m.doubt = m.until
		if m.rec.Heir.Conf != nil {
			m.state(protocol.EvVote, m.rec.Heir.Conf, "heir")
		}
		m.state(protocol.EvAdopt, m.rec.Conf, "record")
		if m.rec.Settled {
			m.state(protocol.EvSettle, m.rec.Conf, "record")
		}
		m.recall(now)
	}
	m.settle(now)
}

// Step takes a message of this protocol, or a Tick.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now, m.out = now, out
	if m.phase == unborn {
		return
	}
	if r, ok := ev.(*protocol.Receive); ok {
		m.onReceive(now, r)
	}
	m.settle(now)
}

// settle does what is due.
func (m *Machine) settle(now protocol.Time) {
	switch m.phase {
	case forgetful:
		m.onForgetful(now)
	case seated:
		m.noteLate()
		m.trySettle(now)
		m.lowerBound(now)
		m.propose(now)
		m.surrenders(now)
		m.repeatCarry(now)
		m.recall(now)
		m.watch(now)
	}
}

// note notes when nothing stands any more that the member has promised so far.
func (m *Machine) note() { m.until = m.host.Promised() }

// noteLate does so as soon as a member that has just started knows what it waits for. It has promised nothing since.
func (m *Machine) noteLate() {
	if m.until == protocol.Never {
		m.note()
	}
	if m.doubt == protocol.Never {
		m.doubt = m.until
	}
}

// Wake returns when the machine wants a Tick.
func (m *Machine) Wake() protocol.Time {
	switch m.phase {
	case forgetful:
		switch {
		case m.seat == protocol.Nobody:
			return m.fetch
		case m.attempt.on:
			return min(m.fetch, m.attempt.due)
		}
		return min(m.fetch, m.lost.due())
	case seated:
		if m.next != nil || m.host.Inc() == 0 {
			return m.fetch // the disk is waited for
		}
		return min(m.fetch, m.seatedWake())
	}
	return protocol.Never
}

// seatedWake returns when a member that speaks wants a Tick.
func (m *Machine) seatedWake() protocol.Time {
	at := m.surrenderAt()
	if m.rec.Settled {
		at = min(m.attempt.due, m.proposeAt(), m.boundFalls())
	}
	if !m.rec.Settled || m.rec.Conf.Goal != nil {
		at = min(at, m.repeat)
	}
	if !m.rec.Settled && m.now < m.until {
		at = min(at, m.until)
	}
	if m.asking() {
		at = min(at, m.lost.again, m.doubt)
	}
	return at
}

// Owns says whether a message is one of this protocol's.
func Owns(msg protocol.Message) bool {
	switch msg.(type) {
	case *Prepare, *Promise, *Accept, *Accepted, *Refused, *Fetch, *Chosen, *Carry, *Recover, *Known, *Abandon, *Abandoned, *Objected, *Inherit, *Inherited:
		return true
	}
	return false
}

func (m *Machine) onReceive(now protocol.Time, ev *protocol.Receive) {
	from := ev.From
	if from.Rank >= protocol.MaxMembers {
		return
	}
	m.Heard(now, from)
	switch msg := ev.Message.(type) {
	case *Fetch:
		m.onFetch(now, from, msg)
	case *Chosen:
		if msg.Conf != nil {
			m.onChosen(now, msg)
		}
	case *Prepare:
		m.onPrepare(now, from, msg)
	case *Accept:
		if msg.Conf != nil {
			m.onAccept(now, from, msg)
		}
	case *Promise:
		m.noteSerial(from, msg.Serial)
		m.onPromise(now, from, msg)
	case *Accepted:
		m.noteSerial(from, msg.Serial)
		m.onAccepted(now, from, msg)
	case *Refused:
		m.onRefused(now, from, msg)
	case *Carry:
		m.noteSerial(from, msg.Serial)
		m.onCarry(now, from, msg)
	case *Recover:
		m.onRecover(now, from, msg)
	case *Known:
		m.onKnown(now, from, msg)
	default:
		m.onSurrender(now, ev)
	}
}

// onSurrender takes the messages of members that give their council up.
func (m *Machine) onSurrender(now protocol.Time, ev *protocol.Receive) {
	if m.rec.Conf == nil {
		return
	}
	switch msg := ev.Message.(type) {
	case *Abandon:
		m.onAbandon(now, ev.From, msg)
	case *Abandoned:
		m.onAbandoned(now, ev.From, msg)
	case *Objected:
		m.onObjected(now, ev.From, msg)
	case *Inherit:
		if msg.Conf != nil {
			m.onInherit(now, ev.From, msg)
		}
	case *Inherited:
		m.onInherited(now, ev.From, msg)
	}
}

// peer returns what was heard of a seat.
func (m *Machine) peer(r protocol.Rank) *peer {
	for int(r) >= len(m.peers) {
		m.peers = append(m.peers, peer{heard: m.started, told: -protocol.Never})
	}
	return &m.peers[r]
}

// Heard notes that a member has sent something, of whichever protocol.
func (m *Machine) Heard(now protocol.Time, from protocol.Ident) {
	m.peer(from.Rank).heard = now
}

// Lower notes that a member has spoken with the number of an earlier configuration, and Higher one with a later one.
func (m *Machine) Lower(now protocol.Time, from protocol.Rank, out *protocol.Effects) {
	m.now, m.out = now, out
	m.tell(now, from)
}

// Higher notes that a member has spoken with the number of a later configuration.
func (m *Machine) Higher(now protocol.Time, from protocol.Rank, out *protocol.Effects) {
	m.now, m.out = now, out
	m.ask(from)
}

// behind answers a message that is about another number than the present one, and says whether it was. A message is about the
// number from which it was sent.
func (m *Machine) behind(now protocol.Time, from protocol.Rank, number uint64) bool {
	if !m.knows() {
		return true
	}
	switch k := m.rec.Conf.Number; {
	case number < k:
		m.tell(now, from)
		return true
	case m.phase != seated:
		return true
	case number > k:
		m.ask(from)
		return true
	}
	return m.next != nil
}

func (m *Machine) send(to protocol.Rank, msg protocol.Message, durable bool) {
	m.out.Send = append(m.out.Send, protocol.Envelope{To: to, Message: msg, Durable: durable})
}

// sendAll sends a message to a set of seats.
func (m *Machine) sendAll(to protocol.Set, msg protocol.Message) {
	for r := range to.All() {
		m.send(r, msg, false)
	}
}

// write asks for the state to be made durable.
func (m *Machine) write() {
	m.rec.Serial++
	m.dirty = true
}

// TakeRecord returns the state to be made durable, if it has changed since it was last taken.
func (m *Machine) TakeRecord(b []byte) ([]byte, bool) {
	if !m.dirty {
		return b, false
	}
	m.dirty = false
	r := m.rec
	if m.next != nil {
		r.Conf, r.Settled, r.Ballot, r.Accepted, r.Heir = m.next, false, Ballot{}, Vote{}, Vote{}
		r.Removed = !m.names(m.next)
	}
	return r.Append(b), true
}

// Serial returns the number of the state that TakeRecord returned last.
func (m *Machine) Serial() uint64 { return m.rec.Serial }

// Durable notes that the state with a serial is on disk.
func (m *Machine) Durable(now protocol.Time, serial uint64, out *protocol.Effects) {
	m.now, m.out = now, out
	m.durable = max(m.durable, serial)
	if m.next != nil && m.durable >= m.landing {
		m.land(now)
	}
	m.settle(now)
}

// votes says whether the member may vote on the next configuration: it knows who it is, and what its other starts promised is over.
func (m *Machine) votes(now protocol.Time) bool {
	return m.phase == seated && m.next == nil && m.host.Inc() != 0 && now >= m.doubt && m.rec.Heir.Conf == nil
}

// Forget makes the member ask what it has forgotten, because its record is not trusted any more.
func (m *Machine) Forget(now protocol.Time) { m.forget(now) }

// Restored gives a member that goes on from a snapshot another life.
func (m *Machine) Restored(now protocol.Time, start protocol.StartBits) {
	m.pcg.Seed(binary.BigEndian.Uint64(start[:]), binary.BigEndian.Uint64(start[8:]))
	m.nonce = m.rng.Uint64()
	m.want = nil
	m.forget(now)
}

func (m *Machine) state(ev protocol.Ev, c *Config, why string) {
	d := c.Digest()
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: ev, Dom: protocol.Quorum, Seq: c.Number, Gen: binary.BigEndian.Uint64(d[:]) >> 16, Term: c.Floor,
		Members: c.Voters(), Why: why})
	if len(c.Parents) > 0 {
		m.out.Facts[len(m.out.Facts)-1].Detail = c
	}
}

// Package members is a member of a council that changes while it runs: it combines the agreement on configurations (package
// council) with quorum leases (package nerio) into one machine.
//
// The two share one record, which nerio owns: what council keeps is a part of it. Ranks are seats, so nothing is renumbered when the
// council changes. A request for a lease is judged only by a voter that has the same configuration as its sender; the voter answers
// a request of a lower number with its configuration, and asks the sender of a higher one for that. While a configuration is on its
// way to the disk the voter judges none. All other messages of nerio are valid in every configuration: they name members by their
// seats, and a seat is empty for a number before it is used again.
//
// docs/members.md has the rules.
package members

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/record"
	"github.com/regentproject/regent/internal/protocol/stack"
)

// Config is what a member has to know of itself.
type Config struct {
	Council council.Options
	// Carried says whether all is known here that was agreed on besides leases under the configurations before the one with a
	// number; nil: there is nothing besides. The member settles in a configuration only then.
	Carried func(number uint64) bool
	// Leases returns the configuration of the member's leases. Machine sets what follows from the configuration of the council: Listing
	// only if it is zero, and Balance only if it is not nil.
	Leases func(c *council.Config) nerio.Config
}

// Machine is one member.
type Machine struct {
	cfg    Config
	seed   uint64
	record []byte
	part   *council.Record
	bare   bool              // the record has no part of the council
	out    *protocol.Effects // of the present Step
	now    protocol.Time     // of the present Step

	council *council.Machine
	// leases is nil while no configuration has named the member, and born says that it has not been started yet.
	leases *nerio.Machine
	born   bool
	// wishes are commands that came before the member had a seat: what its programs want, see remember. It takes them afterwards, one in each Step, and before
	// those that come meanwhile.
	wishes []protocol.Event
	// pending are the serials of the records that are not yet on disk.
	pending []uint64
	// close says that the member was asked to leave the council.
	close bool
	shape *stack.Shape
}

// New returns a member that starts from its encoded record; nil if it has none. A damaged record is a lost one.
func New(cfg Config, rec []byte, seed uint64) (*Machine, error) {
	m := &Machine{cfg: cfg, seed: seed}
	if rec != nil {
		r, err := record.Decode(rec)
		if err != nil && !errors.Is(err, record.ErrDamaged) {
			return nil, err
		}
		if err == nil {
			err = m.take(rec, &r)
		}
		if err != nil && !errors.Is(err, record.ErrDamaged) {
			return nil, err
		}
	}
	conf := cfg.Council.First
	if m.part != nil {
		conf = m.part.Conf
	}
	if conf != nil {
		if q := cfg.Leases(conf).Quorums; q.Members() > 0 && !q.EqualVotes() {
			return nil, fmt.Errorf("members: quorums by %v: a council whose members have different votes cannot change while it runs, "+
				"because a quorum of the old votes and one of the new need not have a member in common", q)
		}
	}
	if conf == nil || m.part != nil && m.part.Removed || conf.Named(cfg.Council.Name) == nil {
		return m, nil
	}
	var err error
	m.leases, err = nerio.New(m.under(conf, conf.Named(cfg.Council.Name).Seat), m.record, seed)
	if err != nil {
		return nil, err
	}
	if m.part == nil || m.bare {
		m.leases.Keep(council.FirstRecord(&cfg.Council))
	}
	return m, nil
}

// take starts from a whole record, if it is one of a member that has spoken. One that has no part of the council was written while the
// council could not change: its configuration is the first one.
func (m *Machine) take(encoded []byte, r *record.Record) error {
	part := r.Wedge
	switch {
	case r.Inc == 0:
		return nil
	case len(part) == 0 && m.cfg.Council.First == nil:
		return nil
	case len(part) == 0:
		part, m.bare = council.FirstRecord(&m.cfg.Council), true
	}
	p, err := council.DecodeRecord(part)
	if err != nil {
		return err
	}
	if p.Conf.Descends(r.Council) { // the member has stopped before its leases have followed
		r.Council = p.Conf.Council
		encoded = r.Append(nil)
	}
	m.part, m.record = p, encoded
	return nil
}

// under returns the configuration of leases under a configuration of the council.
func (m *Machine) under(c *council.Config, seat protocol.Rank) nerio.Config {
	n := m.cfg.Leases(c)
	seats := max(c.Seats(), int(seat)+1, n.Quorums.Members())
	if m.leases != nil {
		seats = max(seats, m.leases.Members())
	}
	n.Me, n.Quorums, n.Leaders = seat, protocol.MajorityOf(seats, c.Voters()), c.Leaders()
	n.Absent = protocol.Everyone(seats).Minus(c.Present())
	n.Leaving = protocol.Set{}
	for r := range c.Voters().All() {
		if c.Leaving(r) {
			n.Leaving.Add(r)
		}
	}
	if n.Balance != nil {
		n.Balance = order(c, seats)
	}
	n.Epoch, n.Council = c.Number, c.Council
	n.Bootstrap = n.Bootstrap && c.Number == 0
	if n.Listing == [32]byte{} {
		n.Listing, n.Digest = c.Digest(), 0
	}
	n.Longest, n.Rho, n.Guarded = c.Terms.Longest, c.Terms.Rho, true
	n.Lease = min(n.Lease, n.Longest) // it is the member's own setting, and may be from before the longest was changed
	m.shape = &stack.Shape{Self: seat, Members: seats, Present: c.Present(), Voters: c.Voters(), Leaders: c.Leaders()}
	return n
}

// order is in which order members have their turn in each group of a balanced council.
func order(c *council.Config, seats int) balance.Order {
	o := make(balance.Order, seats)
	for i := range c.Members {
		m := &c.Members[i]
		o[m.Seat] = balance.Share{Seed: balance.Seed(m.Name), Weight: m.Weight, Class: m.Priority}
	}
	return o
}

// Shape returns who is in the council that is in force; nil while the member has no seat.
func (m *Machine) Shape() *stack.Shape { return m.shape }

// Step implements protocol.Machine.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now, m.out = now, out
	pass := protocol.Event(protocol.Tick{}) // what the leases take: exactly one event, and the last
	switch ev := ev.(type) {
	case protocol.Start:
		m.start()
		return
	case *protocol.Receive:
		if m.receive(ev) {
			pass = ev
		}
	case protocol.Persisted:
		pass = ev
		if len(m.pending) > 0 {
			serial := m.pending[0]
			m.pending = slices.Delete(m.pending, 0, 1)
			m.council.Durable(now, serial, out)
		}
	case protocol.Restored:
		pass = ev
		m.council.Restored(now, ev.Start)
	case protocol.Reconfigure:
		m.change(ev)
	case protocol.Tick:
		m.council.Step(now, ev, out)
	default:
		pass = ev
	}
	m.finish(pass)
}

// start starts the leases first: they decide whether the record is trusted.
func (m *Machine) start() {
	trusted := m.leases == nil
	if m.leases != nil {
		m.leases.Step(m.now, protocol.Start{}, m.out)
		trusted = m.leases.Trusted()
	}
	m.council = council.New(m.cfg.Council, (*host)(m), m.part, trusted, m.seed)
	m.council.Start(m.now, m.out)
	m.wrote()
	m.wake()
}

// receive gives a message to the machine that it is for. It says whether that is the leases.
func (m *Machine) receive(ev *protocol.Receive) bool {
	if council.Owns(ev.Message) {
		m.council.Step(m.now, ev, m.out)
		return false
	}
	c := m.council.Conf()
	if _, is := ev.Message.(*nerio.Died); is { // its sender is not there
		return m.leases != nil && !m.council.Out() && c != nil && c.At(ev.From.Rank) != nil
	}
	m.council.Heard(m.now, ev.From)
	if c == nil || m.leases == nil || m.council.Out() {
		return m.leases != nil && !m.council.Out()
	}
	if m.council.Stopped() {
		return false
	}
	if c.At(ev.From.Rank) == nil {
		m.council.Lower(m.now, ev.From.Rank, m.out)
		return false
	}
	r, ok := ev.Message.(*lease.Request)
	switch {
	case !ok:
		return true
	case r.Epoch < c.Number:
		m.council.Lower(m.now, ev.From.Rank, m.out)
		return false
	case r.Epoch > c.Number:
		m.council.Higher(m.now, ev.From.Rank, m.out)
		return false
	}
	return !m.council.Adopting()
}

// change asks for another council.
func (m *Machine) change(ev protocol.Reconfigure) {
	c, err := council.DecodeChange(ev.Record)
	if err == nil {
		err = m.council.Change(m.now, c)
	}
	why := "asked"
	if err != nil {
		why = err.Error()
	}
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvAsked, Dom: protocol.Quorum, Why: why})
	m.council.Step(m.now, protocol.Tick{}, m.out)
}

// finish lets the leases take their event, after all that the council has done.
func (m *Machine) finish(ev protocol.Event) {
	switch {
	case m.leases == nil:
		m.remember(ev)
		m.wake()
		return
	case m.born:
		m.born = false
		m.remember(ev)
		ev = protocol.Start{}
	case len(m.wishes) > 0 && wish(ev):
		// What came while the member had no seat goes first: a program that resigned then, and campaigns now, wants to lead.
		m.remember(ev)
		ev = m.left()
	case ev == protocol.Event(protocol.Tick{}): // what is left to do waits for a Tick, which is asked for
		ev = m.left()
	}
	if b, ok := m.council.TakeRecord(nil); ok {
		m.leases.Keep(b)
	}
	inc := m.leases.Incarnation()
	m.leases.Step(m.now, ev, m.out)
	if m.council.Forgetful() && m.leases.Begun() {
		m.council.Found(m.now)
		m.council.TakeRecord(nil) // it is what was kept from the start
	} else if m.council.Seated() && m.leases.Withheld() {
		m.council.Forget(m.now)
	}
	m.wrote()
	m.wake()
	if m.leases.Incarnation() != inc || len(m.wishes) > 0 || m.close {
		m.out.Wake = m.now
	}
}

// left takes the first of what is left to do; a Tick if that is nothing.
func (m *Machine) left() protocol.Event {
	switch {
	case m.close:
		m.close = false
		return protocol.Close{}
	case len(m.wishes) > 0:
		ev := m.wishes[0]
		m.wishes = slices.Delete(m.wishes, 0, 1)
		return ev
	}
	return protocol.Tick{}
}

// wish says whether an event is a command that a member remembers until it has a seat.
func wish(ev protocol.Event) bool {
	switch ev.(type) {
	case protocol.Campaign, protocol.Resign, protocol.Health:
		return true
	}
	return false
}

// remember keeps a command of a program for when the member has a seat. Until then it keeps what is wanted now, and not how that came about: one campaign
// for each group that a program wants to lead, and the last word on the health of the host. Nothing was begun that an earlier command would end. Afterwards each Step
// takes one command, and brings one at most.
func (m *Machine) remember(ev protocol.Event) {
	if !wish(ev) {
		return
	}
	if m.leases == nil {
		m.wishes = slices.DeleteFunc(m.wishes, func(w protocol.Event) bool { return supersedes(ev, w) })
		if _, none := ev.(protocol.Resign); none {
			return
		}
	}
	m.wishes = append(m.wishes, ev)
}

// supersedes says whether a command makes an earlier one pointless of which nothing has come yet.
func supersedes(ev, earlier protocol.Event) bool {
	_, health := earlier.(protocol.Health)
	c, campaign := earlier.(protocol.Campaign)
	switch ev := ev.(type) {
	case protocol.Campaign:
		return campaign && c.Group == ev.Group
	case protocol.Resign:
		return campaign && c.Group == ev.Group
	case protocol.Health:
		return health
	}
	return false
}

// wrote notes that the Step has written a record.
func (m *Machine) wrote() {
	if len(m.out.Persist) > 0 {
		m.pending = append(m.pending, m.council.Serial())
	}
}

// wake sets the wake for both.
func (m *Machine) wake() {
	if m.leases == nil {
		m.out.Wake = protocol.Never
	}
	m.out.Wake = min(m.out.Wake, m.council.Wake())
}

// Council returns the member's part in the agreement.
func (m *Machine) Council() *council.Machine { return m.council }

// Conf returns the configuration in force; nil if none is known.
func (m *Machine) Conf() *council.Config {
	if m.council == nil {
		return nil
	}
	return m.council.Conf()
}

// Seat returns the member's seat; Nobody if it has none.
func (m *Machine) Seat() protocol.Rank {
	if m.council == nil {
		return protocol.Nobody
	}
	return m.council.Seat()
}

// Settled says whether the member has settled in the configuration in force.
func (m *Machine) Settled() bool { return m.council != nil && m.council.Settled() }

// Stopped says that the member has agreed to give its council up, and waits for the other survivors.
func (m *Machine) Stopped() bool { return m.council != nil && m.council.Stopped() }

// Begun says that this start of the member began the council.
func (m *Machine) Begun() bool { return m.leases != nil && m.leases.Begun() }

// Incarnation implements protocol.Incarnate. A member that has left the council does not speak.
func (m *Machine) Incarnation() protocol.Inc {
	if m.leases == nil || m.council != nil && m.council.Out() && m.leases.Closed() {
		return 0
	}
	return m.leases.Incarnation()
}

// Votes implements protocol.Incarnate.
func (m *Machine) Votes() protocol.Time {
	if m.leases == nil {
		return protocol.Never
	}
	return m.leases.Votes()
}

// Closed implements protocol.Closable.
func (m *Machine) Closed() bool { return m.leases == nil || m.leases.Closed() }

// Owns says whether a message is one of this machine's.
func (m *Machine) Owns(msg protocol.Message) bool {
	return council.Owns(msg) || m.leases != nil && m.leases.Owns(msg)
}

// TakeUnfit says whether the member, though trusted, has failed to gather a quorum, and forgets it.
func (m *Machine) TakeUnfit() bool { return m.leases != nil && m.leases.TakeUnfit() }

// Proved implements stack.Authority.
func (m *Machine) Proved() protocol.Time {
	if m.leases == nil {
		return 0
	}
	return m.leases.Proved()
}

// Offer returns the configuration in force for a member that asks for it; nil while this one has none to give.
func (m *Machine) Offer() *council.Config {
	if m.council == nil || !m.council.Seated() && !m.council.Out() {
		return nil
	}
	return m.council.Conf()
}

// Longer is that of the leases.
func (m *Machine) Longer(length time.Duration) []lease.LongLease {
	if m.leases == nil {
		return nil
	}
	return m.leases.Longer(length)
}

// LongestLock is that of the leases, and TermsLeft is.
func (m *Machine) LongestLock() time.Duration {
	if m.leases == nil {
		return 0
	}
	return m.leases.LongestLock()
}

// TermsLeft returns how many terms the member can accept before its disk has to write again.
func (m *Machine) TermsLeft() uint64 {
	if m.leases == nil {
		return 0
	}
	return m.leases.TermsLeft()
}

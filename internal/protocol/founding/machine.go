package founding

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/record"
)

// Config is what a member has to know.
type Config struct {
	Me      protocol.Rank
	Quorums protocol.Quorums
	// Listing is the digest of members and quorum system.
	Listing [32]byte
	// ID is the council's, if it is known already; zero if not.
	ID protocol.CouncilID
	// Drawn are 128 random bits, other ones at each start: the id, if this member is the one to draw it.
	Drawn protocol.CouncilID
	// Bootstrap lets the member take part in the beginning of a council.
	Bootstrap bool
	// Retry is how long a member waits before it asks again. It must exceed a round trip.
	Retry time.Duration
}

// best is the rank of the member that draws the id.
const best protocol.Rank = 0

// Machine is one member's part. It writes one record at most, which holds the id alone.
type Machine struct {
	cfg     Config
	id      protocol.CouncilID
	writing bool // the id is on its way to the disk
	nonce   uint64
	answers []Tell
	got     protocol.Set
	// asked is the nonce of the last question of the best-ranked member that was answered with none.
	asked uint64
	// answered is when each member was last answered.
	answered []protocol.Time
	// bound is until when the member takes only what the best-ranked one names: that may draw an id meanwhile.
	bound protocol.Time
	due   protocol.Time
	rng   *rand.Rand
	ask   Ask
	tell  Tell
}

// New returns a member that starts. The seed must differ from start to start.
func New(c Config, seed uint64) (*Machine, error) {
	switch {
	case c.ID == (protocol.CouncilID{}) && c.Drawn == (protocol.CouncilID{}):
		return nil, errors.New("founding: no random bits for the id of a council")
	case c.Retry <= 0:
		return nil, errors.New("founding: the time between questions must be positive")
	}
	n := c.Quorums.Members()
	m := &Machine{cfg: c, id: c.ID, answers: make([]Tell, n), answered: make([]protocol.Time, n), due: protocol.Never,
		rng: rand.New(rand.NewPCG(seed, uint64(c.Me)))}
	for i := range m.answered {
		m.answered[i] = -protocol.Never
	}
	return m, nil
}

// ID returns the id of the council once it is durable; zero before.
func (m *Machine) ID() protocol.CouncilID {
	if m.writing {
		return protocol.CouncilID{}
	}
	return m.id
}

// Silent returns the members that have not answered the last question.
func (m *Machine) Silent() protocol.Set {
	return protocol.Everyone(m.cfg.Quorums.Members()).Minus(m.got.With(m.cfg.Me))
}

// Step implements protocol.Machine.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev := ev.(type) {
	case protocol.Start:
		m.start(now, out)
	case *protocol.Receive:
		switch msg := ev.Message.(type) {
		case *Ask:
			m.onAsk(now, ev.From.Rank, msg, out)
		case *Tell:
			m.onTell(now, ev.From.Rank, msg, out)
		}
	case protocol.Persisted:
		m.writing = false
	}
	if m.none() && now >= m.bound && m.bound != 0 {
		m.bound = 0
		m.renew(now)
	}
	if m.none() && now >= m.due {
		m.question(now, out)
	}
	out.Wake = protocol.Never
	if m.none() {
		out.Wake = m.due
		if m.bound != 0 {
			out.Wake = min(m.due, m.bound)
		}
	}
}

// start states the id that the member has, or begins to ask for it.
func (m *Machine) start(now protocol.Time, out *protocol.Effects) {
	if !m.none() {
		m.state("kept", out)
		return
	}
	m.bind(now)
	m.renew(now)
	m.decide(now, out)
}

// bind keeps the member from taking what others name for longer than the best-ranked member can still draw an id.
func (m *Machine) bind(now protocol.Time) {
	if m.cfg.Me != best {
		m.bound = now.Add(bindFor * m.cfg.Retry)
	}
}

// bindFor is longer than one Retry by more than any two clocks differ.
const bindFor = 2

// none says that the member has no id.
func (m *Machine) none() bool { return m.id == (protocol.CouncilID{}) }

// renew makes the answers so far count no longer.
func (m *Machine) renew(now protocol.Time) {
	m.nonce, m.got, m.due = m.rng.Uint64()|1, protocol.Set{}, now
}

// question asks all others.
func (m *Machine) question(now protocol.Time, out *protocol.Effects) {
	m.due = now.Add(m.cfg.Retry)
	if m.cfg.Me == best {
		m.nonce, m.got = m.rng.Uint64()|1, protocol.Set{} // answers count for one Retry
	}
	m.ask = Ask{Nonce: m.nonce, Listing: m.cfg.Listing}
	for r := range protocol.Rank(m.cfg.Quorums.Members()) {
		if r != m.cfg.Me {
			out.Send = append(out.Send, protocol.Envelope{To: r, Message: &m.ask})
		}
	}
}

// onAsk answers, unless the id is not on disk yet.
func (m *Machine) onAsk(now protocol.Time, from protocol.Rank, a *Ask, out *protocol.Effects) {
	if int(from) >= len(m.answers) || from == m.cfg.Me || a.Listing != m.cfg.Listing || m.writing {
		return
	}
	if last := &m.answered[from]; now.Sub(*last) >= m.cfg.Retry/4 {
		*last = now
	} else {
		return
	}
	if m.none() && from == best {
		m.bind(now)
		if a.Nonce != m.asked {
			m.asked = a.Nonce
			m.renew(now)
		}
	}
	m.tell = Tell{Nonce: a.Nonce, Listing: m.cfg.Listing, ID: m.id, Begins: m.none() && m.cfg.Bootstrap}
	out.Send = append(out.Send, protocol.Envelope{To: from, Message: &m.tell})
}

func (m *Machine) onTell(now protocol.Time, from protocol.Rank, t *Tell, out *protocol.Effects) {
	if int(from) >= len(m.answers) || from == m.cfg.Me || t.Listing != m.cfg.Listing || !m.none() || t.Nonce != m.nonce {
		return
	}
	m.answers[from] = *t
	m.got.Add(from)
	m.decide(now, out)
}

// decide looks whether the answers so far name the id, or let the member draw it.
func (m *Machine) decide(now protocol.Time, out *protocol.Effects) {
	var named protocol.CouncilID
	one, begins := true, m.cfg.Bootstrap
	for r := range m.got.All() {
		t := &m.answers[r]
		switch {
		case t.ID == (protocol.CouncilID{}):
			begins = begins && t.Begins
			continue
		case m.bound == 0 && m.cfg.Quorums.MeetsAll(m.naming(t.ID), m.cfg.Me):
			m.take(t.ID, "named", out)
			return
		case named != (protocol.CouncilID{}) && named != t.ID:
			one = false
		}
		named = t.ID
	}
	silent := m.Silent()
	if !silent.Empty() || !one {
		return
	}
	switch {
	case m.cfg.Me == best && named == (protocol.CouncilID{}) && begins && (now < m.due || m.cfg.Quorums.Members() == 1):
		m.take(m.cfg.Drawn, "drawn", out)
	case m.cfg.Me == best && named != (protocol.CouncilID{}):
		m.take(named, "adopted", out)
	case m.cfg.Me != best && named != (protocol.CouncilID{}) && m.answers[best].ID == named:
		m.take(named, "taken", out)
	}
}

// naming returns the members that have answered with an id.
func (m *Machine) naming(id protocol.CouncilID) (s protocol.Set) {
	for r := range m.got.All() {
		if m.answers[r].ID == id {
			s.Add(r)
		}
	}
	return s
}

// take makes the id durable.
func (m *Machine) take(id protocol.CouncilID, why string, out *protocol.Effects) {
	m.id, m.writing = id, true
	out.Persist = (&record.Record{Council: id}).Append(out.Persist[:0])
	m.state(why, out)
}

func (m *Machine) state(why string, out *protocol.Effects) {
	out.Facts = append(out.Facts, protocol.Fact{Ev: protocol.EvCouncil, Dom: protocol.Quorum, Seq: binary.BigEndian.Uint64(m.id[:]), Why: why})
}

package nerio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/record"
)

// Machine is one member of one council: voter, and candidate for any number of groups.
type Machine struct {
	cfg     Config
	lcfg    lease.Config
	out     *protocol.Effects // of the present Step
	terms   lease.Terms
	reach   lease.Reach
	grantor *lease.Grantor
	holder  *lease.Holder
	pcg     *rand.PCG
	rng     *rand.Rand
	now     protocol.Time // of the present Step
	sent    int           // how many messages of others out held when it began

	start  starting
	disk   disk
	groups map[protocol.Group]*groupState
	wanted []*groupState // groups with a candidate of this member
	wishes []wish        // the lengths that they are wanted with
	agenda lease.Agenda[*groupState]
	// queue holds wanted groups for which there were too many attempts.
	queue           []*groupState
	voters, leaders protocol.Set
	// withheld members without a trusted record do not begin yet.
	withheld bool
	// held is before when the member grants nothing, besides all other reasons.
	held protocol.Time
	// yields is from when on the member hands over what it leads, if it is to leave.
	yields protocol.Time
	// ill members, and drained ones, try for nothing. barred are others that would not lead now.
	ill    bool
	barred protocol.Set
	prefer preference
	// balance is how groups spread over the members.
	balance balancing
	// trusted is whom the elector trusts, or Nobody. lapsed is the last member that let this voter's promise run out, unless
	// it has asked for something since.
	trusted, lapsed protocol.Rank
	// failed counts attempts in a row that came to nothing though nobody refused them, and counted is when the last of
	// them failed.
	failed  int
	counted protocol.Time
	unfit   bool
	asks    asks
	tells   tells
	values  values
	closing closing
	keep    func(protocol.Group) bool
	swept   protocol.Time
}

// New returns a member that starts from its encoded record; nil if it has none. A damaged record is a lost one. A record
// of the same epoch but of another council is refused. The seed decides all that the machine leaves to chance, and must
// differ from start to start.
func New(cfg Config, rec []byte, seed uint64) (*Machine, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, lcfg: cfg.lease(), trusted: protocol.Nobody, lapsed: protocol.Nobody, groups: make(map[protocol.Group]*groupState),
		counted: -protocol.Never, voters: cfg.Quorums.Voters(), leaders: cfg.leaders()}
	if cfg.Balance != nil {
		m.balance.since = make([]protocol.Time, m.lcfg.Members)
	}
	if cfg.Prefer > 0 || cfg.Balance != nil {
		m.prefer.links = make([]fastLink, m.lcfg.Members)
	}
	m.pcg = rand.NewPCG(seed, uint64(cfg.Me))
	m.rng = rand.New(m.pcg)
	if cfg.Start == (protocol.StartBits{}) {
		m.cfg.Start = startBits(seed, cfg.Me)
	}
	m.start.peers = make([]peer, m.lcfg.Members)
	m.start.answers = make([]Known, m.lcfg.Members)
	m.grantor = lease.NewGrantor(&m.lcfg, (*policy)(m), &m.terms, &m.reach)
	m.holder = lease.NewHolder(&m.lcfg, (*policy)(m), &m.terms, m.grantor)
	m.keep = m.keeps
	if rec != nil && !cfg.Diskless {
		r, err := record.Decode(rec)
		switch {
		case errors.Is(err, record.ErrDamaged):
		case err != nil:
			return nil, err
		case r.Council != cfg.Council:
			return nil, fmt.Errorf("nerio: the record is of council %v, the configuration of council %v: give each council a directory "+
				"of its own", r.Council, cfg.Council)
		case r.Inc == 0: // it holds the council's id only
		case r.Epoch == cfg.Epoch && r.Digest != cfg.Listing:
			return nil, fmt.Errorf("nerio: the record is of epoch %d with other members or other votes: a quorum of the record and one of the "+
				"configuration need not have a member in common, so two members could lead at once (start with the members and votes of "+
				"the record; to change them, stop all members, wait for the longest lease, and begin a new council with empty directories)", r.Epoch)
		case r.Epoch > cfg.Epoch:
			return nil, fmt.Errorf("nerio: the record is of epoch %d, the configuration of epoch %d: start with the newer one",
				r.Epoch, cfg.Epoch)
		default:
			m.disk.record, m.disk.had = r, true
		}
	}
	m.disk.record.Council = cfg.Council
	return m, nil
}

// startBits draws the bits of a start from its seed.
func startBits(seed uint64, me protocol.Rank) (b protocol.StartBits) {
	draw := rand.New(rand.NewPCG(seed, ^uint64(me)))
	binary.BigEndian.PutUint64(b[:], draw.Uint64())
	binary.BigEndian.PutUint64(b[8:], draw.Uint64())
	return b
}

// policy is what makes the leases of the core Nerio's.
type policy Machine

func (p *policy) Accept(_ protocol.Time, from protocol.Ident, _ *lease.Claim) bool {
	return p.leaders.Has(from.Rank)
}

func (p *policy) Candidate(c *lease.Claim) (would, joined bool) {
	s, m := p.groups[c.Group], (*Machine)(p)
	if s == nil || !m.stands(s) {
		return false, false
	}
	return true, m.answersJoined(s, c.Token != 0)
}

func (p *policy) Complete(backers protocol.Set) bool { return p.cfg.Quorums.In(backers) }

// Step implements protocol.Machine.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now, m.out = now, out
	m.sent = len(out.Send)
	m.holder.Begin(now, out) // a lease whose end has come is over before anything else happens
	if _, ok := ev.(protocol.Restored); ok {
		m.forget(now)
	}
	m.grantor.Begin(now, out)
	switch ev := ev.(type) {
	case protocol.Start:
		m.onStart(now)
	case *protocol.Receive:
		m.onReceive(now, ev)
	case protocol.Persisted:
		m.onPersisted(now)
	case protocol.Restored:
		m.onRestored(now, ev)
	case protocol.Campaign:
		m.onCampaign(now, ev)
	case protocol.Resign:
		m.onResign(now, ev)
	case protocol.Lapse:
		m.onLapse(now, ev)
	case protocol.Announce:
		m.onAnnounce(now, ev)
	case protocol.Transfer:
		m.onTransfer(now, ev)
	case protocol.Stopped:
		m.onStopped(now, ev.Group)
	case protocol.Trusts:
		m.onTrusts(now, ev)
	case protocol.Health:
		m.onHealth(now, ev)
	case protocol.Find:
		m.onFind(now, ev)
	case protocol.Verify:
		m.onVerifyCommand(now, ev)
	case protocol.Close:
		m.onClose(now)
	}
	m.settle(now)
}

// settle does what is due, whatever the event was, and sends what has to be sent. The order of its calls counts:
//
//   - onStartTimer first: the member may find out who it is, and may try for its groups from then on.
//   - take before the agenda: what happened to a group decides when it is looked at next. And once more after it, because
//     an attempt may fail at once.
//   - dequeue after that: attempts that have ended make room for others.
//   - dueBalance and all before it, that try for groups or give them up, before Flush: a voter gets all claims and
//     releases of a Step in one request.
//   - sweep after all that may still want a group.
//   - write after onClosing, which notes a clean stop, and after all attempts, whose terms may raise the ceiling.
//   - hold last of those that have to do with messages: it takes back some of them.
//   - the wake at the end, for all of these set timers.
//
// Asks, tells and values only send messages of their own. They stand where their messages always stood.
func (m *Machine) settle(now protocol.Time) {
	m.onStartTimer(now)
	m.take(now)
	for {
		at, s, ok := m.agenda.Due(now)
		if !ok {
			break
		}
		if s.due == at {
			s.due = protocol.Never
			m.consider(now, s)
		}
	}
	m.take(now)
	m.dequeue(now)
	m.dueAsks(now)
	m.dueTells(now)
	m.dueValues(now)
	m.duePreference(now)
	m.dueBalance(now)
	m.yieldAll(now)
	m.sweep(now)
	if m.speaks() {
		m.holder.Flush(now)
	} else {
		m.holder.Mute()
	}
	m.onClosing(now)
	m.write()
	m.hold()
	m.out.Wake = min(m.holder.Next(), m.grantor.Next(), m.agenda.Next(), m.start.due, m.asks.next(), m.tells.due, m.values.due, m.closing.due, m.writeDue())
	if now < m.yields && m.leaving() {
		m.out.Wake = min(m.out.Wake, m.yields)
	}
}

// take acts on what happened to groups.
func (m *Machine) take(now protocol.Time) {
	for _, o := range m.holder.TakeOutcomes() {
		m.onOutcome(now, &o)
	}
	for _, c := range m.grantor.TakeChanges() {
		if c.Cause.Code == protocol.LeaseExpired || c.Cause.Code == protocol.Died {
			m.lapsed = c.Cause.Peer
			m.lapse(now, c.Cause.Peer)
		}
		s := m.group(c.Group)
		m.publish(now, s, c.Cause)
		m.consider(now, s)
	}
}

func (m *Machine) onOutcome(now protocol.Time, o *lease.Outcome) {
	s := m.group(o.Group)
	switch o.What {
	case lease.Gained:
		m.failed, s.since, s.joined = 0, now, false
		m.beginValue(now, s)
		m.publish(now, s, o.Cause)
	case lease.Moved, lease.Overdue:
		m.publish(now, s, o.Cause)
	case lease.Lost:
		m.publish(now, s, o.Cause)
		m.onLost(now, s, o)
	case lease.Failed:
		m.onFailed(now, s, o)
	}
}

// TakeUnfit says whether the member, though trusted, has failed to gather a quorum, and forgets it. Whoever runs the
// elector passes that on.
func (m *Machine) TakeUnfit() bool {
	u := m.unfit
	m.unfit = false
	return u
}

const (
	// idleFor is how many of the longest promises that may stand a group is remembered for after it was last led.
	idleFor = 10
	// fewGroups that nobody leads are never forgotten: they cost nothing, and terms stay small.
	fewGroups = 64
)

// sweep forgets idle groups, a few at a time.
func (m *Machine) sweep(now protocol.Time) {
	if m.grantor.Idle() <= fewGroups || now.Sub(m.swept) < m.cfg.Renew {
		return
	}
	m.swept = now
	m.grantor.Sweep(now, idleFor*m.reach.Bound, m.keep)
}

// keeps says whether a group is still wanted, and forgets what this package knows of one that is not.
func (m *Machine) keeps(g protocol.Group) bool {
	s := m.groups[g]
	if m.holder.Tries(g) || m.holder.Releases(g) || s != nil && (s.candidate || s.telling) {
		return true
	}
	if s != nil && s.known { // or the next candidacy would be a join
		m.groups[g] = &groupState{group: g, due: protocol.Never, known: true}
		return false
	}
	delete(m.groups, g)
	return false
}

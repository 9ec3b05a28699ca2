package council

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file is F1 to F4: how the survivors of a council that has lost a majority for good go on as another council.

// A Recovery is what an operator asks for at a survivor: to give the council up, and to go on without members that are lost.
type Recovery struct {
	// ID is drawn at random for the new council.
	ID protocol.CouncilID
	// Lost are the names of the members that are lost. All others are survivors.
	Lost []string
	// At is the time, in seconds since 1970, and By the member at which this is asked for.
	At uint64
	By string
	// Try only asks the survivors whether they would agree.
	Try bool
}

// append appends the encoding.
func (r *Recovery) append(b []byte) []byte {
	b = appendFlag(append(b, r.ID[:]...), r.Try)
	b = appendTexts(b, r.Lost)
	return appendText(binary.AppendUvarint(b, r.At), r.By)
}

func (r *reader) recovery() *Recovery {
	return &Recovery{ID: r.council(), Try: r.flag(), Lost: r.texts(), At: r.uint(1<<63 - 1), By: r.text()}
}

// An Objection is why a survivor does not give its council up.
type Objection uint8

const (
	NoObjection Objection = iota
	NotSeated             // it does not take part itself
	Forgot                // it has no trusted record, and is as good as lost
	Majority              // those that are not named as lost are a majority of the voters
	HeardFrom             // it has heard a member that is named as lost, or has run for too short a time to know
	NoLeader              // no survivor may lead
	Named                 // it is named as lost itself
	Ahead                 // it has another configuration
	TooOften              // councils were given up too often
)

// A Refusal is an objection, of whom, and about whom.
type Refusal struct {
	Why Objection
	By  protocol.Rank
	// About was heard so long Ago.
	About protocol.Rank
	Ago   time.Duration
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("council: %v objects (%d) because of %v, heard %v ago", r.By, r.Why, r.About, r.Ago)
}

// Abandon asks a survivor whether it gives the council up.
type Abandon struct {
	Number uint64
	Ballot Ballot
	// Lost are the seats of the members that are lost.
	Lost protocol.Set
}

// Abandoned answers Abandon: the sender accepts no heir of an earlier ballot any more, and that of Ballot only with Nonce, and soon.
type Abandoned struct {
	Number uint64
	Ballot Ballot
	Nonce  uint64
	// Heir is what the sender has agreed to before.
	Heir Vote
	// Highest bounds every term that the sender has accepted or proposed, and Bound for how long promises of members may stand.
	Highest uint64
	Bound   time.Duration
}

// Objected answers Abandon: the sender does not give the council up.
type Objected struct {
	Number uint64
	Ballot Ballot
	Why    Objection
	About  protocol.Rank
	Ago    time.Duration
	// Free says that the sender has agreed to no heir of that configuration, and agrees to none of this ballot or an earlier one.
	Free bool
	// Promised is a ballot above which the sender would answer otherwise; zero if none is.
	Promised Ballot
}

// Inherit asks a survivor to go on as Conf once all survivors have agreed to that.
type Inherit struct {
	Number uint64
	Ballot Ballot
	Nonce  uint64
	Conf   *Config
	Bound  time.Duration
}

// Inherited answers Inherit: it is on the sender's disk.
type Inherited struct {
	Number uint64
	Ballot Ballot
}

// Name says council.Abandon.
func (*Abandon) Name() string { return "council.Abandon" }

// Name says council.Abandoned.
func (*Abandoned) Name() string { return "council.Abandoned" }

// Name says council.Objected.
func (*Objected) Name() string { return "council.Objected" }

// Name says council.Inherit.
func (*Inherit) Name() string { return "council.Inherit" }

// Name says council.Inherited.
func (*Inherited) Name() string { return "council.Inherited" }

// Copy returns an independent copy. Configurations are never changed, and are shared.
func (m *Abandon) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Abandoned) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Objected) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Inherit) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Inherited) Copy() protocol.Message { c := *m; return &c }

// surrender is how far this member has got with giving its council up. Nothing of it outlives a start: what does is Record.Heir.
type surrender struct {
	// want is what was asked for here; nil: nothing. It is forgotten at until.
	want  *Recovery
	until protocol.Time
	// refusal is why the last one was refused; nil if it was not.
	refusal *Refusal
	// unheard are those that had not answered when it was forgotten.
	unheard protocol.Set
	backoff protocol.Time

	// The rest is this member's own attempt.

	on     bool
	ballot Ballot
	start  protocol.Time
	due    protocol.Time
	lost   protocol.Set
	// nonces are those of the members that have promised, by seat, and got says which have.
	nonces  []uint64
	got     protocol.Set
	best    Vote
	highest uint64
	bound   time.Duration
	value   *Config // nil in the first phase
	agreed  protocol.Set

	// What this member has promised to another attempt, until an instant.

	promised Ballot
	nonce    uint64
	expires  protocol.Time
}

// idle ends the attempt of this member.
func (s *surrender) idle() {
	*s = surrender{want: s.want, until: s.until, refusal: s.refusal, unheard: s.unheard, backoff: s.backoff, promised: s.promised, nonce: s.nonce, expires: s.expires}
}

// Stopped says that the member has agreed to go on with another council, and waits for the other survivors. It takes part in nothing.
func (m *Machine) Stopped() bool { return m.rec.Heir.Conf != nil && m.phase != gone }

// Heir returns the council that the member has agreed to go on with; nil if it has not.
func (m *Machine) Heir() *Config { return m.rec.Heir.Conf }

// Surrendering says whether an attempt is under way that was asked for here. If it is over without success, it says why it was refused, or who has
// not answered.
func (m *Machine) Surrendering() (asked bool, refused *Refusal, unheard protocol.Set) {
	s := &m.surrender
	return s.want != nil, s.refusal, s.unheard
}

// Awaited returns the members whose answers the present attempt waits for.
func (m *Machine) Awaited() (waits protocol.Set) {
	s := &m.surrender
	switch {
	case s.on && s.value != nil:
		return s.value.Present().Minus(s.agreed)
	case s.on:
		return m.rec.Conf.Present().Minus(s.lost).Minus(s.got)
	}
	return waits
}

// CheckSurrender says why the member does not give its council up for lack of members; nil if it would.
func (m *Machine) CheckSurrender(now protocol.Time, r *Recovery) *Refusal {
	if m.rec.Conf == nil {
		return &Refusal{Why: NotSeated, By: m.seat}
	}
	o := m.objection(now, m.seats(r.Lost))
	if o == nil && len(m.rec.Conf.Parents) >= maxParents {
		o = &Refusal{Why: TooOften, By: m.seat}
	}
	return o
}

func (m *Machine) seats(names []string) (s protocol.Set) {
	for _, n := range names {
		if x := m.rec.Conf.Named(n); x != nil {
			s.Add(x.Seat)
		}
	}
	return s
}

// objection says why the member does not give its council up for lack of some members (F1); nil if it would.
func (m *Machine) objection(now protocol.Time, lost protocol.Set) *Refusal {
	c := m.rec.Conf
	refuse := func(why Objection) *Refusal { return &Refusal{Why: why, By: m.seat} }
	voters, leaders := c.Voters(), c.Leaders()
	rest := leaders.Minus(lost)
	switch {
	case m.opt.Mourn == 0:
		return refuse(NotSeated)
	case m.phase == forgetful:
		return refuse(Forgot)
	case m.phase != seated || m.next != nil || m.host.Inc() == 0 || now < m.doubt && m.doubt != protocol.Never:
		return refuse(NotSeated)
	case lost.Has(m.seat):
		return refuse(Named)
	case c.majority(voters.Minus(lost)):
		return refuse(Majority)
	case rest.Empty():
		return refuse(NoLeader)
	}
	for r := range lost.All() {
		if ago := now.Sub(m.peer(r).heard); ago < max(m.opt.Mourn, time.Duration(m.opt.MournPromises)*c.Terms.Longest) {
			return &Refusal{Why: HeardFrom, By: m.seat, About: r, Ago: ago}
		}
	}
	return nil
}

// give begins what an operator has asked for.
func (m *Machine) give(now protocol.Time, r *Recovery) error {
	s := &m.surrender
	s.refusal, s.unheard = nil, protocol.Set{}
	if m.rec.Conf == nil || m.rec.Heir.Conf == nil || m.rec.Conf.Present().Minus(m.seats(r.Lost)) != m.rec.Heir.Conf.Present() {
		if o := m.CheckSurrender(now, r); o != nil {
			s.refusal = o
			return o
		}
	}
	s.idle()
	s.want, s.until, s.backoff = r, now.Add(m.opt.Patience), now
	return nil
}

// Silent returns for how long nothing was heard of the member in a seat.
func (m *Machine) Silent(now protocol.Time, seat protocol.Rank) time.Duration {
	if seat == m.seat {
		return 0
	}
	return now.Sub(m.peer(seat).heard)
}

// surrenderAt returns when the machine wants to do something for an attempt.
func (m *Machine) surrenderAt() protocol.Time {
	s := &m.surrender
	at := protocol.Never
	switch {
	case s.on:
		at = min(s.due, s.limit(m))
	case s.want != nil || m.rec.Heir.Conf != nil:
		at = s.backoff
	}
	if s.want != nil {
		at = min(at, s.until)
	}
	return at
}

// limit is when an attempt ends. Promises end earlier than that after they were made, so it is only a matter of time that is saved.
func (s *surrender) limit(m *Machine) protocol.Time { return s.start.Add(m.patience()) }

// patience is how long an attempt may take.
func (m *Machine) patience() time.Duration { return max(16*m.opt.RoundTrip, m.opt.Quiet) }

// surrenders begins attempts, and repeats what was not answered. A member that has agreed to an heir goes on trying: the one that
// proposed it may have crashed (F3).
func (m *Machine) surrenders(now protocol.Time) {
	s := &m.surrender
	if m.next != nil || m.host.Inc() == 0 {
		return
	}
	if s.want != nil && now >= s.until {
		s.want, s.unheard = nil, m.Awaited()
		if m.rec.Heir.Conf == nil {
			s.idle()
		}
	}
	switch {
	case s.on && now >= s.limit(m):
		m.desist(now)
	case s.on && now >= s.due:
		m.urge(now)
	case !s.on && now >= s.backoff && (s.want != nil || m.rec.Heir.Conf != nil):
		m.abandon(now)
	}
}

// desist ends an attempt; the next one begins after a random pause.
func (m *Machine) desist(now protocol.Time) {
	m.surrender.idle()
	m.surrender.backoff = now.Add(m.opt.RoundTrip + time.Duration(m.rng.Int64N(int64(15*m.opt.RoundTrip)+1)))
}

// abandon begins the first phase.
func (m *Machine) abandon(now protocol.Time) {
	s, c := &m.surrender, m.rec.Conf
	s.idle()
	m.round++
	s.on, s.ballot, s.start = true, Ballot{m.round, m.seat, m.host.Inc(), m.nonce}, now
	s.nonces = make([]uint64, c.Seats())
	if s.want != nil {
		s.lost = m.seats(s.want.Lost)
	} else {
		s.lost = c.Present().Minus(m.rec.Heir.Conf.Present())
	}
	m.urge(now)
}

// urge asks those that have not answered.
func (m *Machine) urge(now protocol.Time) {
	s := &m.surrender
	s.due = now.Add(m.opt.RoundTrip)
	if s.value == nil {
		m.sendAll(m.rec.Conf.Present().Minus(s.lost).Minus(s.got), &Abandon{Number: m.rec.Conf.Number, Ballot: s.ballot, Lost: s.lost})
		return
	}
	for r := range s.value.Present().Minus(s.agreed).All() {
		m.send(r, &Inherit{Number: m.rec.Conf.Number, Ballot: s.ballot, Nonce: s.nonces[r], Conf: s.value, Bound: s.bound}, false)
	}
}

func (m *Machine) onAbandon(now protocol.Time, from protocol.Ident, a *Abandon) {
	m.round = max(m.round, a.Ballot.Round)
	s, answer := &m.surrender, &Objected{Number: a.Number, Ballot: a.Ballot}
	o := m.objection(now, a.Lost)
	heir := m.rec.Heir.Conf
	switch {
	case a.Number != m.rec.Conf.Number:
		answer.Why, answer.Free = Ahead, a.Number < m.rec.Conf.Number && m.phase == seated && heir == nil
		m.behind(now, from.Rank, a.Number)
	case a.Ballot.below(s.promised):
		answer.Why, answer.Promised = Ahead, s.promised
	case heir != nil && heir.Present() == m.rec.Conf.Present().Minus(a.Lost), o == nil:
		s.promised, s.nonce, s.expires = a.Ballot, m.rng.Uint64(), now.Add(m.patience())
		m.send(from.Rank, &Abandoned{Number: a.Number, Ballot: a.Ballot, Nonce: s.nonce, Heir: m.rec.Heir, Highest: m.host.Highest(), Bound: m.rec.Bound}, true)
		return
	default:
		answer.Why, answer.About, answer.Ago = o.Why, o.About, o.Ago
		answer.Free = m.phase == seated && heir == nil
	}
	if answer.Free {
		s.promised, s.expires = a.Ballot, 0
	}
	m.send(from.Rank, answer, true)
}

func (m *Machine) onAbandoned(now protocol.Time, from protocol.Ident, a *Abandoned) {
	s := &m.surrender
	if !s.on || s.value != nil || a.Ballot != s.ballot || a.Number != m.rec.Conf.Number {
		return
	}
	survivors := m.rec.Conf.Present().Minus(s.lost)
	if !survivors.Has(from.Rank) {
		return
	}
	s.got.Add(from.Rank)
	s.nonces[from.Rank] = a.Nonce
	s.highest, s.bound = max(s.highest, a.Highest), max(s.bound, a.Bound)
	if a.Heir.Conf != nil && survivors.Contains(a.Heir.Conf.Present()) {
		s.best = s.best.later(a.Heir)
	}
	if !s.got.Contains(survivors) {
		return
	}
	if s.want != nil && s.want.Try {
		s.want = nil
		s.idle()
		return
	}
	// What survivors have agreed to before may be in force at one of them.
	s.value = s.best.Conf
	if s.value == nil && s.want == nil {
		m.desist(now)
		return
	}
	if s.value == nil {
		s.value = m.rec.Conf.heir(s.want, s.lost, s.highest)
	}
	m.urge(now)
}

// onObjected ends the attempt. A member that has agreed to an heir takes that back if another survivor has not agreed and does not: then
// nobody goes on with that heir, now or later.
func (m *Machine) onObjected(now protocol.Time, from protocol.Ident, o *Objected) {
	s := &m.surrender
	m.round = max(m.round, o.Promised.Round)
	if !s.on || o.Ballot != s.ballot || o.Number != m.rec.Conf.Number || s.value != nil {
		return
	}
	if o.Promised != (Ballot{}) {
		m.desist(now)
		return
	}
	if s.want != nil {
		s.refusal, s.want = &Refusal{Why: o.Why, By: from.Rank, About: o.About, Ago: o.Ago}, nil
	}
	heir := m.rec.Heir.Conf
	m.desist(now)
	if heir == nil || !o.Free {
		return
	}
	if present := heir.Present(); present.Has(from.Rank) {
		m.rec.Heir = Vote{}
		m.surrender.idle()
		m.write()
		m.state(protocol.EvVote, heir, "taken back")
		m.host.Hold(now, now.Add(m.rec.Bound))
	}
}

// onInherit is the second half of F2: the member agrees, and takes part in nothing from now on.
func (m *Machine) onInherit(now protocol.Time, from protocol.Ident, i *Inherit) {
	s, c := &m.surrender, m.rec.Conf
	if m.phase != seated || m.next != nil || m.host.Inc() == 0 || i.Number != c.Number || i.Ballot != s.promised || i.Nonce != s.nonce || now >= s.expires ||
		c.CheckHeir(i.Conf) != nil {
		return
	}
	present := i.Conf.Present()
	if m.rec.Heir.Conf == nil && m.objection(now, c.Present().Minus(present)) != nil || !present.Has(m.seat) {
		return
	}
	if m.rec.Heir.Conf == nil || m.rec.Heir.Ballot != i.Ballot {
		m.rec.Heir = Vote{i.Ballot, i.Conf}
		m.rec.Bound = max(m.rec.Bound, i.Bound)
		m.attempt, m.want = attempt{due: protocol.Never}, nil
		m.write()
		m.state(protocol.EvVote, i.Conf, "heir")
		m.host.Hold(now, protocol.Never)
	}
	m.send(from.Rank, &Inherited{Number: i.Number, Ballot: i.Ballot}, true)
}

// onInherited lets the new council begin when all survivors have agreed (F3).
func (m *Machine) onInherited(now protocol.Time, from protocol.Ident, i *Inherited) {
	s := &m.surrender
	if !s.on || s.value == nil || i.Ballot != s.ballot || i.Number != m.rec.Conf.Number {
		return
	}
	s.agreed.Add(from.Rank)
	if !s.agreed.Contains(s.value.Present()) {
		return
	}
	heir := s.value
	news := &Chosen{Conf: heir, Bound: max(m.rec.Bound, s.bound)}
	s.want = nil
	s.idle()
	m.state(protocol.EvChosen, heir, "")
	m.sendAll(heir.Present().Without(m.seat), news)
	m.onChosen(now, news)
}

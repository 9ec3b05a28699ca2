package council

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// This file is R2 to R4: how a member gets the next configuration chosen.

// An attempt is one ballot of this member.
type attempt struct {
	on     bool
	ballot Ballot
	slot   uint64
	// start is when it began. No answer counts that comes later than (1-ρ) of the longest promise after it (R2).
	start protocol.Time
	// due is when what was not answered is repeated.
	due      protocol.Time
	promises protocol.Set
	best     Vote
	highest  uint64
	value    *Config // nil in the first phase
	accepts  protocol.Set
}

// A Change is what an operator asks for.
type Change struct {
	// Goal is what the council shall be; nil if the running change is to be cancelled.
	Goal *Goal
	// Number, if not zero, is that of the configuration that the operator has seen: any other is not changed.
	Number uint64
	// Recovery, if it is set, gives the council up instead, and Acknowledge takes note of what was given up before.
	Recovery    *Recovery
	Acknowledge bool
	// Keys are those of members that are to leave, where they are others than in the configuration: keys may have been replaced or revoked by files.
	Keys []NamedKey
}

// A NamedKey is the public key of a member; empty if nothing is to be believed under any.
type NamedKey struct{ Name, Key string }

// enrol puts the keys of members that are to leave into the first step of the change.
func (c *Change) enrol(n *Config) *Config {
	for i := range n.Members {
		x := &n.Members[i]
		at := slices.IndexFunc(c.Keys, func(k NamedKey) bool { return k.Name == x.Name })
		if at >= 0 && !x.Guest && c.Goal.wish(x) == nil {
			x.Key = c.Keys[at].Key
		}
	}
	return n
}

// Reasons why a change is refused.
var (
	ErrChanging  = errors.New("council: another change is running: cancel it, or wait for its end")
	ErrUnchanged = errors.New("council: no change is running")
	ErrNotSeated = errors.New("council: this member does not take part yet: ask another one")
	ErrNumber    = errors.New("council: the configuration has another number")
	ErrTooLarge  = errors.New("council: too large to change while it runs")
	ErrNothing   = errors.New("council: there is nothing to acknowledge")
)

// Change makes the member propose a change. It returns an error if it will not. The change is under way once the configuration has
// a goal; a member that stops before that has forgotten it.
func (m *Machine) Change(now protocol.Time, c Change) error {
	if c.Recovery != nil {
		return m.give(now, c.Recovery)
	}
	if err := m.Judge(&c); err != nil || c.Goal != nil && m.rec.Conf.Goal != nil {
		return err
	}
	m.want, m.wanted, m.offered, m.fixed, m.unheard = &c, now, false, protocol.Set{}, protocol.Set{}
	m.since = now
	return nil
}

// Judge says why the member would not propose a change now.
func (m *Machine) Judge(c *Change) error {
	conf := m.rec.Conf
	switch {
	case m.phase != seated || m.host.Inc() == 0:
		return ErrNotSeated
	case c.Number != 0 && c.Number != conf.Number:
		return fmt.Errorf("%w: %d, not %d", ErrNumber, conf.Number, c.Number)
	case m.rec.Heir.Conf != nil:
		return ErrNotSeated
	case c.Acknowledge && (conf.Parent() == nil || conf.Acknowledged):
		return ErrNothing
	case c.Acknowledge:
		return nil
	case c.Goal == nil && conf.Goal == nil:
		return ErrUnchanged
	case c.Goal == nil:
		return nil
	case conf.Goal != nil && !conf.Goal.equal(c.Goal):
		return ErrChanging
	case conf.Goal != nil:
		return nil
	}
	return m.fits(c.Goal)
}

// fits says why a goal cannot be reached from the present configuration.
func (m *Machine) fits(g *Goal) error {
	if err := g.Check(); err != nil {
		return err
	}
	n := m.rec.Conf.Begin(g, &View{}, m.birth)
	m.rec.Conf.precede(n)
	return m.rec.Conf.CheckStep(n)
}

// Append appends the encoding of a change.
func (c *Change) Append(b []byte) []byte {
	switch {
	case c.Recovery != nil:
		return c.Recovery.append(binary.AppendUvarint(append(b, asksRecovery), c.Number))
	case c.Acknowledge:
		return binary.AppendUvarint(append(b, asksAcknowledgement), c.Number)
	}
	b = appendGoal(binary.AppendUvarint(append(b, version), c.Number), c.Goal)
	b = binary.AppendUvarint(b, uint64(len(c.Keys)))
	for _, k := range c.Keys {
		b = appendText(appendText(b, k.Name), k.Key)
	}
	return b
}

// The first byte of a change that has no goal.
const (
	asksRecovery        = 0xfe
	asksAcknowledgement = 0xff
)

// DecodeChange reads what Append wrote.
func DecodeChange(b []byte) (Change, error) {
	r := reader{b: b}
	kind := r.byte()
	c := Change{Number: r.uint(1<<64 - 1)}
	switch kind {
	case version:
		c.Goal = r.goal()
		for range r.uint(protocol.MaxMembers) {
			c.Keys = append(c.Keys, NamedKey{r.text(), r.text()})
		}
	case asksRecovery:
		c.Recovery = r.recovery()
	case asksAcknowledgement:
		c.Acknowledge = true
	default:
		r.fail(fmt.Errorf("council: version %d of a change: this program reads version %d", kind, version))
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail(fmt.Errorf("council: %d bytes too many", len(r.b)))
	}
	return c, r.err
}

func (g *Goal) equal(o *Goal) bool {
	a, b := *g, *o
	a.By, a.Asked, a.Within, b.By, b.Asked, b.Within = "", 0, 0, "", 0, 0
	return slices.Equal(appendGoal(nil, &a), appendGoal(nil, &b))
}

// limit returns until when answers count.
func (a *attempt) limit(c *Config) protocol.Time {
	return a.start.Add(c.Terms.Rho.WaitAtMost(c.Terms.Longest))
}

// reason says whether there is a configuration to propose, and how many round trips this member leaves to those before it.
func (m *Machine) reason() (turns int, ok bool) {
	c := m.rec.Conf
	turn := slices.Index(c.Order(), m.seat)
	switch {
	case m.want != nil:
		return 0, true
	case m.rec.Accepted.Conf != nil:
		return 4 + 4*turn, true
	case c.Goal != nil && m.value() != nil:
		return 4 * turn, true
	}
	return 0, false
}

// proposeAt returns when the next attempt begins.
func (m *Machine) proposeAt() protocol.Time {
	if m.attempt.on || m.since == 0 {
		return protocol.Never
	}
	turns, ok := m.reason()
	if !ok {
		return protocol.Never
	}
	return max(m.backoff, m.since.Add(time.Duration(turns)*m.opt.RoundTrip))
}

// propose begins an attempt, repeats what was not answered, and gives up what takes too long.
func (m *Machine) propose(now protocol.Time) {
	a := &m.attempt
	if m.next != nil || m.host.Inc() == 0 || !m.rec.Settled || m.rec.Heir.Conf != nil {
		return
	}
	m.withdraw(now)
	switch {
	case a.on && now >= a.limit(m.rec.Conf):
		m.giveUp(now)
	case a.on && now >= a.due:
		m.press(now)
	case a.on:
	default:
		_, ok := m.reason()
		if !ok {
			m.since = 0
			return
		}
		if m.since == 0 {
			m.since = now
		}
		if now >= m.proposeAt() {
			m.begin(now)
		}
	}
}

// begin begins the first phase.
func (m *Machine) begin(now protocol.Time) {
	m.round++
	m.attempt = attempt{on: true, ballot: Ballot{m.round, m.seat, m.host.Inc(), m.nonce}, slot: m.rec.Conf.Number + 1, start: now}
	m.press(now)
}

// press asks those that have not answered.
func (m *Machine) press(now protocol.Time) {
	a := &m.attempt
	a.due = now.Add(m.opt.RoundTrip)
	voters := m.rec.Conf.Voters()
	if a.value == nil && m.enough(now) {
		m.second(now)
		return
	}
	if a.value == nil {
		m.sendAll(voters.Minus(a.promises), &Prepare{Slot: a.slot, Ballot: a.ballot})
		return
	}
	m.sendAll(voters.Minus(a.accepts), &Accept{Slot: a.slot, Ballot: a.ballot, Conf: a.value})
}

// giveUp ends an attempt; the next one begins after a random pause of one to eight round trips.
func (m *Machine) giveUp(now protocol.Time) {
	m.attempt = attempt{due: protocol.Never}
	m.backoff = now.Add(m.opt.RoundTrip + time.Duration(m.rng.Int64N(int64(7*m.opt.RoundTrip)+1)))
}

// counts says whether an answer is to the present attempt, in time, and of a voter.
func (m *Machine) counts(now protocol.Time, from protocol.Rank, slot uint64, b Ballot) bool {
	a := &m.attempt
	if !a.on || a.slot != slot || a.ballot != b || m.next != nil || now >= a.limit(m.rec.Conf) {
		return false
	}
	voters := m.rec.Conf.Voters()
	return voters.Has(from)
}

func (m *Machine) onPromise(now protocol.Time, from protocol.Ident, p *Promise) {
	a := &m.attempt
	if !m.counts(now, from.Rank, p.Slot, p.Ballot) || a.value != nil {
		return
	}
	a.promises.Add(from.Rank)
	a.highest = max(a.highest, p.Highest)
	if p.Accepted.Conf != nil && (a.best.Conf == nil || a.best.Ballot.below(p.Accepted.Ballot)) {
		a.best = p.Accepted
	}
	m.fixed.Remove(from.Rank)
	if m.enough(now) {
		m.second(now)
	}
}

// enough says whether the second phase may begin. Before a change begins, all voters that are heard have a few round trips to object.
func (m *Machine) enough(now protocol.Time) bool {
	a := &m.attempt
	if !m.rec.Conf.majority(a.promises) {
		return false
	}
	if m.want == nil || now >= a.start.Add(4*m.opt.RoundTrip) {
		return true
	}
	voters := m.rec.Conf.Voters()
	for r := range voters.Minus(a.promises).Without(m.seat).All() {
		if now.Sub(m.peer(r).heard) <= m.opt.Quiet {
			return false
		}
	}
	return true
}

// second begins the second phase.
func (m *Machine) second(now protocol.Time) {
	a := &m.attempt
	a.value = a.best.Conf
	if a.value == nil {
		a.value = m.value()
		if a.value == nil {
			m.attempt = attempt{due: protocol.Never} // the reason is gone
			return
		}
		a.value.Floor = max(m.rec.Conf.Floor, a.highest)
	}
	m.offered = true
	m.press(now)
}

// value returns what the member would propose; nil if that is nothing.
func (m *Machine) value() *Config {
	c := m.rec.Conf
	var n *Config
	v := m.view()
	switch {
	case m.want != nil && m.want.Acknowledge:
		if c.Parent() == nil || c.Acknowledged {
			return nil
		}
		d := c.clone()
		d.Acknowledged = true
		n = &d
	case m.want != nil && m.want.Goal == nil && c.Goal != nil:
		n = c.Cancel("cancelled at " + m.opt.Name)
	case m.want != nil && m.want.Goal != nil && c.Goal == nil:
		n = m.want.enrol(c.Begin(m.want.Goal, &v, m.birth))
	default:
		n = c.Next(&v, m.birth)
	}
	if missing := m.missing(); n == nil && missing != nil {
		n = c.Cancel(fmt.Sprintf("given up: %s was not heard for %v; nothing was risked", missing.Name, c.Goal.Within))
	}
	if n == nil {
		return nil
	}
	c.precede(n)
	n.Floor = c.Floor
	return n
}

// missing is R13: it returns a newcomer that is to vote and was silent for as long as the goal allows since the last step; nil if there is
// none.
func (m *Machine) missing() *Member {
	c := m.rec.Conf
	if c.Goal == nil || c.Goal.Within == 0 {
		return nil
	}
	for i := range c.Members {
		x := &c.Members[i]
		if x.Seat != m.seat && x.Guest && !x.Role.votes() && c.Goal.role(x).votes() && m.Silence(m.now, x.Seat) >= c.Goal.Within {
			return x
		}
	}
	return nil
}

// birth returns a birth for a newcomer. No other life of any member gives it away, nor this one for another number or name.
func (m *Machine) birth(name string) (b Birth) {
	x := binary.BigEndian.AppendUint64(nil, m.nonce)
	x = binary.BigEndian.AppendUint64(x, m.rec.Conf.Number)
	sum := sha256.Sum256(append(x, name...))
	copy(b[:], sum[:])
	return b
}

// view is what the member knows of the others.
func (m *Machine) view() (v View) {
	leads, assigned := m.host.Leads()
	idle := m.rec.Conf.Goal == nil // nobody repeats how many groups it leads, and no wait has begun
	patient := m.now < m.settledAt.Add(m.opt.Patience)
	lenient := idle || m.now < m.settledAt.Add(cmp.Or(m.opt.HandOver, m.opt.Patience))
	if leads > 0 && lenient {
		v.Leading.Add(m.seat)
	}
	v.Ready.Add(m.seat)
	for r := range m.rec.Conf.Present().All() {
		p := m.peer(r)
		if r == m.seat {
			continue
		}
		if m.now.Sub(p.heard) > m.opt.Dead {
			v.Dead.Add(r)
		}
		here := p.carry.Number == m.rec.Conf.Number && p.carried != 0 && m.now.Sub(p.carried) <= 8*m.opt.Renew
		if here && p.carry.Settled && (p.carry.Assigned >= assigned || !patient) {
			v.Ready.Add(r)
		}
		alive := m.now.Sub(p.heard) <= m.opt.Quiet // and may lead, if it has not said in this number that it does not
		if lenient && (here && !idle && p.carry.Leads > 0 || alive && (idle || !here)) {
			v.Leading.Add(r)
		}
	}
	return v
}

func (m *Machine) onAccepted(now protocol.Time, from protocol.Ident, p *Accepted) {
	a := &m.attempt
	if !m.counts(now, from.Rank, p.Slot, p.Ballot) || a.value == nil {
		return
	}
	a.accepts.Add(from.Rank)
	if !m.rec.Conf.majority(a.accepts) {
		return
	}
	chosen := a.value
	m.attempt = attempt{due: protocol.Never}
	m.state(protocol.EvChosen, chosen, "")
	m.out.Facts[len(m.out.Facts)-1].Detail = chosen
	to := m.rec.Conf.Present().Union(chosen.Present())
	news := &Chosen{Conf: chosen, Bound: max(m.rec.Bound, m.lost.bound, chosen.Terms.Wait())}
	m.sendAll(to.Without(m.seat), news)
	m.onChosen(now, news)
}

// onRefused ends the attempt if the acceptor is bound by a higher ballot. One that does not vote now may do so later.
func (m *Machine) onRefused(now protocol.Time, from protocol.Ident, r *Refused) {
	m.round = max(m.round, r.Promised.Round)
	mine := m.attempt.on && m.attempt.ballot == r.Ballot
	switch {
	case mine && r.Fixed:
		m.fixed.Add(from.Rank)
		if m.want != nil && m.attempt.value == nil {
			m.attempt, m.want = attempt{due: protocol.Never}, nil
		}
	case mine && r.Ballot.below(r.Promised):
		m.giveUp(now)
	}
}

// withdraw forgets a change that was asked for here if too few voters were heard since then. No member has accepted anything of it.
func (m *Machine) withdraw(now protocol.Time) {
	if m.want == nil || m.offered || m.opt.Answer == 0 || now < m.wanted.Add(m.opt.Answer) {
		return
	}
	voters := m.rec.Conf.Voters()
	heard := protocol.NewSet(m.seat)
	for r := range voters.Without(m.seat).All() {
		if m.peer(r).heard > m.wanted {
			heard.Add(r)
		}
	}
	if !m.rec.Conf.majority(heard) {
		m.attempt, m.want, m.unheard = attempt{due: protocol.Never}, nil, voters.Minus(heard)
	}
}

// Unheard returns the voters that were silent when a change was asked for here, if that was given up because they are too many.
func (m *Machine) Unheard() protocol.Set { return m.unheard }

// Fixed returns the voters that said, when a change was asked for here, that they cannot follow one.
func (m *Machine) Fixed() protocol.Set { return m.fixed }

package nerio

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// starting is how far the member has got in finding out who it is (PROTOCOLS §1.3).
type starting struct {
	phase phase
	inc   protocol.Inc
	// nonce marks the answers that count, answers has the one of each member, and got says which have come.
	nonce   uint64
	answers []Known
	got     protocol.Set
	// waited is when a member that has forgotten everything may believe what it is told.
	waited protocol.Time
	// listened is until when observers are waited for that have not answered.
	listened protocol.Time
	// asked says that the present nonce was drawn after waited.
	asked bool
	// due is when to ask again, or when the wait is over.
	due protocol.Time
	// begun says that this start of the member began the council.
	begun bool
	// reached is when a peer first answered this start; Never if none has. Until then another process may have the member's address and
	// promise things in its name. All that others than this start promised is over a longest promise after it.
	reached protocol.Time
	// peers is what was heard of each member, and introduced are those that have answered this incarnation's Recover.
	// Before that nothing else is said to them.
	peers      []peer
	introduced protocol.Set
	// settled is when attempts may begin though not all others have answered.
	settled protocol.Time
	// recorded says that the member starts from its record, which may be an old copy, and promised how long the promises of its last start
	// may stand, by the record and by what others answer.
	recorded bool
	promised time.Duration
	// clean says that the record has a clean-stop note, which is believed once all others have answered, and stands for how long what the
	// last start granted stands then.
	clean  bool
	stands time.Duration
}

// A peer is what this member has heard of another.
type peer struct {
	// life has the highest incarnation. Start and tag are zero until the peer has sent them.
	life protocol.Life
	// heard is when it last said anything under it.
	heard protocol.Time
	// accused is when the peer may be told again that it is outdated.
	accused protocol.Time
}

type phase uint8

const (
	unborn  phase = iota // not started
	lost                 // without a record
	writing              // the record of this incarnation is on its way to the disk
	speaks               // knows who it is
)

func (m *Machine) me() protocol.Ident { return protocol.Ident{Rank: m.cfg.Me, Inc: m.start.inc} }

func (m *Machine) speaks() bool { return m.start.phase == speaks }

// Incarnation implements protocol.Incarnate.
func (m *Machine) Incarnation() protocol.Inc {
	if !m.speaks() {
		return 0
	}
	return m.start.inc
}

// LongestLock returns the longest lock of a local group that this member, or a start of it before, may have given. It is
// known, and durable, once the member speaks.
func (m *Machine) LongestLock() time.Duration { return m.disk.record.Lock }

// Votes implements protocol.Incarnate.
func (m *Machine) Votes() protocol.Time {
	if m.start.begun {
		return 0
	}
	return m.grantor.ReadyAt()
}

func (m *Machine) onStart(now protocol.Time) {
	m.start.due = protocol.Never
	m.asks.reset()
	m.tells.due, m.values.due, m.closing.due = protocol.Never, protocol.Never, protocol.Never
	m.swept, m.start.reached = now, protocol.Never
	for i := range m.start.peers {
		m.start.peers[i].accused = now
	}
	r := &m.disk.record
	why := m.distrusted()
	if m.disk.had && why == "" {
		m.start.clean, m.start.recorded, m.start.stands = r.Clean, true, r.Promised
		// Others know whether a clean record is an old copy. A copy must not need more of that than one of a crashed member.
		m.start.promised = m.lcfg.AtLeast(r.Promised)
		since := protocol.Never // until the first answer
		if m.alone() {
			since = now
		}
		m.waitRestarted(since)
		m.begin(now, r.Inc+1, r.Ceiling, "record")
		return
	}
	r.Longest, r.Lock = max(r.Longest, m.cfg.Longest), max(r.Lock, m.cfg.Lock)
	if !m.disk.had {
		m.lose(now, "no record")
		return
	}
	m.terms.See(r.Ceiling) // an old copy is incomplete, not wrong
	m.lose(now, why)
}

// distrusted says why the member does not start from its record; empty if it does.
func (m *Machine) distrusted() string {
	switch r := &m.disk.record; {
	case r.Origin.Disowned(m.cfg.Origin):
		// Peers return the tags of lives under the key of before, which prove nothing here.
		return "disowned record"
	case r.Origin.Moved(m.cfg.Origin), m.cfg.Copied:
		return "copied record"
	case r.Void:
		return "void record"
	}
	return ""
}

func (m *Machine) wait(until protocol.Time, why string) {
	until = max(until, m.held)
	m.grantor.Wait(until)
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvWait, Dom: protocol.Quorum, Until: until, Why: why})
}

// waitRestarted waits until what the last start promised is over, counted from an instant.
func (m *Machine) waitRestarted(since protocol.Time) {
	m.wait(since.Add(m.lcfg.LongestPromise(m.start.promised)), "restarted")
}

// alone says that the member is a quorum by itself: it needs no answer, and cannot wait for one.
func (m *Machine) alone() bool { return m.cfg.Quorums.In(protocol.NewSet(m.cfg.Me)) }

// lose makes the member stop and ask. It grants nothing and renews nothing. It waits until what its other starts promised is over, counted
// from the first answer to this start, and until its own promises and leases are; then it asks what it has forgotten.
func (m *Machine) lose(now protocol.Time, why string) {
	st := &m.start
	st.phase, st.asked, st.begun, st.recorded = lost, false, false, false
	m.withheld, m.held = m.cfg.Guarded, 0
	m.untell()
	m.unsendValues()
	st.listened = now.Add(m.lcfg.Rho.WaitAtLeast(m.cfg.RoundTrip))
	st.waited = st.reached.Add(m.lcfg.LongestPromise(m.disk.record.Longest))
	if m.cfg.Diskless && m.cfg.Bootstrap && m.alone() {
		st.waited = now.Add(m.lcfg.LongestPromise(m.cfg.Longest))
	}
	if m.grantor.Outstanding() || m.holder.Active() {
		st.waited = max(st.waited, now.Add(m.lcfg.LongestPromise(max(m.cfg.Longest, m.disk.record.Longest)))) // the longest may have fallen
	}
	st.due = st.waited
	m.wait(protocol.Never, why)
	if m.cfg.Bootstrap || st.reached == protocol.Never {
		m.ask(now)
		m.answered(now)
	}
}

// ask puts the question to all others, with a new nonce if the answers so far do not count.
func (m *Machine) ask(now protocol.Time) {
	st := &m.start
	if st.nonce == 0 || st.phase == lost && !st.asked && now >= st.waited {
		st.nonce, st.got = m.rng.Uint64()|1, protocol.Set{}
		st.asked = now >= st.waited
	}
	question := protocol.Keep(m.out, Recover{Nonce: st.nonce, Bootstrap: m.cfg.Bootstrap && st.phase == lost && !m.disk.had, Sender: m.life(),
		Floor: m.terms.Floor})
	for r := range protocol.Rank(m.lcfg.Members) {
		// A member that did not know yet who it is may have found out, and one that had another configuration may have caught up.
		if r != m.cfg.Me && !m.cfg.Absent.Has(r) && (!st.got.Has(r) || st.phase == lost && (st.answers[r].State < Begun || !m.agrees(&st.answers[r]))) {
			m.send(r, question)
		}
	}
	if st.phase == speaks && now < st.settled {
		st.due = st.settled
		return
	}
	st.due = now.Add(m.cfg.Renew)
	if now < st.waited && st.phase == lost {
		st.due = min(st.due, st.waited)
	}
}

// onStartTimer asks again.
func (m *Machine) onStartTimer(now protocol.Time) {
	st := &m.start
	if now < st.due {
		return
	}
	switch {
	case st.phase == lost:
		m.ask(now)
		m.answered(now)
	case st.phase == speaks && !m.knownToAll():
		m.ask(now)
	default:
		st.due = protocol.Never
	}
}

func (m *Machine) onRecover(from protocol.Ident, r *Recover) {
	st := &m.start
	p := &st.peers[from.Rank]
	m.terms.SeeFloor(r.Floor) // so that the disk knows of it before the next failover
	known := Known{Nonce: r.Nonce, Highest: m.terms.Highest, Epoch: m.cfg.Epoch, Digest: m.cfg.Listing, Promised: m.reach.Bound,
		Longest: m.disk.record.Longest, Lock: m.disk.record.Lock, Heard: p.life, Bootstrap: m.cfg.Bootstrap, Sender: m.life()}
	if p.life.Inc != 0 {
		known.Silent = m.now.Sub(p.heard)
	}
	switch {
	case st.phase == speaks && st.begun:
		known.State = Begun
	case st.phase == speaks:
		known.State = Speaks
	case st.phase == lost && !m.disk.had && st.inc == 0:
		known.State = Fresh
	case st.phase == lost && m.disk.had:
		known.State = Asks
	default:
		known.State = Lost
	}
	m.send(from.Rank, protocol.Keep(m.out, known))
}

func (m *Machine) onKnown(now protocol.Time, from protocol.Ident, k *Known) {
	st := &m.start
	if k.Nonce != st.nonce || st.nonce == 0 {
		return
	}
	st.answers[from.Rank] = *k
	st.got.Add(from.Rank)
	m.heardBack(now)
	switch st.phase {
	case lost:
		m.answered(now)
	case speaks:
		m.introduced(now, from.Rank, k)
	}
}

// heardBack notes the first answer to this start. The member counts its wait from then on.
func (m *Machine) heardBack(now protocol.Time) {
	st := &m.start
	if st.reached != protocol.Never {
		return
	}
	st.reached = now
	m.reach.Reached(now)
	if st.phase == lost {
		st.waited = now.Add(m.lcfg.LongestPromise(m.disk.record.Longest))
		st.due = min(st.due, st.waited)
	}
	if st.recorded && !m.alone() && !m.grantor.Ready(now) {
		m.waitRestarted(now)
	}
}

// introduced notes that a member knows this incarnation and has never heard a later one, nor another start of this one.
// What it has seen of terms counts as long as nothing was granted, in case the record is an old copy after all. So do the promises that it knows to be usual: the
// member may have made longer ones than its record states.
func (m *Machine) introduced(now protocol.Time, r protocol.Rank, k *Known) {
	st := &m.start
	st.introduced.Add(r)
	m.terms.SeeFloor(k.Highest)
	if !m.grantor.Ready(now) {
		m.grantor.Raise(k.Highest)
		if promised := min(k.Promised, m.disk.record.Longest); st.recorded && promised > st.promised {
			st.promised = promised
			m.waitRestarted(st.reached)
		}
	}
	if m.knownTo(m.voters) {
		m.waitStopped(now)
		st.settled = min(st.settled, now)
		m.considerAll(now)
	}
}

// waitStopped has a member that was stopped in good order wait only until what it granted before is over, counted from the first answer.
func (m *Machine) waitStopped(now protocol.Time) {
	st := &m.start
	if !st.clean || m.grantor.Ready(now) {
		return
	}
	until := now
	if st.stands > 0 {
		until = max(now, st.reached.Add(m.lcfg.LongestPromise(st.stands)))
	}
	if until < m.grantor.ReadyAt() {
		m.wait(until, "clean stop")
	}
}

// knownTo says whether all of them, but for this member itself, have answered this incarnation.
func (m *Machine) knownTo(who protocol.Set) bool {
	known := m.start.introduced.With(m.cfg.Me)
	return known.Contains(who)
}

// knownToAll says whether every other member has, observers included.
func (m *Machine) knownToAll() bool { return m.knownTo(m.present()) }

// present returns the members that there are.
func (m *Machine) present() protocol.Set {
	return protocol.Everyone(m.lcfg.Members).Minus(m.cfg.Absent)
}

// answered looks whether the answers so far let the member start.
func (m *Machine) answered(now protocol.Time) {
	if m.canBootstrap(now) {
		m.start.begun = true
		m.wait(now, "bootstrap")
		m.begin(now, max(m.cfg.FirstInc, 1), 0, "bootstrap")
		return
	}
	m.recovered(now)
}

// canBootstrap says whether nobody in the council has a record: each other member has none either and may start a
// council, or has just started this one without ever having heard a word from us. An observer that is silent is not waited
// for longer than a round trip; one that has a record is heard. A member with a place for a record and none in it was never
// started, and has promised nothing. One that keeps none may have been: it waits, and counts the answers that it gets after that.
func (m *Machine) canBootstrap(now protocol.Time) bool {
	st := &m.start
	if !m.cfg.Bootstrap || m.disk.had || st.inc != 0 || m.cfg.Diskless && !st.asked {
		return false
	}
	for r := range protocol.Rank(m.lcfg.Members) {
		if r == m.cfg.Me || m.cfg.Absent.Has(r) || !m.voters.Has(r) && !st.got.Has(r) && now >= st.listened {
			continue
		}
		k := &st.answers[r]
		fresh := k.State == Fresh && k.Bootstrap || k.State == Begun && k.Heard.Inc == 0
		if !st.got.Has(r) || !fresh || k.Digest != m.cfg.Listing {
			return false
		}
	}
	return true
}

// agrees says whether an answer is of a member that has the same configuration.
func (m *Machine) agrees(k *Known) bool { return k.Epoch == m.cfg.Epoch && k.Digest == m.cfg.Listing }

// recovered starts the member above all that it may have forgotten, once it has waited and has asked, after that, enough
// of the others to have met every quorum.
func (m *Machine) recovered(now protocol.Time) {
	st := &m.start
	if !st.asked || m.withheld {
		return
	}
	var know, ask protocol.Set
	inc, floor, longest := max(m.cfg.FirstInc, m.disk.record.Inc+1, st.inc+1, 1), m.terms.Highest, m.disk.record.Longest
	lock := m.disk.record.Lock
	for r := range st.got.All() {
		k := &st.answers[r]
		floor, longest, lock = max(floor, k.Highest), max(longest, k.Longest), max(lock, k.Lock)
		if m.proves(k.Heard) {
			inc = max(inc, k.Heard.Inc+1)
			if m.lives(k) {
				m.alarm(protocol.Ident{Rank: r}, k.Heard, Rival)
			}
			if m.binds(k) {
				st.got.Remove(r) // to be asked again
				return
			}
		}
		switch {
		case !m.agrees(k):
		case k.State >= Begun:
			know.Add(r)
		case k.State == Asks && m.disk.had:
			ask.Add(r)
		}
	}
	above := m.above(inc)
	know, ask = know.Minus(above), ask.Minus(above)
	// Members that ask at the same time would wait for one another without end. If all others have answered, nobody knows more.
	all := know.Union(ask).With(m.cfg.Me)
	if !m.cfg.Quorums.MeetsAll(know, m.cfg.Me) && (ask.Empty() || !all.Contains(m.voters)) {
		return
	}
	if longest > m.disk.record.Longest {
		// Promises may have been longer than this member thought: it waits the rest, and asks again.
		st.waited = st.waited.Add(m.lcfg.LongestPromise(longest) - m.lcfg.LongestPromise(m.disk.record.Longest))
		m.disk.record.Longest = longest
		if now < st.waited {
			st.asked, st.due = false, st.waited
			return
		}
	}
	m.disk.record.Lock = lock
	m.wait(now, "recovered")
	m.begin(now, inc, floor, "recovered")
}

// above returns the members that have heard a life of this one at or above inc that it cannot prove: it has a new tag key, and FirstInc is from
// a wall clock that is behind that life. They would drop all that it says, and with others it would number votes as it did before. So it asks
// them again, and does not speak if it needs their answers. If any life is proved, the tag key is not new: then such a word is a lie, and
// changes nothing.
func (m *Machine) above(inc protocol.Inc) (out protocol.Set) {
	st := &m.start
	for r := range st.got.All() {
		switch heard := st.answers[r].Heard; {
		case m.proves(heard):
			return protocol.Set{}
		case heard.Inc >= inc:
			out.Add(r)
		}
	}
	for r := range out.All() {
		m.alarm(protocol.Ident{Rank: r}, st.answers[r].Heard, Behind)
		st.got.Remove(r)
	}
	return out
}

// begin makes the member incarnation inc, above floor, as soon as that is on disk.
func (m *Machine) begin(now protocol.Time, inc protocol.Inc, floor uint64, why string) {
	st := &m.start
	ready := m.grantor.ReadyAt()
	if !st.recorded {
		m.disk.record.Promised = 0 // the member has waited for the longest promise of the council
	}
	since := now
	if st.recorded && !m.alone() {
		since = st.reached // as waitRestarted counts
	}
	m.reach = lease.NewReach(&m.lcfg, since, m.disk.record.Promised)
	m.reach.Wish = m.longestWish()
	m.terms = lease.Terms{Floor: floor, Durable: floor, Highest: max(floor, m.terms.Highest), Used: floor, Peers: m.terms.Peers, Step: m.cfg.TermStep}
	m.grantor = lease.NewGrantor(&m.lcfg, (*policy)(m), &m.terms, &m.reach)
	m.grantor.Begin(now, m.out)
	m.grantor.Wait(ready)
	m.holder.Reset(inc, m.grantor)
	m.unknow(now)
	st.inc, st.phase, st.due, m.withheld = inc, writing, protocol.Never, false
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvSpeak, Dom: protocol.Quorum, Seq: uint64(inc), Term: floor, Why: why})
	r := &m.disk.record
	r.Inc, r.Epoch, r.Digest, r.Origin, r.Clean, r.Void = inc, m.cfg.Epoch, m.cfg.Listing, m.cfg.Origin, false, false
	r.Longest, r.Lock = max(r.Longest, m.cfg.Longest), max(r.Lock, m.cfg.Lock)
	r.Promised = m.reach.Next(&m.lcfg, now)
	r.Ceiling = m.terms.Begin(now)
	m.disk.dirty = true
	if m.cfg.Diskless {
		m.terms.Durable, m.reach.Durable = lease.MaxTerm, m.cfg.Longest
		m.speak(now)
	}
}

// speak makes the member speak, at first of nothing but itself.
func (m *Machine) speak(now protocol.Time) {
	st := &m.start
	st.phase, st.nonce = speaks, 0
	st.settled = now.Add(m.lcfg.Rho.WaitAtLeast(m.cfg.RoundTrip))
	st.introduced = protocol.NewSet(m.cfg.Me)
	if m.knownTo(m.voters) {
		st.settled = now
	}
	if st.recorded && m.grantor.ReadyAt() < st.settled {
		// The disk took longer than the wait: those who know of a later start have not been asked yet.
		m.wait(st.settled, "restarted")
	}
	m.ask(now)
	m.considerAll(now)
}

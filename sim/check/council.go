package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// CouncilSpec is what the checkers of a council that changes have to know about a run.
type CouncilSpec struct {
	Groups []protocol.Group
	// Settle is how long a healed council may take to be settled and led.
	Settle time.Duration
	// Moves is how many groups a leader of a balanced council may hand over at once, and Longest bounds how long a move takes.
	Moves   int
	Longest time.Duration
	// Views is the consistent group of the council; empty if it has none.
	Views protocol.Group
	// Seed and Travel are of the resource that edicts are sent to.
	Seed   uint64
	Travel sim.Delay
}

// Council returns the checkers of a council that changes while it runs: those of quorum leases that hold across configurations
// (C-LU is N-LU, C-TOK is N-TOK, C-STAMP is N-EO), and its own. They share one ledger.
func Council(t Truth, s CouncilSpec) []Checker {
	b := newTimedLedger(t)
	h := newHistory(t)
	return []Checker{
		&OneConfig{history: h}, newMonotone(h, t.Members()), &Settling{cursor{timedLedger: b}, h}, &Carried{cursor{timedLedger: b}, h},
		&Leaves{gone: make([]bool, t.Members())}, &Lives{cursor: cursor{timedLedger: b}, history: h, groups: s.Groups, settle: s.Settle, until: sim.Forever, views: s.Views},
		newUnique(b, protocol.Quorums{}), newKeeps(b), &EdictValid{cursor{timedLedger: b}}, newToken(b), newEdictOrder(b), NewResource(s.Seed, s.Travel),
		&Verified{cursor: cursor{timedLedger: b}}, NewMoves(protocol.Set{}, s.Moves, s.Longest),
	}
}

// A history is what the facts say about configurations.
type history struct {
	truth   Truth
	records int
	// chosen has the digest of each configuration, by number, and latest is the highest number that was chosen.
	chosen map[uint64]uint64
	latest uint64
	voters protocol.Set      // of the latest
	all    protocol.Set      // its members
	given  map[uint64]uint64 // by number, the highest token
	hosts  []seatState
	began  protocol.Set // those that took part before anything was chosen
}

// seatState is what one host has stated last.
type seatState struct {
	number  uint64
	seated  bool
	settled bool
	// bases are the configurations by which the ends of its leases were moved last.
	bases map[protocol.Group]leaseBase
}

type leaseBase struct{ tenure, number uint64 }

func newHistory(t Truth) *history {
	h := &history{truth: t, chosen: make(map[uint64]uint64), given: make(map[uint64]uint64), hosts: make([]seatState, t.Members())}
	for i := range h.hosts {
		h.hosts[i].bases = make(map[protocol.Group]leaseBase)
	}
	return h
}

// take enters a record. Every checker of a run calls it with every record; the first counts.
func (h *history) take(r *sim.Record, read *int) {
	*read++
	if *read <= h.records {
		return
	}
	h.records++
	if r.Node == protocol.Nobody {
		return
	}
	x := &h.hosts[r.Node]
	switch r.Ev {
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose, protocol.EvOut:
		x.seated, x.settled = false, false
		clear(x.bases)
	case protocol.EvAdopt:
		x.seated, x.number, x.settled = true, r.Seq, false
	case protocol.EvSettle:
		x.settled = true
	case protocol.EvSpeak:
		if h.latest == 0 {
			h.began.Add(r.Node)
		}
	case protocol.EvChosen:
		if r.Seq >= h.latest {
			h.latest, h.voters, h.all = r.Seq, r.Members, r.Members
			if c, ok := r.Detail.(*council.Config); ok {
				h.all = c.Present()
			}
		}
	}
}

// tokens notes that a token was given out in a configuration.
func (h *history) tokens(number, token uint64) {
	h.given[number] = max(h.given[number], token)
}

// highest returns the highest token that was given out in a configuration up to number.
func (h *history) highest(number uint64) uint64 {
	high := uint64(0)
	// order does not matter: it is a maximum.
	for n, t := range h.given {
		if n <= number {
			high = max(high, t)
		}
	}
	return high
}

// OneConfig is C-ONE: a number is one configuration's.
type OneConfig struct {
	*history
	read int
}

// Name returns C-ONE.
func (*OneConfig) Name() string { return "C-ONE" }

// Observe looks at configurations that are chosen or adopted.
func (c *OneConfig) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	if r.Ev != protocol.EvChosen && r.Ev != protocol.EvAdopt {
		return nil
	}
	if d, ok := c.chosen[r.Seq]; ok && d != r.Gen {
		return Violatedf(c.Name(), r.T, "%v has the configuration %d as %x (%s), and others have %x", r.Node, r.Seq, r.Gen, r.Why, d)
	}
	c.chosen[r.Seq] = r.Gen
	return nil
}

// Finish has nothing to add.
func (*OneConfig) Finish() error { return nil }

// Monotone is C-MONO: no member votes in, or goes back to, a configuration before one that it had adopted, lost disks included. A
// member that starts from an old copy of its record finds that out before it votes or promises anything.
//
// One vote in the configuration that it had adopted is no fault. If a member adopts a configuration, loses its disk before any other has heard of that, and asks, then the others know only
// that it was accepted. R9 has the member vote for what they have accepted, which is the same configuration.
type Monotone struct {
	*history
	read   int
	at     []uint64
	digest []uint64 // of the configuration that it adopted last
	old    []bool   // by its record
}

func newMonotone(h *history, members int) *Monotone {
	return &Monotone{history: h, at: make([]uint64, members), digest: make([]uint64, members), old: make([]bool, members)}
}

// Name returns C-MONO.
func (*Monotone) Name() string { return "C-MONO" }

// Observe looks at what members adopt, and what they vote for.
func (m *Monotone) Observe(r *sim.Record) error {
	m.take(r, &m.read)
	if r.Node == protocol.Nobody {
		return nil
	}
	old := &m.old[r.Node]
	switch {
	case r.Ev == sim.EvRestart:
		*old = false
	case r.Ev == protocol.EvAdopt && r.Seq < m.at[r.Node] && r.Why == "record":
		*old = true
	case *old && (r.Ev == protocol.EvVote && r.Why != "lost" || r.Ev == protocol.EvPromise || r.Ev == protocol.EvAttempt):
		return Violatedf(m.Name(), r.T, "%v states %s by an old copy of its record, and had adopted %d", r.Node, r.Ev, m.at[r.Node])
	case r.Ev == protocol.EvAdopt && r.Seq < m.at[r.Node]:
		return Violatedf(m.Name(), r.T, "%v goes back from configuration %d to %d (%s)", r.Node, m.at[r.Node], r.Seq, r.Why)
	case r.Ev == protocol.EvVote && r.Seq == m.at[r.Node] && r.Gen == m.digest[r.Node] && r.Why == "lost":
	case r.Ev == protocol.EvVote && r.Seq <= m.at[r.Node]:
		return Violatedf(m.Name(), r.T, "%v votes for configuration %d after it has adopted %d", r.Node, r.Seq, m.at[r.Node])
	case r.Ev == protocol.EvAdopt:
		m.at[r.Node], m.digest[r.Node], *old = r.Seq, r.Gen, false
	}
	return nil
}

// Finish has nothing to add.
func (*Monotone) Finish() error { return nil }

// Settling is C-SETTLE: when a configuration is chosen no lease is in force that rests on one two numbers before it or earlier, and
// none comes into force later.
type Settling struct {
	cursor
	*history
}

// Name returns C-SETTLE.
func (*Settling) Name() string { return "C-SETTLE" }

// Observe notes on which configuration each lease rests, and looks at all leases when one is chosen.
func (s *Settling) Observe(r *sim.Record) error {
	did := s.follow(r)
	for _, x := range did.Moved {
		if x.Domain != protocol.Quorum || !s.leads(x, r.T) || x.Frozen {
			continue
		}
		host := &s.hosts[x.Holder.Rank]
		host.bases[x.Group] = leaseBase{x.Tenure, host.number}
		if host.number+2 <= s.latest {
			return Violatedf(s.Name(), r.T, "%v extends its lease of %q by configuration %d: %d was chosen", x.Holder, x.Group, host.number, s.latest)
		}
	}
	if r.Ev != protocol.EvChosen {
		return nil
	}
	return s.leases(func(x *ledger.Leadership) error {
		base, ok := s.hosts[x.Holder.Rank].bases[x.Group]
		if !ok || base.tenure != x.Tenure || base.number+2 > r.Seq || !s.leads(x, r.T) {
			return nil
		}
		return Violatedf(s.Name(), r.T, "configuration %d is chosen while %v leads %q by %d", r.Seq, x.Holder, x.Group, base.number)
	})
}

// Finish has nothing to add.
func (*Settling) Finish() error { return nil }

// Carried is C-CARRY: a member that has settled in a configuration accepts no term up to any token that was given out in those
// before it.
type Carried struct {
	cursor
	*history
}

// Name returns C-CARRY.
func (*Carried) Name() string { return "C-CARRY" }

// Observe looks at the floors of members that settle.
func (c *Carried) Observe(r *sim.Record) error {
	did := c.follow(r)
	if x := did.Begun; x != nil && x.Domain == protocol.Quorum {
		n := c.hosts[x.Holder.Rank].number
		c.tokens(n, x.Token)
	}
	if r.Ev != protocol.EvSettle || r.Why == "record" || r.Seq == 0 {
		return nil
	}
	if high := c.highest(r.Seq - 1); r.Term < high {
		return Violatedf(c.Name(), r.T, "%v has settled in configuration %d with the floor %d, and token %d was given out before", r.Node, r.Seq, r.Term, high)
	}
	return nil
}

// Finish has nothing to add.
func (*Carried) Finish() error { return nil }

// Leaves is C-OUT: a member that has learnt that it is none any more makes no promise and gains no lease.
type Leaves struct{ gone []bool }

// Name returns C-OUT.
func (*Leaves) Name() string { return "C-OUT" }

// Observe looks at what such members do.
func (l *Leaves) Observe(r *sim.Record) error {
	if r.Node == protocol.Nobody {
		return nil
	}
	switch r.Ev {
	case protocol.EvOut:
		l.gone[r.Node] = true
	case sim.EvStart, sim.EvRestart:
		l.gone[r.Node] = false
	case protocol.EvPromise, protocol.EvAssign, protocol.EvAttempt:
		if l.gone[r.Node] {
			return Violatedf(l.Name(), r.T, "%v is no member, and states %s", r.Node, r.Ev)
		}
	}
	return nil
}

// Finish has nothing to add.
func (*Leaves) Finish() error { return nil }

// Lives is C-LIVE: a council that is healed, and of whose latest voters no more than one ever had to ask what it forgot, is settled
// and led in the end.
type Lives struct {
	cursor
	*history
	read    int
	groups  []protocol.Group
	settle  time.Duration
	until   sim.Real
	last    sim.Real
	blocked protocol.Set
	// out are hosts that have learnt that they are no members. One of them may have the name of a voter: it was put back to a time
	// before it was removed and added again (C3). Its operator has to empty its directory.
	out protocol.Set
	// views is the consistent group of the council, if it has one. unsure are voters that have lost their disks, speak, and have not found out
	// yet which of its views they forgot.
	views  protocol.Group
	unsure protocol.Set
}

// Name returns C-LIVE.
func (*Lives) Name() string { return "C-LIVE" }

// Observe notes when the council is healed, and who has forgotten what it knew.
func (l *Lives) Observe(r *sim.Record) error {
	l.follow(r)
	l.take(r, &l.read)
	l.last = r.T
	switch {
	case r.Ev == sim.EvPhase && r.Why == sim.Liveness:
		l.until = r.T.Add(l.settle)
	case r.Ev == sim.EvRestart, r.Ev == sim.EvRefuse, r.Ev == protocol.EvWait && r.Until == protocol.Never && r.Why != "restarted":
		l.blocked.Add(r.Node) // a member that has its record says so next
		l.out.Remove(r.Node)
	case r.Ev == protocol.EvOut:
		l.out.Add(r.Node)
	case r.Ev == protocol.EvSpeak, r.Ev == protocol.EvAdopt && r.Why == "record":
		l.blocked.Remove(r.Node)
		voters := l.electorate()
		if r.Ev == protocol.EvSpeak && r.Why == "recovered" && l.views != "" && voters.Has(r.Node) { // a newcomer has to know before it votes
			l.unsure.Add(r.Node)
		}
	case r.Ev == protocol.EvInstall && r.Group == l.views && r.Why == "remembered":
		l.unsure.Remove(r.Node)
	}
	return nil
}

// forgetful says that too few voters are left that remember: an operator has to decide. Nothing says who votes in the first configuration.
func (l *Lives) forgetful() bool {
	voters := l.electorate()
	here := voters.Minus(l.out)
	forgot := here.Intersect(l.blocked)
	rest := 2 * (here.Len() - forgot.Len())
	if l.viewless(voters) {
		return true
	}
	return l.latest == 0 && !l.blocked.Empty() || forgot.Len() > 0 && rest <= voters.Len()+1 || rest <= voters.Len()
}

// viewless says that the voters that know the views of the consistent group have no member in some majority, and that a member is missing: nobody
// but that one might know the last view.
func (l *Lives) viewless(voters protocol.Set) bool {
	if ignorant := voters.Intersect(l.blocked.Union(l.unsure)); l.views == "" || 2*ignorant.Len() <= voters.Len() {
		return false
	}
	for r := range l.all.All() {
		if x := &l.hosts[r]; !x.seated || x.number != l.latest {
			return true
		}
	}
	return false
}

func (l *Lives) electorate() protocol.Set {
	if l.latest == 0 {
		return l.began
	}
	return l.voters
}

// Finish looks at the end of the run.
func (l *Lives) Finish() error {
	l.last = max(l.last, l.history.truth.Now()) // a run may end in silence
	if l.last < l.until || l.forgetful() {
		return nil
	}
	voters := l.electorate()
	forgot := voters.Minus(l.out).Intersect(l.blocked)
	for r := range voters.Minus(l.out).All() {
		switch x := &l.hosts[r]; {
		case l.blocked.Has(r) && forgot.Len() > 0:
			return Violatedf(l.Name(), l.last, "%v has not found out what it forgot: %v of %v have", r, voters.Minus(forgot), voters)
		case l.latest == 0: // the first configuration is settled as it begins
		case !x.seated || x.number != l.latest:
			return Violatedf(l.Name(), l.last, "%v is at configuration %d, and %d was chosen", r, x.number, l.latest)
		case !x.settled:
			return Violatedf(l.Name(), l.last, "%v is not settled in configuration %d", r, x.number)
		}
	}
	for _, g := range l.groups {
		led := false
		for r := range l.hosts {
			x := l.ledger.Lease(protocol.Rank(r), protocol.Quorum, g)
			led = led || x != nil && l.leads(x, l.last)
		}
		if !led {
			return Violatedf(l.Name(), l.last, "%q has no leader in configuration %d of %v", g, l.latest, voters)
		}
	}
	return nil
}

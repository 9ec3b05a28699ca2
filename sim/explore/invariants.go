package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// invariants is the ledger of one group and the invariants that it must keep: a shorter form of those of package check, for exact clocks,
// that can be copied and compared.
type invariants struct {
	quorums protocol.Quorums
	group   protocol.Group
	origin  protocol.Time // the instant at which the exploration began; zero before it
	ledger  *ledger.Ledger
	token   uint64 // the highest of any leadership
	tenures int    // how many there were
	// changing says that the council changes. chosen has the digests of its configurations by number, zero where none was chosen, and at the number
	// that each member has adopted. recovered says that a member without a record has taken part again. None is changed in place.
	changing   bool
	chosen, at []uint64
	recovered  bool
	// stopped are survivors that have agreed to give their council up, and agreed all that have. heir says that a council of survivors was chosen.
	stopped, agreed protocol.Set
	heir            bool
}

func newInvariants(o *Options) invariants {
	return invariants{quorums: o.Quorums, group: o.Group, ledger: ledger.New(o.Members), changing: o.Change != nil, at: make([]uint64, o.Members)}
}

func (b *invariants) clone() invariants {
	c := *b
	c.ledger = b.ledger.Clone()
	return c
}

// append encodes what can still matter at now, by rank. Promises that are no orphans are part of their voters' states.
func (b *invariants) append(to []byte, now protocol.Time) []byte {
	to = binary.AppendUvarint(to, b.token)
	for r := range protocol.Rank(len(b.at)) {
		for _, is := range [...]bool{b.stopped.Has(r), b.agreed.Has(r), b.heir} {
			if is {
				to = append(to, byte(r))
			}
			to = append(to, listEnd)
		}
	}
	for _, x := range b.at {
		to = binary.AppendUvarint(to, x)
	}
	for _, x := range b.chosen {
		to = binary.AppendUvarint(to, x)
	}
	to = append(to, listEnd)
	for x := range b.leading(now) {
		to = append(to, byte(x.Holder.Rank))
		to = binary.AppendUvarint(to, x.Tenure)
		to = binary.AppendVarint(to, int64(x.Until-now))
	}
	to = append(to, listEnd)
	for r := range protocol.Rank(b.quorums.Members()) {
		for _, p := range b.ledger.Promises(r) {
			if p.Orphan && p.Until > now {
				to = append(to, byte(r), byte(p.To.Rank))
				to = binary.AppendUvarint(to, uint64(p.To.Inc))
				to = binary.AppendVarint(to, int64(p.Until-now))
			}
		}
	}
	return to
}

// leading visits the leases that are in force, by rank.
func (b *invariants) leading(now protocol.Time) func(func(*ledger.Leadership) bool) {
	return func(yield func(*ledger.Leadership) bool) {
		for r := range protocol.Rank(b.quorums.Members()) {
			if x := b.ledger.Lease(r, protocol.Quorum, b.group); x != nil && now < x.Until && !yield(x) {
				return
			}
		}
	}
}

// led reports whether a member leads.
func (b *invariants) led(now protocol.Time) bool {
	for range b.leading(now) {
		return true
	}
	return false
}

// crash ends what ends with a process.
func (b *invariants) crash(r protocol.Rank) {
	b.stopped.Remove(r) // it states so anew when it starts, if its disk is left
	b.ledger.Take(&sim.Record{Node: r, Fact: protocol.Fact{Ev: sim.EvCrash}})
}

// take enters a fact of a member, and returns what it violates.
func (b *invariants) take(w *world, me protocol.Ident, f *protocol.Fact) error {
	if f.Dom != protocol.Quorum || f.Group != "" && f.Group != b.group {
		return nil
	}
	now := w.now()
	if b.stopped.Has(me.Rank) && (f.Ev == protocol.EvPromise || f.Ev == protocol.EvAssign || f.Ev == protocol.EvLease) {
		return fmt.Errorf("C-STOP violated: %v has agreed to give its council up, and states %s", me, f.Ev)
	}
	did := b.ledger.Take(&sim.Record{T: sim.Real(now), Node: me.Rank, Inc: me.Inc, Fact: *f})
	switch f.Ev {
	case protocol.EvLease, protocol.EvHorizon:
		return b.lease(now, &did)
	case protocol.EvPromise:
		return b.promise(now, &did)
	case protocol.EvBreak, protocol.EvUnassign:
		return b.backed(now)
	case protocol.EvChosen, protocol.EvAdopt, protocol.EvVote:
		if err := b.survived(me, f); err != nil || f.Ev == protocol.EvVote && (f.Why == "heir" || f.Why == "taken back") {
			return err
		}
		return b.configured(me, f)
	case protocol.EvAssign:
		return b.assign(now, me, f, &did)
	}
	return nil
}

// lease checks a lease that has begun or moved.
func (b *invariants) lease(now protocol.Time, did *ledger.Change) error {
	if x := did.Begun; x != nil {
		if x.Token <= b.token {
			return fmt.Errorf("N-TOK violated: %v leads with token %d after one with %d", x.Holder, x.Token, b.token)
		}
		b.token = x.Token
		b.tenures++
	}
	for _, x := range did.Moved {
		if err := b.alone(now, x); err != nil {
			return err
		}
	}
	return nil
}

// alone checks N-LU and N-14 of a lease that has begun or moved.
func (b *invariants) alone(now protocol.Time, x *ledger.Leadership) error {
	if now >= x.Until {
		return nil
	}
	for y := range b.leading(now) {
		if y.Holder.Rank != x.Holder.Rank {
			return fmt.Errorf("N-LU violated: %v leads (token %d), and so does %v (token %d)", x.Holder, x.Token, y.Holder, y.Token)
		}
	}
	return b.backed(now)
}

// backed checks N-14 of all leases: a quorum stands behind each to its end.
func (b *invariants) backed(now protocol.Time) error {
	if b.changing {
		return nil
	}
	for x := range b.leading(now) {
		if set := b.backers(x.Holder, x.Until); !b.quorums.In(set) {
			return fmt.Errorf("N-14 violated: %v leads (token %d) for %v more, but only %v back it", x.Holder, x.Token, x.Until.Sub(now), set)
		}
	}
	return nil
}

// backers returns who has assigned the group to p in a promise that ends at t or later.
func (b *invariants) backers(p protocol.Ident, t protocol.Time) protocol.Set {
	return b.ledger.Backers(protocol.Quorum, b.group, p, func(p *ledger.Promise) bool { return p.Until >= t })
}

func (b *invariants) promise(now protocol.Time, did *ledger.Change) error {
	p, before := did.Promise, &did.Before
	switch {
	case !before.Stood:
		return nil
	case p.Until < before.Until:
		return fmt.Errorf("N-16' violated: %v shortens its promise to %v from %v to %v", p.Voter, p.To, before.Until, p.Until)
	case now >= before.Until && p.Has(b.group): // it had lapsed
		return b.oneQuorum(now)
	}
	return nil
}

func (b *invariants) assign(now protocol.Time, me protocol.Ident, f *protocol.Fact, did *ledger.Change) error {
	before := &did.Before
	switch {
	case before.Stood && before.To != f.Peer && now < before.Until:
		return fmt.Errorf("N-16' violated: %v takes the group from %v before %v and gives it to %v", me, before.To, before.Until, f.Peer)
	case did.Promise == nil:
		return fmt.Errorf("N-16' violated: %v assigns the group to %v without a promise", me, f.Peer)
	}
	if err := b.oneQuorum(now); err != nil {
		return err
	}
	return b.backed(now)
}

// oneQuorum checks N-LU by promises: at most one holder has a quorum of them beyond now.
func (b *invariants) oneQuorum(now protocol.Time) error {
	if b.changing {
		return nil
	}
	first := protocol.NoIdent
	for _, p := range b.ledger.Holders(nil, protocol.Quorum, b.group) {
		if !b.quorums.In(b.backers(p, now+1)) {
			continue
		}
		if first != protocol.NoIdent {
			return fmt.Errorf("N-LU violated: %v back %v, and %v back %v", b.backers(first, now+1), first, b.backers(p, now+1), p)
		}
		first = p
	}
	return nil
}

// number returns the highest configuration that was chosen.
func (b *invariants) number() uint64 { return uint64(max(1, len(b.chosen)) - 1) }

// configured checks C-ONE and C-MONO.
func (b *invariants) configured(me protocol.Ident, f *protocol.Fact) error {
	at := b.at[me.Rank]
	switch {
	case f.Ev == protocol.EvVote && f.Seq <= at, f.Ev == protocol.EvAdopt && f.Seq < at:
		return fmt.Errorf("C-MONO violated: %v states %s of configuration %d (%s) after it has adopted %d", me, f.Ev, f.Seq, f.Why, at)
	case f.Ev == protocol.EvVote:
		return nil
	}
	if f.Ev == protocol.EvAdopt {
		b.at = slices.Clone(b.at)
		b.at[me.Rank] = f.Seq
		b.recovered = b.recovered || f.Why == "recovered"
	}
	if f.Seq < uint64(len(b.chosen)) && b.chosen[f.Seq] != 0 {
		if b.chosen[f.Seq] != f.Gen {
			return fmt.Errorf("C-ONE violated: %v has configuration %d as %x, and others as %x", me, f.Seq, f.Gen, b.chosen[f.Seq])
		}
		return nil
	}
	b.chosen = slices.Clone(b.chosen)
	for uint64(len(b.chosen)) <= f.Seq {
		b.chosen = append(b.chosen, 0)
	}
	b.chosen[f.Seq] = f.Gen
	return nil
}

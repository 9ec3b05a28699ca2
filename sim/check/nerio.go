package check

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// NerioSpec is what the checkers of quorum leases have to know about a run.
type NerioSpec struct {
	Quorums protocol.Quorums
	// Leaders may lead; empty: all.
	Leaders protocol.Set
	// Longest is longer than any promise stands.
	Longest time.Duration
	// Groups that every member wants to lead at all times, and the bound of N-EE on how long one may be without a lease.
	// Without groups N-EE is not checked.
	Groups []protocol.Group
	Bound  time.Duration
	// Moves is how many groups a leader of a balanced council may hand over at once.
	Moves int
	// Seed and Travel are of the resource that edicts are sent to.
	Seed   uint64
	Travel sim.Delay
}

// Nerio returns the checkers of all that quorum leases promise. They share one ledger.
func Nerio(t Truth, s NerioSpec) []Checker {
	b := newTimedLedger(t)
	all := []Checker{
		newUnique(b, s.Quorums), newBacked(b, s.Quorums), newKeeps(b), &EdictValid{cursor{timedLedger: b}}, newToken(b), newEdictOrder(b),
		NewResource(s.Seed, s.Travel), newStability(b, s.Longest), NewMoves(s.Leaders, s.Moves, s.Longest), &Verified{cursor: cursor{timedLedger: b}}, NewRoles(s.Leaders), NewValues(t, s.Bound),
	}
	if len(s.Groups) > 0 {
		all = append(all, newElected(b, s.Quorums, s.Leaders, s.Bound, s.Groups))
	}
	return all
}

// Unique is N-LU: at every instant, at most one incarnation of one member has a lease of a group whose end its clock has
// not reached, and at most one is backed by a quorum of promises, those of crashed voters included.
//
// Looking at records is enough to know about every instant. A lease comes into force, or back into force, only where a
// fact says so; the clocks' maps say exactly who else's is in force then; and a clock that has passed an end does not
// come back. The same holds for promises.
type Unique struct {
	cursor
	quorums protocol.Quorums
	holders []protocol.Ident
}

func newUnique(b *timedLedger, q protocol.Quorums) *Unique {
	return &Unique{cursor: cursor{timedLedger: b}, quorums: q}
}

// Name returns N-LU.
func (u *Unique) Name() string { return "N-LU" }

// Observe looks at every beginning and every extension.
func (u *Unique) Observe(r *sim.Record) error {
	did := u.follow(r)
	if r.Dom != protocol.Quorum {
		return nil
	}
	for _, x := range did.Moved {
		if err := u.alone(x, r.T); err != nil {
			return err
		}
	}
	if did.Promise == nil || r.Ev != protocol.EvAssign && r.Ev != protocol.EvPromise {
		return nil
	}
	for _, a := range did.Promise.Assigned {
		if err := u.oneQuorum(a.Group, r.T); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unique) alone(x *ledger.Leadership, t sim.Real) error {
	if !u.leads(x, t) {
		return nil
	}
	return u.leases(func(y *ledger.Leadership) error {
		if y.Group != x.Group || y.Holder == x.Holder || !u.leads(y, t) {
			return nil
		}
		return Violatedf(u.Name(), t, "%v leads %q (tenure %d, token %d) until %v, and so does %v (tenure %d, token %d) until %v",
			y.Holder, y.Group, y.Tenure, y.Token, u.end(y, t), x.Holder, x.Tenure, x.Token, u.end(x, t))
	})
}

// oneQuorum counts the holders of a group that a quorum backs beyond t.
func (u *Unique) oneQuorum(group protocol.Group, t sim.Real) error {
	first := protocol.NoIdent
	u.holders = u.ledger.Holders(u.holders[:0], protocol.Quorum, group)
	for _, p := range u.holders {
		set := u.backers(protocol.Quorum, group, p, t+1)
		if !u.quorums.In(set) {
			continue
		}
		if first != protocol.NoIdent {
			return Violatedf(u.Name(), t, "%v back %v in %q, and %v back %v", u.backers(protocol.Quorum, group, first, t+1), first, group, set, p)
		}
		first = p
	}
	return nil
}

// Finish has nothing to add.
func (u *Unique) Finish() error { return nil }

// Backed is N-14: as long as a lease is in force, a quorum of voters has the group assigned to its holder in promises
// that have not run out, crashed voters included.
//
// It is looked at wherever a lease is gained or extended, a promise or an assignment changes, or a clock does, and always
// for the whole rest of the lease, as the clocks run now: time alone cannot break it in between.
type Backed struct {
	cursor
	quorums protocol.Quorums
}

func newBacked(b *timedLedger, q protocol.Quorums) *Backed { return &Backed{cursor{timedLedger: b}, q} }

// Name returns N-14.
func (b *Backed) Name() string { return "N-14" }

// Observe looks at the leases that a record can have to do with.
func (b *Backed) Observe(r *sim.Record) error {
	did := b.follow(r)
	switch {
	case r.Ev == sim.EvFault || r.Ev == sim.EvHeal:
		return b.leases(func(x *ledger.Leadership) error { return b.hold(x, r.T) })
	case r.Dom != protocol.Quorum:
		return nil
	case r.Ev == protocol.EvBreak && did.Before.Stood:
		// All its groups are over, and the break no longer says which.
		return b.leases(func(x *ledger.Leadership) error {
			if x.Holder.Rank != did.Before.To.Rank {
				return nil
			}
			return b.hold(x, r.T)
		})
	case r.Ev == protocol.EvAssign || r.Ev == protocol.EvUnassign:
		return b.leases(func(x *ledger.Leadership) error {
			if x.Group != r.Group {
				return nil
			}
			return b.hold(x, r.T)
		})
	}
	for _, x := range did.Moved {
		if err := b.hold(x, r.T); err != nil {
			return err
		}
	}
	return nil
}

// hold checks one lease from t to its end.
func (b *Backed) hold(x *ledger.Leadership, t sim.Real) error {
	if !b.leads(x, t) {
		return nil
	}
	end := b.end(x, t)
	set := b.backers(protocol.Quorum, x.Group, x.Holder, end)
	if b.quorums.In(set) {
		return nil
	}
	return Violatedf(b.Name(), t, "%v leads %q (tenure %d) until %v, but only %v back it for so long, and %v now",
		x.Holder, x.Group, x.Tenure, end, set, b.backers(protocol.Quorum, x.Group, x.Holder, t+1))
}

// Finish has nothing to add.
func (b *Backed) Finish() error { return nil }

// Keeps is N-16': a voter keeps its word. The end of a promise never falls while it stands; a promise begins anew only
// after it has run out or if nothing is assigned in it, whatever became of those of other lengths; and a group leaves the
// one it was assigned to only with the end of the promise, by a release whose term is at least that of the assignment, by
// a claim of a later tenure of the same holder, or once the holder is dead with its program. All that a tenure is assigned is assigned in promises of its length. What a restart forgets is N-LU's
// matter.
type Keeps struct {
	cursor
	// last is each voter's latest promise of each length to each holder, also after it broke.
	last []map[promisee]promised
	inc  []protocol.Inc
	// lengths are those of the tenures that are tried or led.
	lengths []map[protocol.Group]tenureLength
	// dead are the incarnations that have crashed, each with the groups whose programs live on.
	dead map[protocol.Ident][]protocol.Group
}

// A promisee is the member that a promise is made to, with its length.
type promisee struct {
	to     protocol.Ident
	length time.Duration
}

type promised struct {
	gen, seq uint64
	until    protocol.Time
}

// A tenureLength is the length of a tenure of an incarnation.
type tenureLength struct {
	inc    protocol.Inc
	tenure uint64
	length time.Duration
}

func newKeeps(b *timedLedger) *Keeps {
	n := b.truth.Members()
	return &Keeps{cursor: cursor{timedLedger: b}, last: make([]map[promisee]promised, n), inc: make([]protocol.Inc, n),
		lengths: make([]map[protocol.Group]tenureLength, n), dead: make(map[protocol.Ident][]protocol.Group)}
}

// Name returns N-16'.
func (k *Keeps) Name() string { return "N-16'" }

// Observe judges each act of a voter by what stood before it.
func (k *Keeps) Observe(r *sim.Record) error {
	did := k.follow(r)
	switch r.Ev {
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		k.last[r.Node], k.lengths[r.Node] = nil, nil
		if r.Ev == sim.EvCrash {
			k.dead[protocol.Ident{Rank: r.Node, Inc: r.Inc}] = nil
		}
		return nil
	case sim.EvOutlive:
		who := protocol.Ident{Rank: r.Node, Inc: r.Inc}
		k.dead[who] = append(k.dead[who], r.Group)
		return nil
	}
	if r.Dom != protocol.Quorum {
		return nil
	}
	switch r.Ev {
	case protocol.EvPromise:
		return k.promise(r)
	case protocol.EvBreak:
		if !did.Before.Stood {
			return Violatedf(k.Name(), r.T, "%v breaks its promise to %v: there is no promise %d", r.Node, r.Peer, r.Gen)
		}
		return k.lapsed(r, did, "breaks its promise to")
	case protocol.EvAssign:
		return k.assign(r, did)
	case protocol.EvUnassign:
		return k.unassign(r, did)
	case protocol.EvAttempt, protocol.EvLease:
		return k.tenure(r)
	}
	return nil
}

// tenure demands that a tenure keeps its length.
func (k *Keeps) tenure(r *sim.Record) error {
	if k.lengths[r.Node] == nil {
		k.lengths[r.Node] = make(map[protocol.Group]tenureLength)
	}
	old, now := k.lengths[r.Node][r.Group], tenureLength{r.Inc, r.Tenure, r.Length}
	k.lengths[r.Node][r.Group] = now
	if old.inc == now.inc && old.tenure == now.tenure && old.length != now.length {
		return Violatedf(k.Name(), r.T, "%v changes the length of its tenure %d in %q from %v to %v", r.Node, r.Tenure, r.Group, old.length, now.length)
	}
	return nil
}

func (k *Keeps) promise(r *sim.Record) error {
	if k.last[r.Node] == nil || k.inc[r.Node] != r.Inc {
		k.last[r.Node], k.inc[r.Node] = make(map[promisee]promised), r.Inc
	}
	to := promisee{r.Peer, r.Length}
	old := k.last[r.Node][to]
	k.last[r.Node][to] = promised{gen: r.Gen, seq: r.Seq, until: r.Until}
	switch {
	case r.Gen < old.gen:
		return Violatedf(k.Name(), r.T, "%v goes back from promise %d to %d to %v", r.Node, old.gen, r.Gen, r.Peer)
	case r.Seq <= old.seq:
		return Violatedf(k.Name(), r.T, "%v takes request %d of %v after %d", r.Node, r.Seq, r.Peer, old.seq)
	case r.Gen == old.gen && r.Until < old.until:
		return Violatedf(k.Name(), r.T, "%v shortens its promise to %v from %v to %v", r.Node, r.Peer, old.until, r.Until)
	case r.Gen == old.gen && k.clock(r) >= old.until:
		return Violatedf(k.Name(), r.T, "%v extends its promise %d to %v, which ended at %v, as if it had never lapsed",
			r.Node, r.Gen, r.Peer, old.until)
	case r.Gen > old.gen && old.gen > 0 && !k.over(r, old.until) && k.binds(r, old.gen):
		return Violatedf(k.Name(), r.T, "%v begins a new promise to %v before the old one ends at %v", r.Node, r.Peer, old.until)
	}
	return nil
}

// binds says whether anything is assigned in an earlier promise to the same holder. A voter may forget one that is empty.
func (k *Keeps) binds(r *sim.Record, gen uint64) bool {
	p := k.ledger.Promise(r.Node, r.Peer, gen)
	return p != nil && len(p.Assigned) > 0
}

// bumped is by how much a sample may lie above what the clock shows: a nanosecond for each earlier sample of one instant.
const bumped = protocol.Time(time.Microsecond)

// clock returns what the voter's clock shows; its sample is no earlier.
func (k *Keeps) clock(r *sim.Record) protocol.Time { return k.truth.Clock(r.Node).At(r.T) }

// over says whether the voter may have sampled the instant l of its clock.
func (k *Keeps) over(r *sim.Record, l protocol.Time) bool { return k.clock(r) >= l-bumped }

// lapsed demands that the promise that stood before has run out.
func (k *Keeps) lapsed(r *sim.Record, did *ledger.Change, what string) error {
	if k.over(r, did.Before.Until) {
		return nil
	}
	return Violatedf(k.Name(), r.T, "%v %s %v at %v of its clock: it stands until %v", r.Node, what, did.Before.To, k.clock(r), did.Before.Until)
}

func (k *Keeps) assign(r *sim.Record, did *ledger.Change) error {
	switch {
	case did.Promise == nil:
		return Violatedf(k.Name(), r.T, "%v assigns %q to %v without a promise %d", r.Node, r.Group, r.Peer, r.Gen)
	case k.last[r.Node][promisee{r.Peer, r.Length}].gen != r.Gen || did.Promise.Length != r.Length:
		return Violatedf(k.Name(), r.T, "%v assigns %q to %v in promise %d of length %v, which is over", r.Node, r.Group, r.Peer, r.Gen, r.Length)
	case k.elsewhere(r):
		return Violatedf(k.Name(), r.T, "%v assigns %q to the tenure %d of %v in a promise of another length, %v", r.Node, r.Group, r.Tenure, r.Peer, r.Length)
	case !did.Before.Stood:
		return nil
	case did.Before.To == r.Peer && (did.Before.Gen == r.Gen || did.Before.Tenure < r.Tenure):
		return nil
	}
	return k.lapsed(r, did, "assigns "+string(r.Group)+" to "+r.Peer.String()+" and takes it from")
}

// elsewhere says whether the tenure that the group is assigned to has another length than the promise.
func (k *Keeps) elsewhere(r *sim.Record) bool {
	t := k.lengths[r.Peer.Rank][r.Group]
	return t.inc == r.Peer.Inc && t.tenure == r.Tenure && t.length != r.Length
}

func (k *Keeps) unassign(r *sim.Record, did *ledger.Change) error {
	if !did.Before.Stood || did.Before.To != r.Peer {
		return Violatedf(k.Name(), r.T, "%v takes %q from %v, who does not have it", r.Node, r.Group, r.Peer)
	}
	switch r.Why {
	case "released":
		if term := did.Before.Term; r.Seq < term {
			return Violatedf(k.Name(), r.T, "%v takes %q from %v, assigned at term %d, by a release of term %d",
				r.Node, r.Group, r.Peer, term, r.Seq)
		}
		return nil
	case "lapsed":
		return k.lapsed(r, did, "takes "+string(r.Group)+" as lapsed from")
	case "died":
		return k.died(r)
	}
	return Violatedf(k.Name(), r.T, "%v takes %q from %v because %q, which is no reason", r.Node, r.Group, r.Peer, r.Why)
}

// died demands that the holder is dead, and no program of it lives on.
func (k *Keeps) died(r *sim.Record) error {
	living, dead := k.dead[r.Peer]
	switch {
	case !dead:
		return Violatedf(k.Name(), r.T, "%v takes %q from %v as from the dead, and it lives", r.Node, r.Group, r.Peer)
	case slices.Contains(living, r.Group):
		return Violatedf(k.Name(), r.T, "%v takes %q from %v as from the dead, and its program lives", r.Node, r.Group, r.Peer)
	}
	return nil
}

// Finish has nothing to add.
func (k *Keeps) Finish() error { return nil }

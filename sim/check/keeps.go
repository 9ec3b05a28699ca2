package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Keeps is N-16': a voter keeps its word. The end of a promise never falls while it stands; a promise begins anew only
// after it has run out; and a group leaves the one it was assigned to only with the end of the promise, or by a release
// whose term is at least that of the assignment. What a restart forgets is N-LU's matter.
type Keeps struct {
	follower
	// last is each voter's latest promise to each holder, also after it broke.
	last []map[protocol.Ident]promised
	inc  []protocol.Inc
}

type promised struct {
	gen, seq uint64
	until    protocol.Time
}

func newKeeps(b *book) *Keeps {
	n := b.truth.Members()
	return &Keeps{follower: follower{book: b}, last: make([]map[protocol.Ident]promised, n), inc: make([]protocol.Inc, n)}
}

// Name returns N-16'.
func (k *Keeps) Name() string { return "N-16'" }

// Observe judges each act of a voter by what stood before it.
func (k *Keeps) Observe(r *sim.Record) error {
	did := k.follow(r)
	switch r.Ev {
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		k.last[r.Node] = nil
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
	}
	return nil
}

func (k *Keeps) promise(r *sim.Record) error {
	if k.last[r.Node] == nil || k.inc[r.Node] != r.Inc {
		k.last[r.Node], k.inc[r.Node] = make(map[protocol.Ident]promised), r.Inc
	}
	old := k.last[r.Node][r.Peer]
	k.last[r.Node][r.Peer] = promised{gen: r.Gen, seq: r.Seq, until: r.Until}
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
	case r.Gen > old.gen && old.gen > 0 && !k.over(r, old.until):
		return Violatedf(k.Name(), r.T, "%v begins a new promise to %v before the old one ends at %v", r.Node, r.Peer, old.until)
	}
	return nil
}

// bumped is by how much a sample may lie above what the clock shows: a nanosecond for each earlier sample of one instant.
const bumped = 1000

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
	case k.last[r.Node][r.Peer].gen != r.Gen:
		return Violatedf(k.Name(), r.T, "%v assigns %q to %v in promise %d, which is over", r.Node, r.Group, r.Peer, r.Gen)
	case !did.Before.Stood || did.Before.To == r.Peer:
		return nil
	}
	return k.lapsed(r, did, "assigns "+string(r.Group)+" to "+r.Peer.String()+" and takes it from")
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
	}
	return Violatedf(k.Name(), r.T, "%v takes %q from %v because %q, which is no reason", r.Node, r.Group, r.Peer, r.Why)
}

// Finish has nothing to add.
func (k *Keeps) Finish() error { return nil }

package check

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// EdictOrder is N-EO. Of any two tenures of a group, the one that was completed first has the earlier quorum timestamp
// at every voter that they have in common, of which there is one at least, and the lower token. Edicts compare as they
// were made. A tenure's timestamp never changes.
type EdictOrder struct {
	follower
	groups map[protocol.Group]*ordered
}

type ordered struct {
	tenures []stamp.Edict // the first stamp of each, in the order of first completion
	owners  []protocol.Ident
	last    stamp.Edict
	maker   protocol.Ident
}

func newEdictOrder(b *book) *EdictOrder {
	return &EdictOrder{follower{book: b}, make(map[protocol.Group]*ordered)}
}

// Name returns N-EO.
func (o *EdictOrder) Name() string { return "N-EO" }

// Observe compares every tenure with all before it, and every edict with the one before it.
func (o *EdictOrder) Observe(r *sim.Record) error {
	did := o.follow(r)
	if r.Dom != protocol.Quorum {
		return nil
	}
	switch r.Ev {
	case protocol.EvLease:
		if did.Begun != nil {
			return o.tenure(r, did.Begun)
		}
		q, _ := r.Detail.(stamp.Quorum)
		if x := did.Moved[0]; !slices.Equal(q, x.Quorum) {
			return Violatedf(o.Name(), r.T, "%v changes the quorum timestamp of its tenure %d from %v to %v", r.Node, x.Tenure, x.Quorum, q)
		}
	case protocol.EvEdict:
		if e, ok := r.Detail.(stamp.Edict); ok {
			return o.edict(r, e)
		}
	}
	return nil
}

func (o *EdictOrder) group(g protocol.Group) *ordered {
	if o.groups[g] == nil {
		o.groups[g] = &ordered{}
	}
	return o.groups[g]
}

func (o *EdictOrder) tenure(r *sim.Record, x *ledger.Lease) error {
	g := o.group(r.Group)
	e := stamp.Edict{Token: x.Token, Quorum: x.Quorum}
	if err := e.Check(); err != nil {
		return Violatedf(o.Name(), r.T, "%v begins tenure %d of %q: %v", x.Holder, x.Tenure, r.Group, err)
	}
	for i, before := range g.tenures {
		if order, err := before.Compare(e); order >= 0 || err != nil {
			return Violatedf(o.Name(), r.T, "%v begins to lead %q at %v after %v did at %v, but these compare as %d, %v",
				x.Holder, r.Group, e, g.owners[i], before, order, err)
		}
	}
	g.tenures, g.owners = append(g.tenures, e), append(g.owners, x.Holder)
	return nil
}

func (o *EdictOrder) edict(r *sim.Record, e stamp.Edict) error {
	g := o.group(r.Group)
	before, maker := g.last, g.maker
	g.last, g.maker = e, protocol.Ident{Rank: r.Node, Inc: r.Inc}
	if before.Token == 0 {
		return nil
	}
	if order, err := before.Compare(e); order >= 0 || err != nil {
		return Violatedf(o.Name(), r.T, "%v makes edict %v in %q after %v made %v, but these compare as %d, %v",
			g.maker, e, r.Group, maker, before, order, err)
	}
	return nil
}

// Finish has nothing to add.
func (o *EdictOrder) Finish() error { return nil }

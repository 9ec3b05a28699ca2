package check

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// EdictOrder is N-EO. Of any two tenures of a group, the one that was completed first has the earlier quorum timestamp
// at every voter that they have in common, of which there is one at least, and the lower token. Edicts compare as they
// were made. A tenure's timestamp never changes.
type EdictOrder struct {
	cursor
	groups map[protocol.Group]*ordered
}

type ordered struct {
	tenures []stamp.Edict // the first stamp of each, in the order of first completion
	owners  []protocol.Ident
	last    stamp.Edict
	maker   protocol.Ident
}

func newEdictOrder(b *timedLedger) *EdictOrder {
	return &EdictOrder{cursor{timedLedger: b}, make(map[protocol.Group]*ordered)}
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

func (o *EdictOrder) tenure(r *sim.Record, x *ledger.Leadership) error {
	g := o.group(r.Group)
	e := stamp.Edict{Epoch: x.Epoch, Token: x.Token, Quorum: x.Quorum}
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

// Late is by how much the reading in an edict may lie after what its maker's clock shows: programs read the clock cheaply
// (package clock). It is never before that.
const Late = protocol.Time(5 * time.Millisecond / 16)

// EdictValid is N-EV: an edict is made within its maker's lease, its sample lies there too, and its stamp is that of the tenure.
type EdictValid struct{ cursor }

// Name returns N-EV.
func (v *EdictValid) Name() string { return "N-EV" }

// Observe judges each edict by its maker's lease.
func (v *EdictValid) Observe(r *sim.Record) error {
	v.follow(r)
	if r.Ev != protocol.EvEdict || r.Dom != protocol.Quorum {
		return nil
	}
	e, ok := r.Detail.(stamp.Edict)
	if !ok {
		return Violatedf(v.Name(), r.T, "%v makes an edict without a stamp", r.Node)
	}
	x := v.ledger.Lease(r.Node, protocol.Quorum, r.Group)
	clock := v.truth.Clock(r.Node).At(r.T)
	switch {
	case x == nil:
		return Violatedf(v.Name(), r.T, "%v makes edict %v in %q and does not lead", r.Node, e, r.Group)
	case !v.leads(x, r.T) || r.At >= x.Until:
		return Violatedf(v.Name(), r.T, "%v makes edict %v in %q at %v of its clock: its lease ended at %v", r.Node, e, r.Group, r.At, x.Until)
	case protocol.Time(e.Counter) != r.At:
		return Violatedf(v.Name(), r.T, "%v makes edict %v at %v of its clock: the counter is not the sample", r.Node, e, r.At)
	case r.At < clock || r.At > clock+bumped+Late:
		return Violatedf(v.Name(), r.T, "%v makes edict %v with the sample %v, but its clock shows %v", r.Node, e, r.At, clock)
	case e.Token != x.Token || !slices.Equal(e.Quorum, x.Quorum):
		return Violatedf(v.Name(), r.T, "%v makes edict %v in a tenure of token %d and quorum %v", r.Node, e, x.Token, x.Quorum)
	}
	if err := e.Check(); err != nil {
		return Violatedf(v.Name(), r.T, "%v makes edict %v: %v", r.Node, e, err)
	}
	return nil
}

// Finish has nothing to add.
func (v *EdictValid) Finish() error { return nil }

// Token is N-TOK: the tokens of a group grow strictly from tenure to tenure, in the order of first completion; a token
// belongs to one tenure, and is constant within it.
type Token struct {
	cursor
	groups map[protocol.Group]*tokens
}

type tokens struct {
	last  ledger.Leadership
	owner map[uint64]string
}

func newToken(b *timedLedger) *Token {
	return &Token{cursor{timedLedger: b}, make(map[protocol.Group]*tokens)}
}

// Name returns N-TOK.
func (k *Token) Name() string { return "N-TOK" }

// Observe looks at every fact about a lease.
func (k *Token) Observe(r *sim.Record) error {
	did := k.follow(r)
	if r.Ev != protocol.EvLease || r.Dom != protocol.Quorum {
		return nil
	}
	g := k.groups[r.Group]
	if g == nil {
		g = &tokens{owner: make(map[uint64]string)}
		k.groups[r.Group] = g
	}
	if did.Begun == nil {
		if x := did.Moved[0]; x.Token != r.Term {
			return Violatedf(k.Name(), r.T, "%v changes the token of its tenure %d of %q from %d to %d", x.Holder, x.Tenure, x.Group, x.Token, r.Term)
		}
		return nil
	}
	x, before := did.Begun, g.last
	g.last = *x
	if len(g.owner) > 0 && x.Token <= before.Token {
		return Violatedf(k.Name(), r.T, "%v leads %q in tenure %d with token %d, after %v did in tenure %d with token %d",
			x.Holder, x.Group, x.Tenure, x.Token, before.Holder, before.Tenure, before.Token)
	}
	me := fmt.Sprintf("tenure %d of %v", x.Tenure, x.Holder)
	if other, ok := g.owner[x.Token]; ok {
		return Violatedf(k.Name(), r.T, "token %d of %q belongs to %s and to %s", x.Token, x.Group, other, me)
	}
	g.owner[x.Token] = me
	return nil
}

// Finish has nothing to add.
func (k *Token) Finish() error { return nil }

// Resource is N-TOK at the receiving end: what a resource behind a gate carries out never goes back to an earlier
// leadership, and never mixes two leaderships under one token. It holds even where clocks fail and N-LU does not.
//
// Each edict takes a time of its own to arrive, sometimes much longer than a lease, and some come twice.
type Resource struct {
	dice   *sim.Dice
	travel sim.Delay
	way    sim.Queue[order]
	groups map[protocol.Group]*resource
	starts map[protocol.Rank]int
	// Carried and Stale count the orders that were carried out and those that were refused as stale.
	Carried, Stale int
}

// An order is an edict on its way.
type order struct {
	group protocol.Group
	stamp stamp.Edict
	owner owner
}

// An owner is a leadership and the member that had it. Tenures are counted in one start of a member. Within it, the incarnation may change
// while a program still leads: a member that finds its record stale freezes its leases, has incarnation 0 while it asks, and then another.
type owner struct {
	tenure uint64
	who    protocol.Ident
	start  int
}

func (o owner) same(x owner) bool {
	return o.tenure == x.tenure && o.who.Rank == x.who.Rank && (o.start == x.start || o.who.Inc == x.who.Inc && x.who.Inc != 0)
}

func (o owner) String() string { return fmt.Sprintf("tenure %d of %v", o.tenure, o.who) }

type resource struct {
	gate  fence.Gate
	token uint64 // of the last order carried out
	owner map[uint64]owner
}

// ordersDice tells the dice of a resource from those of members, links and faults.
const ordersDice = 1 << 48

// twice is how often an order arrives twice, the second time up to again later; plain is how often it shows its token alone.
var (
	twice = sim.Percent(10)
	plain = sim.Percent(50)
)

const again = time.Second

// NewResource returns the checker; edicts take so long to arrive, drawn from the seed.
func NewResource(seed uint64, travel sim.Delay) *Resource {
	return &Resource{dice: sim.NewDice(seed, ordersDice), travel: travel, groups: make(map[protocol.Group]*resource), starts: make(map[protocol.Rank]int)}
}

// Name returns N-TOK, and where.
func (s *Resource) Name() string { return "N-TOK (resource)" }

// Observe sends edicts off, and lets those arrive whose time has come.
func (s *Resource) Observe(r *sim.Record) error {
	if err := s.arrive(r.T); err != nil {
		return err
	}
	if r.Ev == sim.EvStart || r.Ev == sim.EvRestart {
		s.starts[r.Node]++
	}
	e, ok := r.Detail.(stamp.Edict)
	if r.Ev != protocol.EvEdict || r.Dom != protocol.Quorum || !ok {
		return nil
	}
	o := order{r.Group, e, owner{r.Tenure, protocol.Ident{Rank: r.Node, Inc: r.Inc}, s.starts[r.Node]}}
	at := r.T.Add(s.dice.Draw(s.travel))
	*s.way.Push(at) = o
	if s.dice.Hit(twice) {
		*s.way.Push(at.Add(s.dice.Between(0, again))) = o
	}
	return nil
}

// arrive delivers what is due, the earliest first.
func (s *Resource) arrive(t sim.Real) error {
	for s.way.Due(t) {
		at, o := s.way.Pop()
		if err := s.take(at, o); err != nil {
			return err
		}
	}
	return nil
}

// take is the resource: it carries an order out if its gate admits it, by the full stamp or, half of the time, by the
// token alone.
func (s *Resource) take(at sim.Real, o order) error {
	g := s.groups[o.group]
	if g == nil {
		g = &resource{owner: make(map[uint64]owner)}
		s.groups[o.group] = g
	}
	if other, ok := g.owner[o.stamp.Token]; ok && !other.same(o.owner) {
		return Violatedf(s.Name(), at, "token %d of %q is used by %s and by %s", o.stamp.Token, o.group, other, o.owner)
	}
	g.owner[o.stamp.Token] = o.owner
	st := fence.Of(o.stamp)
	if s.dice.Hit(plain) {
		st = fence.Token(o.stamp.Token)
	}
	if err := g.gate.Admit(st); err != nil {
		var stale *fence.StaleError
		if !errors.As(err, &stale) && !errors.Is(err, fence.ErrInconsistent) {
			return Violatedf(s.Name(), at, "order %v of %s: %v", st, o.owner, err)
		}
		s.Stale++
		return nil
	}
	if o.stamp.Token < g.token {
		return Violatedf(s.Name(), at, "order %v of %s in %q is carried out after one with token %d", st, o.owner, o.group, g.token)
	}
	g.token = o.stamp.Token
	s.Carried++
	return nil
}

// Finish lets everything arrive that is still on its way.
func (s *Resource) Finish() error { return s.arrive(sim.Forever) }

// Package ledger adds up what the records of a run say about promises and leases: it is the one reading of those facts, for the
// checkers, the explorer, scenarios and replay.
//
// A Ledger is pure: it knows records and nothing else. It compares no instants of different clocks, because every instant that it
// holds is one of the member that stated it. A user that knows the clocks decides what is over.
//
//	record                         what it does to the ledger
//	promise (quorum)               begins the voter's promise of that generation to the peer, or moves its end;
//	                               orphans what the voter promised as another incarnation
//	break (quorum)                 removes the promise with all that is assigned in it
//	assign (quorum)                takes the group from the member that the voter had assigned it to, and assigns it within the named promise
//	unassign (quorum)              takes the group from the peer
//	grant (local)                  begins a promise to the peer in which the group is assigned, and replaces the voter's one of that
//	                               group: a lock is a promise of one group
//	ungrant (local)                removes it
//	lease (quorum, local)          begins the holder's lease of the group if tenure or incarnation are new, and ends the one before;
//	                               else the end never moves back; notes horizon, support and whether it is frozen
//	horizon without a group        moves the ends of all leases of the member in that domain that lie behind the horizon
//	horizon of a group             moves the end of that horizon, which stands for itself
//	stepdown (quorum, local)       ends the holder's lease of the group
//	start, restart, crash, close   ends the member's leases, forgets its horizons, orphans its promises
//
// An orphan is a promise that its voter no longer knows of. Its holder does not know that, so the promise still backs what was
// assigned in it, and nothing changes it any more. An orphan without assignments backs nothing and is removed.
//
// All lists are in the order in which their entries began; members are visited by rank.
package ledger

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
)

// A Ledger is what the records of one run so far add up to.
type Ledger struct {
	accounts []account // by rank
	// What the last Change points to.
	moved []*Leadership
	ended []Leadership
}

// An account is what one member has stated.
type account struct {
	promises []Promise
	leases   []Leadership
	horizons []horizon
}

// A Promise is one unbroken promise of a voter. A promise in the domain Local is a lock.
type Promise struct {
	Domain    protocol.Domain
	Voter, To protocol.Ident
	Gen       uint64 // tells the promises of one voter to one holder apart, of all lengths; zero for a lock
	// Length names the promise among those that stand at once; zero: the council's.
	Length time.Duration
	// Until is the end, on the clock that the voter had at the instant Stated.
	Until  protocol.Time
	Stated sim.Real
	Orphan bool
	// Assigned lists the groups. It is replaced and never changed.
	Assigned []Assignment
}

// An Assignment is a group within a promise.
type Assignment struct {
	Group        protocol.Group
	Term, Tenure uint64 // of the claim
}

// A Leadership is what is known of one, by the facts of its holder.
type Leadership struct {
	Domain  protocol.Domain
	Group   protocol.Group
	Holder  protocol.Ident
	Tenure  uint64
	Token   uint64
	Quorum  stamp.Quorum // the quorum timestamp; nil where there is none
	Epoch   uint64       // of its stamps
	Support protocol.Set // as stated last
	Since   sim.Real     // of the first completion
	// Until is the end on the holder's clock. Horizon is what moves it; zero if nothing does, and then the lease is frozen.
	Until   protocol.Time
	Horizon protocol.HorizonID
	Frozen  bool
}

// A horizon is the end of a member's leave to act for a group without a lease of its own.
type horizon struct {
	domain protocol.Domain
	group  protocol.Group
	id     protocol.HorizonID
	until  protocol.Time
}

// A Change is what one record did. What it points to must not be changed, and is valid until the next Take.
type Change struct {
	// Begun is the lease that stands from now on; nil if none does. Moved lists the leases whose end or horizon was stated, Begun
	// among them. Ended lists those that are over: the holder stepped down, began another tenure, or is down.
	Begun *Leadership
	Moved []*Leadership
	Ended []Leadership
	// Promise is the promise that the record is about, as it is now; nil if there is none.
	Promise *Promise
	// Before is what stood before: of a promise and a break the same promise; of an assign, unassign, grant or ungrant the promise in
	// which the voter had the group assigned, and at which term. If nothing stood, Stood is false and the rest is zero.
	Before struct {
		Stood bool
		To    protocol.Ident
		Gen   uint64
		Until protocol.Time
		// Term and Tenure are those of the assignment.
		Term, Tenure uint64
	}
}

// New returns the ledger of a run that has not begun.
func New(members int) *Ledger { return &Ledger{accounts: make([]account, members)} }

// Clone returns a ledger that goes its own way from here on.
func (l *Ledger) Clone() *Ledger {
	c := New(len(l.accounts))
	var promises, leases, horizons int
	for i := range l.accounts {
		promises += len(l.accounts[i].promises)
		leases += len(l.accounts[i].leases)
		horizons += len(l.accounts[i].horizons)
	}
	// One allocation for all members: the capacity of each part ends where the next begins.
	allPromises, allLeases, allHorizons := make([]Promise, 0, promises), make([]Leadership, 0, leases), make([]horizon, 0, horizons)
	for i := range l.accounts {
		from, to := &l.accounts[i], &c.accounts[i]
		to.promises, allPromises = part(from.promises, allPromises)
		to.leases, allLeases = part(from.leases, allLeases)
		to.horizons, allHorizons = part(from.horizons, allHorizons)
	}
	return c
}

// part copies a list to the end of another one, and returns the copy and the whole.
func part[T any](list, all []T) (copied, whole []T) {
	first := len(all)
	all = append(all, list...)
	return all[first:len(all):len(all)], all
}

// Take takes the next record.
func (l *Ledger) Take(r *sim.Record) Change {
	var did Change
	switch r.Ev {
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose:
		l.down(r.Node, &did)
	case protocol.EvPromise, protocol.EvBreak, protocol.EvAssign, protocol.EvUnassign:
		if r.Dom == protocol.Quorum {
			l.vote(r, &did)
		}
	case protocol.EvGrant, protocol.EvUngrant:
		if r.Dom == protocol.Local {
			l.lock(r, &did)
		}
	case protocol.EvLease, protocol.EvStepdown:
		if r.Dom == protocol.Quorum || r.Dom == protocol.Local {
			l.lead(r, &did)
		}
	case protocol.EvHorizon:
		l.extend(r, &did)
	}
	return did
}

// down ends what ends with a process.
func (l *Ledger) down(r protocol.Rank, did *Change) {
	a := &l.accounts[r]
	l.ended = append(l.ended[:0], a.leases...)
	did.Ended = l.ended
	a.leases, a.horizons = a.leases[:0], a.horizons[:0]
	a.orphan(protocol.NoIdent)
}

// orphan makes orphans of all promises that are not of the present voter, and removes those in which nothing is assigned.
func (a *account) orphan(present protocol.Ident) {
	for i := len(a.promises) - 1; i >= 0; i-- {
		switch p := &a.promises[i]; {
		case p.Voter == present:
		case len(p.Assigned) == 0:
			a.promises = slices.Delete(a.promises, i, i+1)
		default:
			p.Orphan = true
		}
	}
}

// vote takes what a voter of quorum leases states.
func (l *Ledger) vote(r *sim.Record, did *Change) {
	a := &l.accounts[r.Node]
	if r.Ev == protocol.EvPromise {
		a.orphan(protocol.Ident{Rank: r.Node, Inc: r.Inc})
	}
	p := l.Promise(r.Node, r.Peer, r.Gen)
	switch r.Ev {
	case protocol.EvPromise:
		did.before(p, Assignment{})
		if p == nil {
			p = a.begin(r)
		}
		p.Gen, p.Length, p.Until, p.Stated = r.Gen, r.Length, r.Until, r.T
		did.Promise = p
	case protocol.EvBreak:
		did.before(p, Assignment{})
		a.remove(p)
	case protocol.EvAssign:
		old, was := a.holder(protocol.Quorum, r.Group)
		did.before(old, was)
		old.unassign(r.Group)
		p.assign(Assignment{r.Group, r.Term, r.Tenure})
		did.Promise = p
	case protocol.EvUnassign:
		old, was := a.holder(protocol.Quorum, r.Group)
		did.before(old, was)
		if old != nil && old.To == r.Peer {
			old.unassign(r.Group)
			did.Promise = old
		}
	}
}

// before notes what stood.
func (c *Change) before(p *Promise, was Assignment) {
	if p != nil {
		c.Before.Stood, c.Before.To, c.Before.Gen, c.Before.Until = true, p.To, p.Gen, p.Until
		c.Before.Term, c.Before.Tenure = was.Term, was.Tenure
	}
}

// begin adds a promise of the record's voter to its peer.
func (a *account) begin(r *sim.Record) *Promise {
	a.promises = append(a.promises, Promise{Domain: r.Dom, Voter: protocol.Ident{Rank: r.Node, Inc: r.Inc}, To: r.Peer})
	return &a.promises[len(a.promises)-1]
}

// remove removes a promise of the account.
func (a *account) remove(p *Promise) {
	for i := range a.promises {
		if &a.promises[i] == p {
			a.promises = slices.Delete(a.promises, i, i+1)
			return
		}
	}
}

// holder returns the promise in which the voter, orphans apart, has the group assigned, and how; nil if there is none.
func (a *account) holder(d protocol.Domain, g protocol.Group) (*Promise, Assignment) {
	for i := range a.promises {
		p := &a.promises[i]
		if p.Orphan || p.Domain != d {
			continue
		}
		if at := p.index(g); at >= 0 {
			return p, p.Assigned[at]
		}
	}
	return nil, Assignment{}
}

func (p *Promise) index(g protocol.Group) int {
	for i := range p.Assigned {
		if p.Assigned[i].Group == g {
			return i
		}
	}
	return -1
}

// Has reports whether the group is assigned in the promise.
func (p *Promise) Has(g protocol.Group) bool { return p.index(g) >= 0 }

func (p *Promise) assign(a Assignment) {
	if p != nil {
		p.Assigned = append(slices.Clip(p.Assigned), a)
	}
}

func (p *Promise) unassign(g protocol.Group) {
	if p == nil {
		return
	}
	i := p.index(g)
	p.Assigned = slices.Concat(p.Assigned[:i], p.Assigned[i+1:])
}

// lock takes what a voter for local leaders states.
func (l *Ledger) lock(r *sim.Record, did *Change) {
	a := &l.accounts[r.Node]
	p, _ := a.holder(protocol.Local, r.Group)
	did.before(p, Assignment{})
	if r.Ev == protocol.EvUngrant {
		a.remove(p)
		return
	}
	if voter := (protocol.Ident{Rank: r.Node, Inc: r.Inc}); p == nil || p.Voter != voter {
		a.orphan(voter)
		p = a.begin(r)
		p.assign(Assignment{Group: r.Group})
	}
	p.To, p.Until, p.Stated = r.Peer, r.Until, r.T
	did.Promise = p
}

// lead takes the beginning, the continuation and the end of a lease.
func (l *Ledger) lead(r *sim.Record, did *Change) {
	a := &l.accounts[r.Node]
	i := a.lease(r.Dom, r.Group)
	if i >= 0 && (r.Ev == protocol.EvStepdown || a.leases[i].Tenure != r.Tenure || a.leases[i].Holder.Inc != r.Inc) {
		l.ended = append(l.ended[:0], a.leases[i])
		did.Ended = l.ended
		a.leases = slices.Delete(a.leases, i, i+1)
		i = -1
	}
	if r.Ev == protocol.EvStepdown {
		return
	}
	begins := i < 0
	if begins {
		x := Leadership{Domain: r.Dom, Group: r.Group, Holder: protocol.Ident{Rank: r.Node, Inc: r.Inc}, Tenure: r.Tenure, Token: r.Term, Epoch: r.Gen, Since: r.T}
		x.Quorum, _ = r.Detail.(stamp.Quorum)
		i = len(a.leases)
		a.leases = append(a.leases, x)
	}
	x := &a.leases[i]
	x.Until, x.Horizon, x.Frozen, x.Support = max(x.Until, r.Until), protocol.HorizonID(r.Seq), r.Seq == 0, r.Members
	if begins {
		did.Begun = x
	}
	l.moved = append(l.moved[:0], x)
	did.Moved = l.moved
}

func (a *account) lease(d protocol.Domain, g protocol.Group) int {
	for i := range a.leases {
		if a.leases[i].Group == g && a.leases[i].Domain == d {
			return i
		}
	}
	return -1
}

// extend moves the end of a horizon.
func (l *Ledger) extend(r *sim.Record, did *Change) {
	a := &l.accounts[r.Node]
	id := protocol.HorizonID(r.Seq)
	if r.Group != "" {
		h := a.horizon(r.Dom, r.Group, id)
		if h == nil {
			a.horizons = append(a.horizons, horizon{domain: r.Dom, group: r.Group, id: id})
			h = &a.horizons[len(a.horizons)-1]
		}
		h.until = r.Until
		return
	}
	l.moved = l.moved[:0]
	for i := range a.leases {
		if x := &a.leases[i]; x.Domain == r.Dom && x.Horizon == id && r.Until > x.Until {
			x.Until = r.Until
			l.moved = append(l.moved, x)
		}
	}
	did.Moved = l.moved
}

func (a *account) horizon(d protocol.Domain, g protocol.Group, id protocol.HorizonID) *horizon {
	for i := range a.horizons {
		if h := &a.horizons[i]; h.id == id && h.group == g && h.domain == d {
			return h
		}
	}
	return nil
}

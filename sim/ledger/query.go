package ledger

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// Promises returns all promises of a voter, locks and orphans among them. They must not be changed.
func (l *Ledger) Promises(voter protocol.Rank) []Promise { return l.accounts[voter].promises }

// Leases returns all leases of a member that have not ended. They must not be changed.
func (l *Ledger) Leases(holder protocol.Rank) []Leadership { return l.accounts[holder].leases }

// Lease returns the lease of a group; nil if the member has none.
func (l *Ledger) Lease(holder protocol.Rank, d protocol.Domain, g protocol.Group) *Leadership {
	a := &l.accounts[holder]
	if i := a.lease(d, g); i >= 0 {
		return &a.leases[i]
	}
	return nil
}

// Promise returns the promise of a voter for quorum leases; nil if it does not stand or is an orphan.
func (l *Ledger) Promise(voter protocol.Rank, to protocol.Ident, gen uint64) *Promise {
	promises := l.accounts[voter].promises
	for i := range promises {
		if p := &promises[i]; !p.Orphan && p.To == to && p.Gen == gen && p.Domain == protocol.Quorum {
			return p
		}
	}
	return nil
}

// Backers returns the voters that have the group assigned to the holder in promises that are good, orphans included.
func (l *Ledger) Backers(d protocol.Domain, g protocol.Group, to protocol.Ident, good func(*Promise) bool) protocol.Set {
	var set protocol.Set
	for r := range l.accounts {
		promises := l.accounts[r].promises
		for i := range promises {
			if p := &promises[i]; p.To == to && p.Domain == d && p.Has(g) && good(p) {
				set.Add(protocol.Rank(r))
				break
			}
		}
	}
	return set
}

// Holders appends to list everybody that a voter has assigned the group to, orphans included, each once.
func (l *Ledger) Holders(list []protocol.Ident, d protocol.Domain, g protocol.Group) []protocol.Ident {
	for r := range l.accounts {
		promises := l.accounts[r].promises
		for i := range promises {
			if p := &promises[i]; p.Domain == d && p.Has(g) && !slices.Contains(list, p.To) {
				list = append(list, p.To)
			}
		}
	}
	return list
}

// End returns until when the member may lead by a view of its own, as far as the records say: the end of its lease, or of the horizon that
// the view names. It returns false if the records name neither.
func (l *Ledger) End(r protocol.Rank, d protocol.Domain, g protocol.Group, id protocol.HorizonID) (protocol.Time, bool) {
	if x := l.Lease(r, d, g); x != nil && x.Horizon == id {
		return x.Until, true
	}
	if h := l.accounts[r].horizon(d, g, id); h != nil {
		return h.until, true
	}
	return 0, false
}

// Forget removes the orphans of a voter that are over: they back nothing any more.
func (l *Ledger) Forget(voter protocol.Rank, over func(*Promise) bool) {
	a := &l.accounts[voter]
	kept := a.promises[:0]
	for i := range a.promises {
		if p := &a.promises[i]; !p.Orphan || !over(p) {
			kept = append(kept, *p)
		}
	}
	clear(a.promises[len(kept):])
	a.promises = kept
}

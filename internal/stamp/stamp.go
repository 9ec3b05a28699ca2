// Package stamp orders what leaders say, and tells a leading program whether it still leads.
//
// A leader stamps each of its orders, its edicts. The stamps of one group are totally ordered, across leaders, as the
// edicts were made, and any two of them can be compared by anybody, long after their makers lost the lead. The package
// knows nothing of protocols: it is below the contract.
//
//	Nerio §7, PROTOCOLS §3.4-6  edicts and their order                   quorum.go, stamp.go
//	PROTOCOLS §3.6              the scalar token and its agreement       stamp.go
//	PROTOCOLS §2.4-10, §3.4-6   the published lease and its readers      lease.go
//	                            compact form, text form                  binary.go, text.go
//
// Where we differ from the paper. Its timestamps are clock values of the voters: after a restart a clock may begin
// anew, so ours are pairs of incarnation and clock (erratum E-N5). Its counter counts edicts: ours is the clock sample
// that also proves that its maker led, so that goroutines which make edicts at once need no lock to agree on their
// order. A new quorum timestamp comes with each tenure and not with each renewal: a renewal says nothing about order.
//
// The only synchronisation here is sync/atomic, in lease.go: what a loop publishes is read by programs.
package stamp

import (
	"cmp"
	"fmt"
)

// MaxToken bounds tokens, so that they survive a JSON number and a signed column.
const MaxToken = 1<<53 - 1

// An Edict is the stamp on one order of a leader.
type Edict struct {
	// Epoch numbers the council's configuration. Voters are numbered within an epoch.
	Epoch uint64
	// Token is the term of the tenure. It never disagrees with Quorum, and says less: it is constant within a tenure.
	Token uint64
	// Counter is the maker's clock at the instant at which the edict was made: it orders the edicts of one tenure.
	Counter int64
	// Quorum is when the tenure began, at each voter that backed it.
	Quorum Quorum
}

// Check says whether e can be the stamp of an edict.
func (e Edict) Check() error {
	if e.Token == 0 || e.Token > MaxToken {
		return fmt.Errorf("edict with token %d: must be between 1 and 2^53-1", e.Token)
	}
	return e.Quorum.Check()
}

// Compare returns -1, 0 or 1: e was made before f, is f, or was made after f. Stamps of which the parts contradict each
// other give an error that wraps ErrInconsistent, never a guess: a quorum that began later must carry the higher token,
// the same quorum the same one.
func (e Edict) Compare(f Edict) (int, error) {
	order := cmp.Compare(e.Epoch, f.Epoch)
	if order == 0 {
		var err error
		if order, err = e.Quorum.Compare(f.Quorum); err != nil {
			return 0, err
		}
	}
	if byToken := cmp.Compare(e.Token, f.Token); byToken != order {
		return 0, fmt.Errorf("%w: %v is %s %v, but its token %d is %s %d", ErrInconsistent,
			e, orders[order+1], f, e.Token, orders[byToken+1], f.Token)
	}
	return cmp.Or(order, cmp.Compare(e.Counter, f.Counter)), nil
}

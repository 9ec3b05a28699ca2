package stamp

import (
	"cmp"
	"errors"
	"fmt"
)

// An Entry is one voter's part of a quorum timestamp: the clock of the voter, in its incarnation, at the instant at
// which it assigned the group.
type Entry struct {
	Voter uint16
	Inc   uint64
	Clock int64
}

// Quorum is a quorum timestamp: one entry for each voter of the quorum that elected the leader, by voter. It is frozen
// when the tenure begins.
type Quorum []Entry

// MaxVoters bounds a quorum timestamp. No council is larger.
const MaxVoters = 1000

// ErrInconsistent says that two stamps cannot both come from one history of one council: no order of theirs would be
// more than a guess.
var ErrInconsistent = errors.New("stamps do not belong to one history")

// before says how one voter puts two of its own instants in order. A restarted voter's clock may start again, so the
// incarnation counts first.
func (e Entry) before(f Entry) int {
	return cmp.Or(cmp.Compare(e.Inc, f.Inc), cmp.Compare(e.Clock, f.Clock))
}

// Check says whether q can be a quorum timestamp: not empty, in strictly increasing order of voters.
func (q Quorum) Check() error {
	if len(q) == 0 || len(q) > MaxVoters {
		return fmt.Errorf("quorum timestamp with %d voters: must have 1 to %d", len(q), MaxVoters)
	}
	for i, e := range q {
		if e.Voter >= MaxVoters {
			return fmt.Errorf("quorum timestamp names voter %d: must be below %d", e.Voter, MaxVoters)
		}
		if i > 0 && e.Voter <= q[i-1].Voter {
			return fmt.Errorf("quorum timestamp has voter %d after %d: voters must increase", e.Voter, q[i-1].Voter)
		}
	}
	return nil
}

// Compare returns -1, 0 or 1: the tenure of q began before, is, or began after that of r. It asks every voter that the
// two have in common, and all must give the same answer. If they do not, or if no voter is common, the error wraps
// ErrInconsistent and says who disagrees; the result then means nothing.
func (q Quorum) Compare(r Quorum) (int, error) {
	order, witness, common := 0, uint16(0), 0
	for i, j := 0, 0; i < len(q) && j < len(r); {
		a, b := q[i], r[j]
		switch {
		case a.Voter < b.Voter:
			i++
			continue
		case a.Voter > b.Voter:
			j++
			continue
		}
		i, j = i+1, j+1
		o := a.before(b)
		if common > 0 && o != order {
			return 0, fmt.Errorf("%w: voter %d puts %v %s %v, voter %d %s it",
				ErrInconsistent, witness, q, orders[order+1], r, a.Voter, orders[o+1])
		}
		order, witness, common = o, a.Voter, common+1
	}
	switch {
	case common == 0:
		return 0, fmt.Errorf("%w: %v and %v have no voter in common", ErrInconsistent, q, r)
	case order == 0 && (common != len(q) || common != len(r)):
		// A voter assigns a group once at an instant, so equal entries mean one tenure, whose quorum is frozen.
		return 0, fmt.Errorf("%w: %v and %v agree at voter %d and yet are not the same", ErrInconsistent, q, r, witness)
	}
	return order, nil
}

var orders = [...]string{"before", "with", "after"}

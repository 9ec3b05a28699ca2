// Package fence is the receiver's side of an election: it refuses orders of a leader that has been replaced.
//
// A lease cannot protect a resource by itself. A leader checks that it leads, is stopped for a minute by its garbage
// collector, its disk or its hypervisor, and then goes on to write what it had decided to write. Nothing on its side can
// prevent that. The resource can: every order carries a [Stamp], stamps are ordered as the orders were made, across
// leaders, and a resource that has seen a later one refuses the earlier.
//
// A resource keeps its high-water mark where the effect of the order is: in memory, in a [Gate]; in a database, in the
// same transaction as the write, with package sqlfence; behind HTTP, with package httpfence.
//
// There are two kinds of stamp. A full stamp belongs to one order. It is compared with the quorum that backed the
// leader, and orders of one leader have an order too. A token is one number that all orders of one leadership share, for
// places that can only compare integers. It tells leaderships apart, not orders. Both may be used at one gate.
//
// The package depends on nothing but the standard library, and not on the rest of Regent: a receiver need not be a
// member of anything. docs/edicts.md says what stamps promise and what a receiver must do.
package fence

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/regentproject/regent/internal/stamp"
)

// A Stamp says when an order was made: a full stamp, or a token. The zero Stamp is neither, and no gate admits it.
// Stamps are values and can be copied.
type Stamp struct {
	edict stamp.Edict // of a token: only Token is set
}

// ErrInconsistent says that two stamps cannot come from one council: say, from groups of different councils that were
// mixed up, or from a council that was started anew and has forgotten its past. No order of theirs would be more than
// a guess.
var ErrInconsistent = stamp.ErrInconsistent

// ErrNoStamp says that an order came without a stamp.
var ErrNoStamp = errors.New("fence: no stamp: the order must carry the stamp that its leader gave it")

// Token returns the stamp that is the token alone.
func Token(token uint64) Stamp { return Stamp{stamp.Edict{Token: token}} }

// Of returns the full stamp of an edict. Programs get theirs from their lease, or from Parse.
func Of(e stamp.Edict) Stamp { return Stamp{e} }

// Parse reads what String writes, and refuses everything else.
func Parse(s string) (Stamp, error) {
	if token, err := strconv.ParseUint(s, 10, 64); err == nil {
		if token == 0 || token > stamp.MaxToken || strconv.FormatUint(token, 10) != s {
			return Stamp{}, fmt.Errorf("fence: token %.40q: must be a plain number between 1 and 2^53-1", s)
		}
		return Token(token), nil
	}
	e, err := stamp.Parse(s)
	if err != nil {
		return Stamp{}, fmt.Errorf("fence: %w", err)
	}
	return Stamp{e}, nil
}

// Token returns the token. It grows with every leadership of the group and is constant within one.
func (s Stamp) Token() uint64 { return s.edict.Token }

// Full says whether the stamp orders single orders, and not only leaderships.
func (s Stamp) Full() bool { return len(s.edict.Quorum) > 0 }

// IsZero says whether there is no stamp at all.
func (s Stamp) IsZero() bool { return s.edict.Token == 0 }

// String returns the text form: the token alone, such as 42, or epoch.token.counter:voter/inc@clock,... for a full
// stamp. People compare the numbers before the colon, from left to right. It is safe in headers, file names of most
// systems, and the environment. The zero Stamp gives the empty string.
func (s Stamp) String() string {
	switch {
	case s.IsZero():
		return ""
	case s.Full():
		return s.edict.String()
	}
	return strconv.FormatUint(s.edict.Token, 10)
}

// MarshalText returns what String does; in JSON a Stamp is a string.
func (s Stamp) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes; from an empty text it makes the zero Stamp.
func (s *Stamp) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*s = Stamp{}
		return nil
	}
	t, err := Parse(string(b))
	if err == nil {
		*s = t
	}
	return err
}

// Compare returns -1, 0 or 1: the order of s was made before that of t, at the same time as far as the stamps can
// tell, or after it. Two full stamps are compared in full; otherwise the tokens decide. Stamps that contradict each
// other give an error that wraps ErrInconsistent.
func (s Stamp) Compare(t Stamp) (int, error) {
	if s.Full() && t.Full() {
		return s.edict.Compare(t.edict)
	}
	return cmp.Compare(s.Token(), t.Token()), nil
}

// A StaleError says that an order was refused because a later one had been admitted before it.
type StaleError struct {
	Got  Stamp // the stamp of the order that was refused
	Seen Stamp // the latest stamp admitted so far
}

// Error names both stamps.
func (e *StaleError) Error() string {
	what := "made earlier"
	if e.Got.Token() < e.Seen.Token() {
		what = "of an earlier leadership"
	}
	return fmt.Sprintf("fence: stamp %v is stale: it is %s than %v, which was seen before", e.Got, what, e.Seen)
}

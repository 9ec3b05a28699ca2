package protocol

import (
	"encoding/hex"
	"fmt"
)

// Rank is a member's place in the council's total order: 0 is the best. Inside a machine members are ranks; names and
// addresses are for people and sockets. A rank means something within one epoch only.
type Rank uint16

// Nobody is no member's rank.
const Nobody Rank = 1<<16 - 1

// MaxMembers is how many members a council may have.
const MaxMembers = 1000

// String shows the rank as the simulator names its members: a for 0, z for 25, then m26 and so on.
func (r Rank) String() string {
	switch {
	case r == Nobody:
		return "nobody"
	case r < 26:
		return string(rune('a' + r))
	}
	return fmt.Sprintf("m%d", uint16(r))
}

// Inc numbers the starts of one member. A message of an earlier incarnation is never mistaken for one of a later.
type Inc uint64

// MaxInc bounds incarnations: one more than any that is heard of is still an incarnation.
const MaxInc Inc = 1 << 62

// A CouncilID tells one council from all others, however alike their configurations are: 128 random bits that are drawn once, when
// the council begins. Zero is none.
type CouncilID [16]byte

// String shows the id as configurations spell it: 32 hexadecimal digits.
func (c CouncilID) String() string { return hex.EncodeToString(c[:]) }

// ParseCouncilID reads what String wrote.
func ParseCouncilID(text string) (c CouncilID, err error) {
	b, err := hex.DecodeString(text)
	if err == nil && len(b) == len(c) {
		c = CouncilID(b)
	}
	if c == (CouncilID{}) {
		return c, fmt.Errorf("council id %q: must have %d hexadecimal digits, not all zero", text, 2*len(c))
	}
	return c, nil
}

// Ident is a member in one of its incarnations.
type Ident struct {
	Rank Rank
	Inc  Inc
}

// NoIdent is nobody, in no incarnation.
var NoIdent = Ident{Rank: Nobody}

// String shows a/3 for the third incarnation of member a.
func (i Ident) String() string {
	if i.Rank == Nobody {
		return "nobody"
	}
	return fmt.Sprintf("%v/%d", i.Rank, i.Inc)
}

// Group names an election. Many groups share one council.
type Group string

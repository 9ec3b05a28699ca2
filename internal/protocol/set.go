package protocol

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

const setWords = (MaxMembers + 63) / 64

// Set is a set of members: a value, compared with ==, of fixed size and without pointers.
type Set [setWords]uint64

// NewSet returns the set of the given members.
func NewSet(members ...Rank) Set {
	var s Set
	for _, r := range members {
		s.Add(r)
	}
	return s
}

// Everyone returns the set of the members 0 to n-1.
func Everyone(n int) Set {
	var s Set
	for i := range s {
		switch left := n - 64*i; {
		case left >= 64:
			s[i] = ^uint64(0)
		case left > 0:
			s[i] = 1<<left - 1
		}
	}
	return s
}

// Add puts r into s. It panics if r is Nobody: a set that quietly lost a member would be a wrong quorum.
func (s *Set) Add(r Rank) { s[r/64] |= 1 << (r % 64) }

// Remove takes r out of s. To remove Nobody changes nothing.
func (s *Set) Remove(r Rank) {
	if r < setWords*64 {
		s[r/64] &^= 1 << (r % 64)
	}
}

// Has says whether r is in s. Nobody never is.
func (s *Set) Has(r Rank) bool { return r < setWords*64 && s[r/64]&(1<<(r%64)) != 0 }

// With returns s and r.
func (s Set) With(r Rank) Set { s.Add(r); return s }

// Without returns s less r.
func (s Set) Without(r Rank) Set { s.Remove(r); return s }

// Len returns the number of members in s.
func (s *Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty says whether s has no members.
func (s *Set) Empty() bool { return *s == Set{} }

// Min returns the best-ranked member of s, or Nobody.
func (s *Set) Min() Rank {
	for i, w := range s {
		if w != 0 {
			return Rank(64*i + bits.TrailingZeros64(w))
		}
	}
	return Nobody
}

// Union returns the members of s or t.
func (s Set) Union(t Set) Set {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

// Intersect returns the members of s and t.
func (s Set) Intersect(t Set) Set {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

// Minus returns the members of s that are not in t.
func (s Set) Minus(t Set) Set {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// Contains says whether every member of t is in s.
func (s *Set) Contains(t Set) bool {
	for i, w := range t {
		if w&^s[i] != 0 {
			return false
		}
	}
	return true
}

// All yields the members of s in rank order.
func (s Set) All() iter.Seq[Rank] {
	return func(yield func(Rank) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Rank(64*i + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// String shows {a c d}.
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for r := range s.All() {
		if b.Len() > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(r.String())
	}
	b.WriteByte('}')
	return b.String()
}

// MarshalJSON writes the ranks in order, such as [0,2,3].
func (s Set) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for r := range s.All() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Append(b, uint16(r))
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and refuses a rank that no council has.
func (s *Set) UnmarshalJSON(b []byte) error {
	var ranks []Rank
	if err := json.Unmarshal(b, &ranks); err != nil {
		return err
	}
	var t Set
	for _, r := range ranks {
		if r >= MaxMembers {
			return fmt.Errorf("set: rank %d: a council has at most %d members", r, MaxMembers)
		}
		t.Add(r)
	}
	*s = t
	return nil
}

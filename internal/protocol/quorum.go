package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Quorums is a quorum system: a family of sets of members of which every two intersect. The zero value has no quorum.
// It is immutable and can be copied.
type Quorums struct {
	n      int
	weight []int // nil: one each
	need   int   // total weight that makes a quorum; 0: sets decide
	sets   []Set // explicit quorums, none containing another, in the order of compareSets
}

// Majority returns the system of all sets of more than half of n members. It panics if no council has n members.
func Majority(n int) Quorums {
	if n < 1 || n > MaxMembers {
		panic(fmt.Sprintf("protocol: a majority of %d members: a council has between 1 and %d", n, MaxMembers))
	}
	return Quorums{n: n, need: n/2 + 1}
}

// MajorityOf returns the system of all sets with more than half of the voters, of n members. The others, if there are any,
// observe: no quorum needs them. It panics if nobody votes, or somebody who is no member.
func MajorityOf(n int, voters Set) Quorums {
	if everyone := Everyone(n); voters == everyone {
		return Majority(n)
	} else if voters.Empty() || !everyone.Contains(voters) {
		panic(fmt.Sprintf("protocol: a majority of %v, of %d members: name at least one of them", voters, n))
	}
	weight := make([]int, n)
	for r := range voters.All() {
		weight[r] = 1
	}
	return Quorums{n: n, weight: weight, need: voters.Len()/2 + 1}
}

// maxWeight bounds the total weight, so that intersection can be decided exactly.
const maxWeight = 1 << 16

// Weighted returns the system of all sets of members with a total weight of at least need. Weights are not negative;
// need is at least 1. It is refused if two such sets need not intersect, and the error names two.
func Weighted(weight []int, need int) (Quorums, error) {
	total := 0
	for i, w := range weight {
		if w < 0 || w > maxWeight {
			return Quorums{}, fmt.Errorf("quorum: weight %d of %v: must be between 0 and %d", w, Rank(i), maxWeight)
		}
		total += w
	}
	switch {
	case len(weight) == 0 || len(weight) > MaxMembers:
		return Quorums{}, fmt.Errorf("quorum: %d members: must be between 1 and %d", len(weight), MaxMembers)
	case total > maxWeight:
		return Quorums{}, fmt.Errorf("quorum: total weight %d: must be at most %d", total, maxWeight)
	case need < 1 || need > total:
		return Quorums{}, fmt.Errorf("quorum: needed weight %d: must be between 1 and the total weight %d", need, total)
	}
	if a, ok := subsetOfWeight(weight, need, total-need); ok {
		b := Everyone(len(weight)).Minus(a)
		return Quorums{}, &DisjointError{A: a, B: b, Need: need}
	}
	if !slices.ContainsFunc(weight, func(w int) bool { return w != 1 }) {
		return Quorums{n: len(weight), need: need}, nil
	}
	return Quorums{n: len(weight), weight: slices.Clone(weight), need: need}, nil
}

// A DisjointError says that two sets of members both have the needed weight and no member in common.
type DisjointError struct {
	A, B Set
	Need int
}

// Error names both sets.
func (e *DisjointError) Error() string {
	return fmt.Sprintf("quorum: %v and %v both have the needed weight %d and do not intersect", e.A, e.B, e.Need)
}

// subsetOfWeight finds a set whose weight is between lo and hi.
func subsetOfWeight(weight []int, lo, hi int) (Set, bool) {
	if lo > hi {
		return Set{}, false
	}
	const unreached = -1
	by := make([]int, hi+1) // by[w]: the last member of a set of weight w, found in rank order
	for w := range by {
		by[w] = unreached
	}
	for i, wi := range weight {
		if wi == 0 {
			continue
		}
		for w := hi; w >= wi; w-- {
			if by[w] == unreached && (w == wi || by[w-wi] != unreached) {
				by[w] = i
			}
		}
	}
	for w := max(lo, 1); w <= hi; w++ {
		if by[w] == unreached {
			continue
		}
		var s Set
		for left := w; left > 0; left -= weight[by[left]] {
			s.Add(Rank(by[left]))
		}
		return s, true
	}
	return Set{}, false
}

// Explicit returns the system of the given sets of the members 0 to n-1 and all that contain one of them. It is refused
// if two of them do not intersect, and the error names them.
func Explicit(n int, sets ...Set) (Quorums, error) {
	if n < 1 || n > MaxMembers {
		return Quorums{}, fmt.Errorf("quorum: %d members: must be between 1 and %d", n, MaxMembers)
	}
	if len(sets) == 0 {
		return Quorums{}, errors.New("quorum: no sets given: name at least one")
	}
	everyone := Everyone(n)
	for i, a := range sets {
		if a.Empty() {
			return Quorums{}, errors.New("quorum: an empty set cannot be a quorum")
		}
		if !everyone.Contains(a) {
			return Quorums{}, fmt.Errorf("quorum: %v has members beyond the %d of the council", a, n)
		}
		for _, b := range sets[:i] {
			if c := a.Intersect(b); c.Empty() {
				return Quorums{}, fmt.Errorf("quorum: %v and %v do not intersect", b, a)
			}
		}
	}
	return Quorums{n: n, sets: minimal(sets)}, nil
}

// minimal returns the sets that contain no other of the sets, each once and in a fixed order: what is left makes the
// same system, described in one way only.
func minimal(sets []Set) []Set {
	sorted := slices.SortedFunc(slices.Values(sets), compareSets)
	var kept []Set
	for _, s := range sorted {
		// A set comes after all that it contains, and may equal one.
		if !slices.ContainsFunc(kept, func(k Set) bool { return s.Contains(k) }) {
			kept = append(kept, s)
		}
	}
	return kept
}

// compareSets orders small sets first, and sets of one size by their best-ranked members.
func compareSets(a, b Set) int {
	if c := cmp.Compare(a.Len(), b.Len()); c != 0 {
		return c
	}
	for i := range a {
		if a[i] != b[i] {
			// The lowest bit in which they differ belongs to the set that comes first.
			if d := a[i] ^ b[i]; a[i]&(d&-d) != 0 {
				return -1
			}
			return 1
		}
	}
	return 0
}

// Members returns the number of members that the system is about.
func (q Quorums) Members() int { return q.n }

// Voters returns the members whose vote can make a difference. The others observe.
func (q Quorums) Voters() Set {
	var s Set
	for _, set := range q.sets {
		s = s.Union(set)
	}
	for r, w := range q.weight {
		if w > 0 {
			s.Add(Rank(r))
		}
	}
	if q.need > 0 && q.weight == nil {
		s = Everyone(q.n)
	}
	return s
}

// In says whether s contains a quorum.
func (q Quorums) In(s Set) bool {
	if q.need == 0 {
		return slices.ContainsFunc(q.sets, s.Contains)
	}
	return q.weigh(s) >= q.need
}

func (q Quorums) weigh(s Set) int {
	s = s.Intersect(Everyone(q.n))
	if q.weight == nil {
		return s.Len()
	}
	sum := 0
	for r := range s.All() {
		sum += q.weight[r]
	}
	return sum
}

// MeetsAll says whether s has a member other than me in every quorum: what all of s know, no quorum can have decided
// without one of them, even if me has forgotten everything.
func (q Quorums) MeetsAll(s Set, me Rank) bool {
	return !q.In(Everyone(q.n).Minus(s).With(me))
}

// EqualVotes says whether the system is that of all majorities of its voters.
func (q Quorums) EqualVotes() bool { return q.String() == MajorityOf(q.n, q.Voters()).String() }

// String describes the system in a line. Equal descriptions mean equal systems. The converse holds for sets that decide,
// however they were listed; weights can be written in many ways.
func (q Quorums) String() string {
	switch {
	case q.need == 0:
		return fmt.Sprintf("sets %v of %d", q.sets, q.n)
	case q.weight == nil:
		return fmt.Sprintf("%d of %d", q.need, q.n)
	}
	return fmt.Sprintf("weight %d of %v", q.need, q.weight)
}

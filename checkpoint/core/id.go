package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math/bits"
)

// A Number is the number of a view: the token under which the group agreed on it, and a counter.
type Number struct {
	Token uint64 `json:"token"`
	Vid   uint64 `json:"vid"`
}

// Compare returns -1, 0 or 1.
func (n Number) Compare(o Number) int {
	return cmp.Or(cmp.Compare(n.Token, o.Token), cmp.Compare(n.Vid, o.Vid))
}

// An ID identifies a checkpoint of a key. Later views come after earlier ones, whatever the owner counts.
type ID struct {
	View Number `json:"view"`
	Seq  uint64 `json:"seq"` // counted by the program, for example frames
}

// Compare returns -1, 0 or 1.
func (i ID) Compare(o ID) int { return cmp.Or(i.View.Compare(o.View), cmp.Compare(i.Seq, o.Seq)) }

// A Set is a set of members, by their places in the council.
type Set uint64

// MaxMembers is how many members a council may have.
const MaxMembers = 64

// Of returns the set of these members.
func Of(members ...int) Set {
	var s Set
	for _, m := range members {
		s |= 1 << m
	}
	return s
}

// Has reports whether a member is in the set.
func (s Set) Has(m int) bool { return s>>m&1 == 1 }

// Len returns how many are in the set.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the members in order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for rest := s; rest != 0; rest &= rest - 1 {
			if !yield(bits.TrailingZeros64(uint64(rest))) {
				return
			}
		}
	}
}

// A Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

// A Share is one member's part of a checkpoint.
type Share struct {
	ID
	Members Set `json:"members"` // of the view
	Base    ID  `json:"base"`    // the last checkpoint that its owner knew to be complete
	Index   int `json:"index"`   // the member that keeps it
	Size    int `json:"size"`    // of the state, in bytes
	// State is the digest of the whole state, Sum that of this share with all its fields.
	State Digest `json:"state"`
	Sum   Digest `json:"sum"`
	Data  []byte `json:"data"`
}

// sum computes what Sum must be.
func (s *Share) sum(key string) Digest {
	h := sha256.New()
	for _, v := range [...]uint64{s.View.Token, s.View.Vid, s.Seq, s.Base.View.Token, s.Base.View.Vid, s.Base.Seq, uint64(s.Members), uint64(s.Index), uint64(s.Size), uint64(len(key))} {
		h.Write(binary.BigEndian.AppendUint64(nil, v))
	}
	h.Write([]byte(key))
	h.Write(s.State[:])
	h.Write(s.Data)
	return Digest(h.Sum(nil))
}

// Intact reports whether a share is as its owner wrote it.
func (s *Share) Intact(key string) bool { return s.Sum == s.sum(key) }

// A Coder is an erasure code: any k of n shares give the state back.
type Coder interface {
	// Encode returns n shares of equal length.
	Encode(state []byte) ([][]byte, error)
	// Decode returns the state of a size from shares by index, of which at least k are not nil.
	Decode(shares [][]byte, size int) ([]byte, error)
}

// cut encodes a state into shares.
func cut(c Coder, key string, id, base ID, members Set, state []byte) ([]Share, error) {
	parts, err := c.Encode(state)
	if err != nil {
		return nil, err
	}
	whole := Digest(sha256.Sum256(state))
	all := make([]Share, len(parts))
	for i, p := range parts {
		all[i] = Share{ID: id, Base: base, Members: members, Index: i, Size: len(state), State: whole, Data: p}
		all[i].Sum = all[i].sum(key)
	}
	return all, nil
}

// Join decodes a state from shares of one checkpoint, and checks its digest.
func Join(c Coder, n int, shares []Share) ([]byte, bool) {
	parts := make([][]byte, n)
	for _, s := range shares {
		parts[s.Index] = s.Data
	}
	state, err := c.Decode(parts, shares[0].Size)
	return state, err == nil && Digest(sha256.Sum256(state)) == shares[0].State
}

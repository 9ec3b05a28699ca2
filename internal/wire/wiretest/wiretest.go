// Package wiretest has keys for councils that exist only in tests and in the simulator.
package wiretest

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

// Private returns the private key of a member, which follows from its name.
func Private(name string) identity.Private {
	return identity.Private(sha256.Sum256([]byte("a member of a test called " + name)))
}

// Name returns the name of the member of a rank.
func Name(r protocol.Rank) string { return r.String() }

// shared holds the pairs of councils without a cluster key: the simulator starts the same members again and again.
var shared sync.Map // of place, or of the keys as text, to *wire.Pairs

type place struct {
	self    protocol.Rank
	members int
}

// Pairs returns the keys of a member of a council without a cluster key, in which all draw theirs from their names.
func Pairs(self protocol.Rank, members int) *wire.Pairs {
	at := place{self, members}
	if p, ok := shared.Load(at); ok {
		return p.(*wire.Pairs)
	}
	p := PairsOf(self, members, wire.PublicKeyring())
	shared.Store(at, p)
	return p
}

// Key returns a private key of a member by number: the one of its name, or one that has replaced it.
func Key(r protocol.Rank, number int) identity.Private {
	if number == 0 {
		return Private(Name(r))
	}
	return Private(fmt.Sprintf("%s, key %d", Name(r), number))
}

// PairsOfKeys returns the keys of a member of a council without a cluster key that has and lists the keys of these numbers.
func PairsOfKeys(self protocol.Rank, own []int, lists [][]int) *wire.Pairs {
	at := fmt.Sprint(self, own, lists)
	if p, ok := shared.Load(at); ok {
		return p.(*wire.Pairs)
	}
	c := wire.PairsConfig{Ring: wire.PublicKeyring(), Self: self}
	for _, n := range own {
		c.Private = append(c.Private, Key(self, n))
	}
	for r, list := range lists {
		m := wire.Identity{Name: Name(protocol.Rank(r))}
		for _, n := range list {
			m.Keys = append(m.Keys, Key(protocol.Rank(r), n).Public())
		}
		c.Members = append(c.Members, m)
	}
	p, err := wire.NewPairs(c)
	if err != nil {
		panic("wiretest: " + err.Error())
	}
	shared.Store(at, p)
	return p
}

// PairsOf returns the keys of a member of a council with cluster keys.
func PairsOf(self protocol.Rank, members int, ring wire.Keyring) *wire.Pairs {
	c := wire.PairsConfig{Ring: ring, Self: self, Private: []identity.Private{Private(Name(self))}}
	for r := range protocol.Rank(members) {
		c.Members = append(c.Members, wire.Identity{Name: Name(r), Keys: []identity.Public{Private(Name(r)).Public()}})
	}
	p, err := wire.NewPairs(c)
	if err != nil {
		panic("wiretest: " + err.Error())
	}
	return p
}

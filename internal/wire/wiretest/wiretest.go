// Package wiretest has keys for councils that exist only in tests and in the simulator.
package wiretest

import (
	"crypto/sha256"
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
var shared sync.Map // of place to *wire.Pairs

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

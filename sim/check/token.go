package check

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Token is N-TOK: the tokens of a group grow strictly from tenure to tenure, in the order of first completion; a token
// belongs to one tenure, and is constant within it.
type Token struct {
	leases leases
	groups map[protocol.Group]*tokens
}

type tokens struct {
	last  *tenure
	owner map[uint64]string
}

// NewToken returns the checker.
func NewToken(t Truth) *Token {
	return &Token{leases: newLeases(t), groups: make(map[protocol.Group]*tokens)}
}

// Name returns N-TOK.
func (k *Token) Name() string { return "N-TOK" }

// Observe looks at every fact about a lease.
func (k *Token) Observe(r *sim.Record) error {
	s := k.leases.follow(r)
	if r.Ev != protocol.EvLease || r.Dom != protocol.Quorum {
		return nil
	}
	g := k.groups[r.Group]
	if g == nil {
		g = &tokens{owner: make(map[uint64]string)}
		k.groups[r.Group] = g
	}
	if s.begun == nil {
		if x := s.moved[0]; x.token != r.Term {
			return Violatedf(k.Name(), r.T, "%v changes the token of its tenure %d of %q from %d to %d", x.holder, x.number, x.group, x.token, r.Term)
		}
		return nil
	}
	x, before := s.begun, g.last
	g.last = x
	if before != nil && x.token <= before.token {
		return Violatedf(k.Name(), r.T, "%v leads %q in tenure %d with token %d, after %v did in tenure %d with token %d",
			x.holder, x.group, x.number, x.token, before.holder, before.number, before.token)
	}
	me := fmt.Sprintf("tenure %d of %v", x.number, x.holder)
	if other, ok := g.owner[x.token]; ok {
		return Violatedf(k.Name(), r.T, "token %d of %q belongs to %s and to %s", x.token, x.group, other, me)
	}
	g.owner[x.token] = me
	return nil
}

// Finish has nothing to add.
func (k *Token) Finish() error { return nil }

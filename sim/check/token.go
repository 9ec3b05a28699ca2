package check

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Token is N-TOK: the tokens of a group grow strictly from tenure to tenure, in the order of first completion; a token
// belongs to one tenure, and is constant within it.
type Token struct {
	follower
	groups map[protocol.Group]*tokens
}

type tokens struct {
	last  ledger.Lease
	owner map[uint64]string
}

func newToken(b *book) *Token { return &Token{follower{book: b}, make(map[protocol.Group]*tokens)} }

// Name returns N-TOK.
func (k *Token) Name() string { return "N-TOK" }

// Observe looks at every fact about a lease.
func (k *Token) Observe(r *sim.Record) error {
	did := k.follow(r)
	if r.Ev != protocol.EvLease || r.Dom != protocol.Quorum {
		return nil
	}
	g := k.groups[r.Group]
	if g == nil {
		g = &tokens{owner: make(map[uint64]string)}
		k.groups[r.Group] = g
	}
	if did.Begun == nil {
		if x := did.Moved[0]; x.Token != r.Term {
			return Violatedf(k.Name(), r.T, "%v changes the token of its tenure %d of %q from %d to %d", x.Holder, x.Tenure, x.Group, x.Token, r.Term)
		}
		return nil
	}
	x, before := did.Begun, g.last
	g.last = *x
	if len(g.owner) > 0 && x.Token <= before.Token {
		return Violatedf(k.Name(), r.T, "%v leads %q in tenure %d with token %d, after %v did in tenure %d with token %d",
			x.Holder, x.Group, x.Tenure, x.Token, before.Holder, before.Tenure, before.Token)
	}
	me := fmt.Sprintf("tenure %d of %v", x.Tenure, x.Holder)
	if other, ok := g.owner[x.Token]; ok {
		return Violatedf(k.Name(), r.T, "token %d of %q belongs to %s and to %s", x.Token, x.Group, other, me)
	}
	g.owner[x.Token] = me
	return nil
}

// Finish has nothing to add.
func (k *Token) Finish() error { return nil }

package wire

import (
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// adopting puts number 2 in force, in which member c has left its rank to d.
func adopting(t *testing.T, e *Endpoint, change ...func(*PairsConfig)) {
	t.Helper()
	moved := func(c *PairsConfig) {
		c.Members[2] = Identity{Name: "d", Keys: []identity.Public{private(3, 0).Public()}}
		for _, f := range change {
			f(c)
		}
	}
	c := Change{Self: e.Self().Rank, Council: datagram.Council{Epoch: 2, Digest: Digest{2}}, ID: testCouncil, Pairs: pairsOf(t, e.Self().Rank, 3, ringOf(t, testKey), moved),
		Stay: protocol.NewSet(0, 1)}
	if err := e.Adopt(0, &c); err != nil {
		t.Fatal(err)
	}
}

// Members that stay understand each other at once, whichever of them has the later number. Of what is said under another number only what
// is valid in any counts.
func TestMembersThatStayGoOnAcrossNumbers(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1, &hot{Seq: 1}), datagram.Accepted)
	before := send(t, a, b, 2, &help{Nonce: 1}, &hot{Seq: 2})
	adopting(t, b)
	if p := expect(t, b, before, datagram.Accepted); len(p.Messages) != 1 || p.Messages[0].Name() != "test.Help" {
		t.Errorf("of a packet under an earlier number came %v", p.Messages)
	}
	if p := expect(t, a, send(t, b, a, 1, &help{Nonce: 1}, &hot{Seq: 2}), datagram.Accepted); len(p.Messages) != 1 {
		t.Errorf("of a packet under a later number came %v", p.Messages)
	}
	adopting(t, a)
	if p := expect(t, b, send(t, a, b, 3, &hot{Seq: 3}), datagram.Accepted); len(p.Messages) != 1 {
		t.Errorf("under one number came %v", p.Messages)
	}
}

// A member that was removed is not heard any more, under whichever number. The one that has its rank is, with its own key only.
func TestRankOfARemovedMemberIsAnothers(t *testing.T) {
	b, c := endpoint(t, 1, 9), endpoint(t, 2, 7)
	expect(t, b, send(t, c, b, 1, &help{}), datagram.Accepted)
	late := send(t, c, b, 2, &help{})
	adopting(t, b)
	expect(t, b, late, datagram.MemberKey)
	d := endpoint(t, 2, 3, func(x *Config) {
		x.Council = datagram.Council{Epoch: 2, Digest: Digest{2}}
		x.Pairs = pairsOf(t, 2, 3, ringOf(t, testKey), func(p *PairsConfig) {
			p.Members[2].Name, p.Private = "d", []identity.Private{private(3, 0)}
		})
	})
	expect(t, b, send(t, d, b, 1, &hot{Seq: 1}), datagram.Accepted)
}

// No number is used twice under the random bits of one start, whichever member has the rank: the keys do not depend on the number of the council.
func TestNumbersOfPacketsGoOnAcrossNumbers(t *testing.T) {
	b, c := endpoint(t, 1, 9), endpoint(t, 2, 7)
	var top uint64
	for range 5 {
		h := b.Stamp(0, 0, 0)
		top = h.Seq
	}
	h := b.Stamp(0, 0, 2)
	first := seal(t, b, &h, nil)
	expect(t, c, first, datagram.OtherIncarnation)
	adopting(t, b)
	if h := b.Stamp(0, 0, 2); h.Seq <= top {
		t.Errorf("the first packet to another member in a rank has number %d, and %d was used", h.Seq, top)
	}
	h = b.Stamp(0, 0, 2)
	h.Seq = top
	if _, err := b.Seal(nil, &h, 0, nil); err == nil {
		t.Error("a number that was used is sealed again")
	}
	if h := b.Stamp(0, 0, 0); h.Seq != top+1 {
		t.Errorf("the next packet to a member that stays has number %d, and %d was used", h.Seq, top)
	}
}

func TestSecretsOfBeforeAreUsedAgain(t *testing.T) {
	before := pairsOf(t, 0, 3, ringOf(t, testKey))
	computed := 0
	after := pairsOf(t, 0, 3, ringOf(t, testKey), func(c *PairsConfig) { c.Before = before })
	for both, secret := range after.known {
		if &secret[0] != &before.known[both][0] {
			computed++
		}
	}
	if computed > 0 || len(after.known) != 2 {
		t.Errorf("%d of %d secrets were computed again", computed, len(after.known))
	}
}

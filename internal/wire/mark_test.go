package wire

import (
	"bytes"
	"crypto/cipher"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
)

// noncesOf is a cipher that notes the nonces that it is given.
type noncesOf struct {
	cipher.AEAD
	nonces [][]byte
}

func (n *noncesOf) Seal(dst, nonce, plain, extra []byte) []byte {
	n.nonces = append(n.nonces, bytes.Clone(nonce))
	return n.AEAD.Seal(dst, nonce, plain, extra)
}

// Marks are made under nonces that no packet has: otherwise they would show the key stream of a packet. A block of marks is made once, and serves in any order.
func TestMarksUseNoNonceOfPackets(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	n := &noncesOf{AEAD: a.derive.aead(1, a.laneTo(1), stamped(a, b, 1))}
	var m marks
	seen := make(map[mark]bool)
	numbers := []uint64{0, 1, 15, 16, 17, 31, 1<<32 + 3, 1<<64 - 1}
	for _, seq := range numbers {
		seen[m.of(n, seq)] = true
	}
	if len(seen) != len(numbers) || len(n.nonces) != 4 {
		t.Errorf("%d marks, %d blocks", len(seen), len(n.nonces))
	}
	for _, nonce := range n.nonces {
		if bytes.Equal(nonce[:4], a.nonceOf(1)[:4]) {
			t.Errorf("nonce %x may be that of a packet", nonce)
		}
	}
	for got := range seen {
		if got > markMask {
			t.Errorf("mark %x has the highest bit", got)
		}
	}
}

// Members that change keys or learn their incarnation mark their packets anew, in the middle of a block too.
func TestMarksFollowKeys(t *testing.T) {
	a, b := endpoint(t, 0, 0), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1, &help{}), datagram.Accepted)
	a.SetIncarnation(5)
	expect(t, b, send(t, a, b, 2), datagram.Accepted)
	for _, e := range []*Endpoint{a, b} {
		if err := e.SetKeys(pairsOf(t, e.Self().Rank, 3, ringOf(t, testKey), twoKeys)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, b, send(t, a, b, 3), datagram.Accepted)
}

package wire

import (
	"crypto/cipher"
	"encoding/binary"
)

// A mark stands beside the number of a packet. Only its sender and its receiver can compute it, and before the packet is there. So the receiver can tell the kernel
// which marks the next packets of its peers have, and drops a forged packet that got in at a fraction of the cost of opening it. A third party that sees packets
// learns their marks, and these are of numbers that have been used.
//
// A mark proves nothing: it is short, and can be copied. Whether a packet is authentic is for its tag alone to say.
type mark uint32

const (
	markSize = 4
	// inBlock is how many marks are computed at once.
	inBlock = 16
	// markMask leaves the highest bit out: kernels need less room to compare small numbers.
	markMask = 1<<31 - 1
)

// zeros is what marks are the encryption of.
var zeros [inBlock * markSize]byte

// marks are those of one cipher. They keep the last block.
type marks struct {
	known bool
	block uint64
	out   [len(zeros) + tagSize]byte
}

// of returns the mark of a number: the key stream of the packets' own cipher, under a nonce that no packet has.
func (m *marks) of(aead cipher.AEAD, seq uint64) mark {
	if block := seq / inBlock; !m.known || m.block != block {
		nonce := [12]byte{3: 1}
		binary.BigEndian.PutUint64(nonce[4:], block)
		aead.Seal(m.out[:0], nonce[:], zeros[:], nil)
		m.known, m.block = true, block
	}
	return mark(binary.BigEndian.Uint32(m.out[seq%inBlock*markSize:]) & markMask)
}

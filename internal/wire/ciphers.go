package wire

import (
	"crypto/cipher"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// ciphers are those for the packets of one start of a peer, one for each combination of keys that it has used.
type ciphers struct {
	inc   protocol.Inc
	start datagram.Start
	list  []startCipher
}

type startCipher struct {
	lane  lane
	aead  cipher.AEAD
	marks marks
}

// ciphers returns the place for the ciphers of a start.
func (p *peer) ciphers(inc protocol.Inc) *ciphers {
	if inc == 0 {
		return &p.lost
	}
	return &p.current
}

// find returns the cipher for packets under a combination of keys, or nil.
func (c *ciphers) find(h *datagram.Header, l lane) *startCipher {
	if c.inc != h.From.Inc || c.start != h.Start {
		return nil
	}
	for i := range c.list {
		if c.list[i].lane == l {
			return &c.list[i]
		}
	}
	return nil
}

// add remembers a cipher that has opened a packet which counts. Those of another start make way.
func (c *ciphers) add(h *datagram.Header, of *startCipher) {
	if c.inc != h.From.Inc || c.start != h.Start {
		*c = ciphers{inc: h.From.Inc, start: h.Start}
	}
	if len(c.list) == MaxKeys {
		c.list = c.list[1:]
	}
	c.list = append(c.list, *of)
}

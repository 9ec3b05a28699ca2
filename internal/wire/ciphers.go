package wire

import (
	"crypto/cipher"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// ciphers are those for the packets of one start of a peer, one for each combination of keys that it has used or may use next.
type ciphers struct {
	inc   protocol.Inc
	start datagram.Start
	list  []startCipher
	// reported says that a guardian has released all that the start led: the gate needs to let in no report of it any more.
	reported bool
	// follows is the highest number of a packet after which the gate that was made last need not be made again; 0: that gate does not know the start.
	follows uint64
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

// add remembers a cipher of a start of which a packet counts, and returns it. Those of another start make way. There are no more than lanes, and a change of keys drops them all.
func (c *ciphers) add(h *datagram.Header, of *startCipher) *startCipher {
	if c.inc != h.From.Inc || c.start != h.Start {
		*c = ciphers{inc: h.From.Inc, start: h.Start}
	}
	c.list = append(c.list, *of)
	return &c.list[len(c.list)-1]
}

package runtime

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

const (
	// askEvery is how often a member asks for a configuration.
	askEvery = time.Second
	// answersEach is how many questions of others are answered in each second.
	answersEach = 50
)

// A Herald asks for the present configuration of the council outside all configurations, and answers others that ask. It takes no part
// in anything else: to answer changes nothing.
type Herald struct {
	// Council is the id of the council; zero: it is not known yet, and whichever is named is taken.
	Council protocol.CouncilID
	// Offer returns the answer to others that ask; nil: none. It is called on the goroutine of the port.
	Offer func() *council.Chosen
	// Trusted says whether a configuration is believed that comes from the owner of a key.
	Trusted func(identity.Public) bool
	// Everywhere are addresses that are asked besides those of members.
	Everywhere func() []netip.AddrPort
	Socket     Socket
	// Asked, if it is set, is called for each question of others.
	Asked func(f *wire.Fetch, from netip.AddrPort)

	stranger atomic.Pointer[StrangeOwner]

	mu      sync.Mutex
	courier *wire.Courier

	asked protocol.Time // when the last round of questions began
	nonce uint64
	have  uint64
	// parts are those of the answer that is being put together.
	number uint64
	parts  [][]byte
	// answered counts the answers since second began.
	second   protocol.Time
	answered int

	offered *council.Chosen
	encoded []byte
}

// SetCourier puts other keys in force. It may be called from any goroutine.
func (h *Herald) SetCourier(c *wire.Courier) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.courier = c
}

// codec returns the keys in force.
func (h *Herald) codec() *wire.Courier {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.courier
}

// Ask asks at addresses, once in a while, for a configuration that is later than the one with number have-1; 0: for any.
func (h *Herald) Ask(now protocol.Time, have uint64, at []netip.AddrPort) {
	if h.asked != 0 && now.Sub(h.asked) < askEvery && now != h.asked {
		return
	}
	if now != h.asked {
		h.asked, h.nonce, h.have, h.parts = now, rand.Uint64(), have, nil
		if h.Everywhere != nil {
			at = slices.Concat(at, h.Everywhere())
		}
	}
	h.ask(0, at)
}

func (h *Herald) ask(part int, at []netip.AddrPort) {
	codec := h.codec()
	if codec == nil {
		return
	}
	key, ok := codec.Key()
	if !ok {
		return
	}
	packet := codec.Ask(&wire.Fetch{Council: h.Council, Have: h.have, Nonce: h.nonce, Part: part, Key: key})
	var out []transport.Packet
	for _, a := range at {
		out = append(out, transport.Packet{Data: packet, Addr: a})
	}
	if len(out) > 0 {
		_, _ = h.Socket.Write(out) // what is lost is asked again
	}
}

// Take opens a packet. It answers a question, and returns a configuration that an answer has completed.
func (h *Herald) Take(now protocol.Time, data []byte, from netip.AddrPort) (*council.Chosen, datagram.Reason) {
	codec := h.codec()
	if codec == nil {
		return nil, datagram.UnknownKey
	}
	fetch, part, reason := codec.Open(data, h.Trusted)
	switch {
	case fetch != nil:
		if h.Asked != nil {
			h.Asked(fetch, from)
		}
		h.answer(now, codec, fetch, from)
	case part != nil:
		return h.join(part, from), reason
	case reason.Dropped():
		h.noteStranger(now, data, reason, from)
	}
	return nil, reason
}

// answer answers a question, if there is an answer and not too many were given.
func (h *Herald) answer(now protocol.Time, codec *wire.Courier, f *wire.Fetch, to netip.AddrPort) {
	if h.Offer == nil {
		return
	}
	offer := h.Offer()
	if offer == nil {
		return
	}
	switch c := offer.Conf; {
	case c.Descends(f.Council): // a member of a council that was given up
	case f.Council != (protocol.CouncilID{}) && f.Council != c.Council, f.Have > c.Number:
		return
	}
	if now.Sub(h.second) >= time.Second {
		h.second, h.answered = now, 0
	}
	h.answered++
	if h.answered > answersEach {
		return
	}
	if h.offered == nil || h.offered.Conf != offer.Conf || h.offered.Bound != offer.Bound {
		h.offered, h.encoded = offer, offer.Conf.Append(binary.AppendUvarint(nil, uint64(offer.Bound)))
	}
	if packet := codec.Answer(f, offer.Conf.Council, offer.Conf.Number, h.encoded); packet != nil {
		_, _ = h.Socket.Write([]transport.Packet{{Data: packet, Addr: to}})
	}
}

// join puts an answer together. The other parts are asked for where the first one came from.
func (h *Herald) join(p *wire.Part, from netip.AddrPort) *council.Chosen {
	mine := h.Council == (protocol.CouncilID{}) || p.Council == h.Council
	if p.Nonce != h.nonce || h.nonce == 0 || mine && p.Number+1 <= h.have {
		return nil
	}
	if len(h.parts) != p.Parts || h.number != p.Number {
		if p.Part != 0 {
			return nil
		}
		h.parts, h.number = make([][]byte, p.Parts), p.Number
		for i := 1; i < p.Parts; i++ {
			h.ask(i, []netip.AddrPort{from})
		}
	}
	h.parts[p.Part] = p.Data
	if slices.ContainsFunc(h.parts, func(b []byte) bool { return b == nil }) {
		return nil
	}
	b := bytes.Join(h.parts, nil)
	h.parts = nil
	bound, n := binary.Uvarint(b)
	if n <= 0 || bound > 1<<62 {
		return nil
	}
	conf := new(council.Config)
	if conf.UnmarshalBinary(b[n:]) != nil || conf.Number != p.Number || conf.Council != p.Council || !mine && !conf.Descends(h.Council) {
		return nil
	}
	return &council.Chosen{Conf: conf, Bound: time.Duration(bound)}
}

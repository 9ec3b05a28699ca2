package wire

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// Config is what an Endpoint must know of its member and council.
type Config struct {
	// Config is that of the one judge of packets. Its Start is drawn from Random, unless it is set.
	datagram.Config
	// Pairs are the secrets that the member shares with the others, and ID is the council's: packets of another council cannot be opened.
	Pairs *Pairs
	ID    protocol.CouncilID
	// MTU is the length of the longest packet; 0 is DefaultMTU.
	MTU int
	// Random gives the 128 bits of this start; nil is the operating system's source. Anything else is for tests and the
	// simulator: two starts that draw the same bits under one incarnation use nonces twice.
	Random io.Reader

	// Lowest and Highest are the versions that are spoken; 0 is what this build speaks. Others are for tests.
	Lowest, Highest uint8

	table *table // nil: all messages
}

// An Endpoint seals and opens the packets of one member in one configuration. What may be made of a packet is for the embedded
// endpoint to judge, and for it alone. It is not safe for concurrent use.
type Endpoint struct {
	*datagram.Endpoint
	start           datagram.Start
	council         datagram.Council
	id              protocol.CouncilID
	derive          *deriver
	lowest, highest uint8
	mtu             int
	peers           []peer
	table           *table
	pool            *pool

	unknown, givenUp uint64 // messages, as in datagram.Counts

	message uint64 // the last message that was split
	pending int    // bytes of messages of which parts are missing
	whole   []byte // the last message that was put together
	parts   []fragment
	nonce   [12]byte
	derived startCipher // of the last packet from a start that was not heard
}

// peer is what the endpoint remembers of one other member.
type peer struct {
	// seal is the cipher for packets to it, on a lane; nil: not derived yet.
	seal  cipher.AEAD
	lane  lane
	marks marks
	// uses is the key of its own that it used last, and lists the newest of ours that it knows; zero: not heard yet.
	uses, lists identity.ID
	// reply is the lane of a copy of the next packets to it, if replies says that there is to be one.
	reply   lane
	replies bool
	// Invariant: sealed never falls within one start, whatever happens to its keys and its incarnation.
	sealed uint64
	// lowest and highest are the versions that it reads; 0: not heard yet.
	lowest, highest uint8
	// current and lost are the ciphers of its packets: of the start with the highest incarnation, and of the last one under
	// incarnation 0. They save a derivation, and the gate lists their starts.
	current, lost ciphers
	assembling    assemblies
}

// NewEndpoint draws the random bits of a start, which begins at now. A member makes a new Endpoint for each start and each
// epoch.
func NewEndpoint(now protocol.Time, c Config) (*Endpoint, error) {
	if c.MTU == 0 {
		c.MTU = DefaultMTU
	}
	if c.Lowest == 0 && c.Highest == 0 {
		c.Lowest, c.Highest = LowestVersion, HighestVersion
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.table == nil {
		c.table = messages
	}
	switch {
	case c.MTU < MinMTU || c.MTU > MaxMTU:
		return nil, fmt.Errorf("wire: mtu %d: must be between %d and %d", c.MTU, MinMTU, MaxMTU)
	case c.Lowest == 0 || c.Lowest > c.Highest:
		return nil, fmt.Errorf("wire: versions %d to %d: the lowest must be at least 1 and at most the highest", c.Lowest, c.Highest)
	}
	if c.Start == (datagram.Start{}) {
		if _, err := io.ReadFull(c.Random, c.Start[:]); err != nil {
			return nil, fmt.Errorf("wire: random bits of this start: %w", err)
		}
	}
	judge, err := datagram.New(now, c.Config)
	if err != nil {
		return nil, err
	}
	if c.Pairs == nil || len(c.Pairs.peers) != c.Members || c.Pairs.self != c.Self.Rank {
		return nil, errors.New("wire: no keys of this member in this council")
	}
	return &Endpoint{Endpoint: judge, start: c.Start, council: c.Council, id: c.ID, derive: newDeriver(c.Pairs, c.ID), lowest: c.Lowest,
		highest: c.Highest, mtu: c.MTU, peers: make([]peer, c.Members), table: c.table, pool: newPool(c.table)}, nil
}

// Counts returns what became of all packets so far.
func (e *Endpoint) Counts() datagram.Counts {
	c := e.Endpoint.Counts()
	c.Unknown, c.GivenUp = e.unknown, e.givenUp
	return c
}

// Restart makes the endpoint that of another start: nothing more is sealed under the random bits of the one before.
func (e *Endpoint) Restart(now protocol.Time, start datagram.Start) {
	e.Endpoint.Restart(now, start)
	e.start, e.pending = start, 0
	for i := range e.peers {
		p := &e.peers[i]
		*p = peer{lane: p.lane, uses: p.uses, lists: p.lists, lowest: p.lowest, highest: p.highest}
	}
}

// SetIncarnation is for a member that learns its incarnation after its start.
func (e *Endpoint) SetIncarnation(inc protocol.Inc) {
	e.Endpoint.SetIncarnation(inc)
	for i := range e.peers {
		e.peers[i].seal = nil
	}
}

// SetKeys puts other keys in force. What was heard before stays known: no packet becomes fresh again.
func (e *Endpoint) SetKeys(to *Pairs) error {
	if len(to.peers) != len(e.peers) || to.self != e.Self().Rank {
		return errors.New("wire: keys of another council, or of another member")
	}
	e.derive = newDeriver(to, e.id)
	for i := range e.peers {
		p := &e.peers[i]
		p.seal, p.current.list, p.lost.list, p.replies = nil, nil, nil, false
	}
	return nil
}

// Revoked says that a peer has no key: its packets are dropped, and none can be sealed for it.
func (e *Endpoint) Revoked(peer protocol.Rank) bool {
	return peer != e.Self().Rank && len(e.derive.pairs.peers[peer].ids) == 0
}

// Own returns the ids of this member's keys, the oldest first.
func (e *Endpoint) Own() []identity.ID { return e.derive.pairs.own }

// Listed returns the ids of the keys that this member knows of a peer, the oldest first.
func (e *Endpoint) Listed(peer protocol.Rank) []identity.ID { return e.derive.pairs.peers[peer].ids }

// Used returns which of its keys a peer used last, and which it says is the newest of ours; zero if it was not heard.
func (e *Endpoint) Used(peer protocol.Rank) (uses, lists identity.ID) {
	return e.peers[peer].uses, e.peers[peer].lists
}

// Seal appends a sealed packet to dst. d is what Stamp returned, for a peer. The number d.Seq must be
// higher than in all packets to that peer before: with it a nonce would be used twice. dst is not kept, and should have
// room for Overhead and the payload.
func (e *Endpoint) Seal(dst []byte, d *datagram.Header, path uint8, payload []byte) ([]byte, error) {
	if err := e.sealable(d, payload); err != nil {
		return dst, err
	}
	p := &e.peers[d.To.Rank]
	if e.Revoked(d.To.Rank) {
		return dst, fmt.Errorf("wire: packet to %v: it has no key", d.To)
	}
	if p.seal == nil {
		p.lane = e.laneTo(d.To.Rank)
		p.seal, p.marks.known = e.derive.aead(d.To.Rank, p.lane, d), false
	}
	return e.seal(p.seal, &p.marks, dst, e.keysOf(d.To.Rank, p.lane), d, path, payload), nil
}

// sealable says why no packet can have a header.
func (e *Endpoint) sealable(d *datagram.Header, payload []byte) error {
	me := e.Self()
	if d.From != me || d.Start != e.start || d.Council != e.council {
		return fmt.Errorf("wire: packet from %v: this is %v", d.From, me)
	}
	if int(d.To.Rank) >= len(e.peers) || d.To.Rank == me.Rank {
		return fmt.Errorf("wire: packet to %v: no peer of %v in a council of %d", d.To, me, len(e.peers))
	}
	if p := &e.peers[d.To.Rank]; d.Seq <= p.sealed {
		return fmt.Errorf("wire: packet %d to %v: %d was sealed already", d.Seq, d.To, p.sealed)
	}
	if len(payload) > maxDatagram-overhead {
		return fmt.Errorf("wire: payload of %d bytes: a packet has room for %d", len(payload), maxDatagram-overhead)
	}
	return nil
}

// place finds a key among those of a member. The oldest is the one that a peer is sure to have.
func place(ids []identity.ID, id identity.ID) int8 {
	return int8(max(0, slices.Index(ids, id)))
}

// seal appends a packet that a cipher seals. Without marks it has none.
func (e *Endpoint) seal(aead cipher.AEAD, m *marks, dst []byte, keys memberKeys, d *datagram.Header, path uint8, payload []byte) []byte {
	p := &e.peers[d.To.Rank]
	h := header{version: e.speak(p), lowest: e.lowest, highest: e.highest, path: path, key: e.derive.pairs.ring.keys[0].id, council: e.derive.tags[0],
		keys: keys}
	p.sealed = d.Seq
	if m != nil {
		h.mark = m.of(aead, d.Seq)
	}
	begin := len(dst)
	dst = appendHeader(dst, &h, d)
	dst = appendStamps(dst, d)
	dst = append(dst, payload...)
	clear := dst[begin : begin+headerSize]
	return aead.Seal(dst[:begin+headerSize], e.nonceOf(d.Seq), dst[begin+headerSize:], clear)
}

// speak chooses the version for a peer: the highest that both read, and our lowest for one that was not heard yet or
// that has none in common with this member.
func (e *Endpoint) speak(p *peer) uint8 {
	if v := min(e.highest, p.highest); v >= max(e.lowest, p.lowest) {
		return v
	}
	return e.lowest
}

func (e *Endpoint) nonceOf(seq uint64) []byte {
	binary.BigEndian.PutUint64(e.nonce[4:], seq)
	return e.nonce[:]
}

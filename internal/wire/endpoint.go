package wire

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// Config is what an Endpoint must know of its member and council.
type Config struct {
	// Config is that of the one judge of packets. Its Start is drawn from Random.
	datagram.Config
	// Keys are the cluster keys, and ID is the council's: packets of another council cannot be opened.
	Keys Keyring
	ID   protocol.CouncilID
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
	ring            Keyring
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
}

// peer is what the endpoint remembers of one other member.
type peer struct {
	// seal is the cipher for packets to it; nil: not derived yet.
	seal cipher.AEAD
	// Invariant: sealed never falls while the endpoint lives, whatever happens to its keys and its incarnation.
	sealed uint64
	// lowest and highest are the versions that it reads; 0: not heard yet.
	lowest, highest uint8
	// current and lost are the ciphers of its packets: of the start with the highest incarnation, and of the last one under
	// incarnation 0. They only save a derivation.
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
	case len(c.Keys.keys) == 0:
		return nil, errors.New("wire: no key: make a ring of the cluster key, or use the public one on loopback")
	case c.Lowest == 0 || c.Lowest > c.Highest:
		return nil, fmt.Errorf("wire: versions %d to %d: the lowest must be at least 1 and at most the highest", c.Lowest, c.Highest)
	}
	if _, err := io.ReadFull(c.Random, c.Start[:]); err != nil {
		return nil, fmt.Errorf("wire: random bits of this start: %w", err)
	}
	judge, err := datagram.New(now, c.Config)
	if err != nil {
		return nil, err
	}
	return &Endpoint{Endpoint: judge, start: c.Start, council: c.Council, id: c.ID, ring: c.Keys, derive: newDeriver(c.Keys, c.ID), lowest: c.Lowest,
		highest: c.Highest, mtu: c.MTU, peers: make([]peer, c.Members), table: c.table, pool: newPool(c.table)}, nil
}

// Counts returns what became of all packets so far.
func (e *Endpoint) Counts() datagram.Counts {
	c := e.Endpoint.Counts()
	c.Unknown, c.GivenUp = e.unknown, e.givenUp
	return c
}

// SetIncarnation is for a member that learns its incarnation after its start.
func (e *Endpoint) SetIncarnation(inc protocol.Inc) {
	e.Endpoint.SetIncarnation(inc)
	for i := range e.peers {
		e.peers[i].seal = nil
	}
}

// SetKeys puts another ring in force. What was heard before stays known: no packet becomes fresh again.
func (e *Endpoint) SetKeys(ring Keyring) error {
	if len(ring.keys) == 0 {
		return errors.New("wire: no key: a ring holds at least one")
	}
	e.ring, e.derive = ring, newDeriver(ring, e.id)
	for i := range e.peers {
		p := &e.peers[i]
		p.seal, p.current, p.lost = nil, ciphers{}, ciphers{}
	}
	return nil
}

// Seal appends a sealed packet to dst. d is what Stamp returned, for a peer. The number d.Seq must be
// higher than in all packets to that peer before: with it a nonce would be used twice. dst is not kept, and should have
// room for Overhead and the payload.
func (e *Endpoint) Seal(dst []byte, d *datagram.Header, path uint8, payload []byte) ([]byte, error) {
	me := e.Self()
	if d.From != me || d.Start != e.start || d.Council != e.council {
		return dst, fmt.Errorf("wire: packet from %v: this is %v", d.From, me)
	}
	if int(d.To.Rank) >= len(e.peers) || d.To.Rank == me.Rank {
		return dst, fmt.Errorf("wire: packet to %v: no peer of %v in a council of %d", d.To, me, len(e.peers))
	}
	p := &e.peers[d.To.Rank]
	if d.Seq <= p.sealed {
		return dst, fmt.Errorf("wire: packet %d to %v: %d was sealed already", d.Seq, d.To, p.sealed)
	}
	if len(payload) > maxDatagram-overhead {
		return dst, fmt.Errorf("wire: payload of %d bytes: a packet has room for %d", len(payload), maxDatagram-overhead)
	}
	h := header{version: e.speak(p), lowest: e.lowest, highest: e.highest, path: path, key: e.ring.keys[0].id, council: e.derive.tags[0]}
	if p.seal == nil {
		p.seal = e.derive.aead(0, d)
	}
	p.sealed = d.Seq
	begin := len(dst)
	dst = appendHeader(dst, &h, d)
	dst = appendStamps(dst, d)
	dst = append(dst, payload...)
	clear := dst[begin : begin+headerSize]
	return p.seal.Seal(dst[:begin+headerSize], e.nonceOf(d.Seq), dst[begin+headerSize:], clear), nil
}

// speak chooses the version for a peer: the highest that both read, and our lowest for one that was not heard yet or
// with whom we have none in common.
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

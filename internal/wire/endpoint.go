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
	// Me is the member, in its incarnation; 0 while it does not know it.
	Me protocol.Ident
	// Members is the size of the council.
	Members int
	// Epoch and Digest say which configuration is in force.
	Epoch  uint64
	Digest Digest
	Keys   Keyring
	// MTU is the length of the longest packet; 0 is DefaultMTU.
	MTU int
	// Random gives the 128 bits of this start; nil is the operating system's source. Anything else is for tests and the
	// simulator: two starts that draw the same bits under one incarnation use nonces twice.
	Random io.Reader

	// Lowest and Highest are the versions that are spoken; 0 is what this build speaks. Others are for tests.
	Lowest, Highest uint8

	table *table // nil: all messages
}

// An Endpoint seals and opens the packets of one member in one configuration. It is not safe for concurrent use.
type Endpoint struct {
	me              protocol.Ident
	epoch           uint64
	digest          Digest
	ring            Keyring
	derive          *deriver
	random          [startBits]byte
	lowest, highest uint8
	mtu             int
	peers           []peer
	counts          Counts
	table           *table
	pool            *pool

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
	// current is the start with the highest incarnation above 0 that was heard; recovering is the last one under
	// incarnation 0.
	current, recovering session
	assembling          assemblies
}

// NewEndpoint draws the random bits of a start. A member makes a new Endpoint for each start and each epoch.
func NewEndpoint(c Config) (*Endpoint, error) {
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
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return nil, fmt.Errorf("wire: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Me.Rank) >= c.Members:
		return nil, fmt.Errorf("wire: rank %d: the council has %d members", c.Me.Rank, c.Members)
	case c.MTU < MinMTU || c.MTU > MaxMTU:
		return nil, fmt.Errorf("wire: mtu %d: must be between %d and %d", c.MTU, MinMTU, MaxMTU)
	case len(c.Keys.keys) == 0:
		return nil, errors.New("wire: no key: make a ring of the cluster key, or use the public one on loopback")
	case c.Lowest == 0 || c.Lowest > c.Highest:
		return nil, fmt.Errorf("wire: versions %d to %d: the lowest must be at least 1 and at most the highest", c.Lowest, c.Highest)
	}
	e := &Endpoint{me: c.Me, epoch: c.Epoch, digest: c.Digest, ring: c.Keys, derive: newDeriver(c.Keys), lowest: c.Lowest,
		highest: c.Highest, mtu: c.MTU, peers: make([]peer, c.Members), table: c.table, pool: newPool(c.table)}
	if _, err := io.ReadFull(c.Random, e.random[:]); err != nil {
		return nil, fmt.Errorf("wire: random bits of this start: %w", err)
	}
	return e, nil
}

// Me returns the member in its present incarnation.
func (e *Endpoint) Me() protocol.Ident { return e.me }

// Counts returns what became of all packets so far.
func (e *Endpoint) Counts() Counts { return e.counts }

// SetIncarnation is for a member that learns its incarnation after its start.
func (e *Endpoint) SetIncarnation(inc protocol.Inc) {
	e.me.Inc = inc
	for i := range e.peers {
		e.peers[i].seal = nil
	}
}

// SetKeys puts another ring in force. What was heard before stays known: no packet becomes fresh again.
func (e *Endpoint) SetKeys(ring Keyring) error {
	if len(ring.keys) == 0 {
		return errors.New("wire: no key: a ring holds at least one")
	}
	e.ring, e.derive = ring, newDeriver(ring)
	for i := range e.peers {
		p := &e.peers[i]
		p.seal, p.current.ciphers, p.recovering.ciphers = nil, nil, nil
	}
	return nil
}

// Heard returns the highest incarnation above 0 in which a peer was heard; 0 if in none.
func (e *Endpoint) Heard(peer protocol.Rank) protocol.Inc { return e.peers[peer].current.start.inc }

// Seal appends a sealed packet to dst. d.From must be the member itself and d.To a peer. The number d.Seq must be
// higher than in all packets to that peer before: with it a nonce would be used twice. dst is not kept, and should have
// room for Overhead and the payload.
func (e *Endpoint) Seal(dst []byte, d *datagram.Header, path uint8, payload []byte) ([]byte, error) {
	if d.From != e.me {
		return dst, fmt.Errorf("wire: packet from %v: this is %v", d.From, e.me)
	}
	if int(d.To.Rank) >= len(e.peers) || d.To.Rank == e.me.Rank {
		return dst, fmt.Errorf("wire: packet to %v: no peer of %v in a council of %d", d.To, e.me, len(e.peers))
	}
	p := &e.peers[d.To.Rank]
	if d.Seq <= p.sealed {
		return dst, fmt.Errorf("wire: packet %d to %v: %d was sealed already", d.Seq, d.To, p.sealed)
	}
	if len(payload) > maxDatagram-overhead {
		return dst, fmt.Errorf("wire: payload of %d bytes: a packet has room for %d", len(payload), maxDatagram-overhead)
	}
	h := header{version: e.speak(p), lowest: e.lowest, highest: e.highest, path: path, key: e.ring.keys[0].id,
		start: start{e.me.Inc, e.random}, epoch: e.epoch, digest: e.digest}
	if p.seal == nil {
		p.seal = e.derive.aead(0, e.me.Rank, &h.start, d.To.Rank)
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

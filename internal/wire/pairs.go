package wire

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// An Identity is a member as the others know it: its name, and its public keys with the oldest first. A member without a key is
// revoked: nothing that it sends opens, and nothing is sent to it.
type Identity struct {
	Name string
	Keys []identity.Public
}

// PairsConfig is what the keys of packets are derived from, less the council's id.
type PairsConfig struct {
	Ring Keyring
	Self protocol.Rank
	// Private are this member's own keys, the oldest first: one, or two while one is being replaced.
	Private []identity.Private
	// Members are all, by rank. Those of this member itself are not looked at.
	Members []Identity
	// Before, if it is set, are pairs of before. What they have in common with these is not computed again.
	Before *Pairs
}

// Pairs holds the secrets that one member shares with each of the others. To make it takes one X25519 for each pair of keys, some tens of
// microseconds, and so is not for the loop. It does not change.
type Pairs struct {
	ring  Keyring
	self  protocol.Rank
	own   []identity.ID
	peers []pair
	// publics are this member's own public keys, and known the secrets that it shares with the owners of public keys, by both keys.
	publics []identity.Public
	known   map[[2]identity.Public][]byte
}

// A pair is what a member shares with one other.
type pair struct {
	ids []identity.ID
	// out and in are the input of the derivation for each of our keys and each of theirs: the shared secret, both public keys and both
	// names, sender first.
	out, in [identity.MaxKeys][identity.MaxKeys][]byte
}

// Lists says whether a key is one of those of a member.
func (p *Pairs) Lists(member protocol.Rank, key identity.Public) bool {
	return int(member) < len(p.peers) && slices.Contains(p.peers[member].ids, key.ID())
}

// NewPairs computes the secrets.
func NewPairs(c PairsConfig) (*Pairs, error) {
	if len(c.Ring.keys) == 0 {
		return nil, errors.New("wire: no key: make a ring of the cluster key, or use the public one on loopback")
	}
	if int(c.Self) >= len(c.Members) {
		return nil, fmt.Errorf("wire: rank %d: the council has %d members", c.Self, len(c.Members))
	}
	p := &Pairs{ring: c.Ring, self: c.Self, peers: make([]pair, len(c.Members)), known: make(map[[2]identity.Public][]byte)}
	publics := make([]identity.Public, len(c.Private))
	p.publics = publics
	for i, key := range c.Private {
		publics[i] = key.Public()
	}
	var err error
	p.own, err = ids(publics)
	if err != nil || len(p.own) == 0 && len(c.Members) > 1 {
		return nil, errors.Join(err, fmt.Errorf("wire: %d private keys: a member has 1 or 2", len(c.Private)))
	}
	for r := range c.Members {
		if protocol.Rank(r) == c.Self {
			continue
		}
		if err := p.share(&c, &p.peers[r], &c.Members[r]); err != nil {
			return nil, fmt.Errorf("member %s: %w", c.Members[r].Name, err)
		}
	}
	return p, nil
}

// share computes what this member shares with another one.
func (all *Pairs) share(c *PairsConfig, p *pair, with *Identity) (err error) {
	p.ids, err = ids(with.Keys)
	if err != nil {
		return err
	}
	me := c.Members[c.Self].Name
	for i, own := range c.Private {
		for j, theirs := range with.Keys {
			if all.publics[i] == theirs {
				return fmt.Errorf("public key %s is this member's own: every member draws its own key", theirs.Fingerprint())
			}
			secret, err := all.secret(c, i, own, theirs)
			if err != nil {
				return err
			}
			p.out[i][j] = material(secret, all.publics[i], theirs, me, with.Name)
			p.in[i][j] = material(secret, theirs, all.publics[i], with.Name, me)
		}
	}
	return nil
}

// secret returns what one of this member's keys and that of another one share.
func (all *Pairs) secret(c *PairsConfig, i int, own identity.Private, theirs identity.Public) ([]byte, error) {
	both := [2]identity.Public{all.publics[i], theirs}
	var secret []byte
	if c.Before != nil {
		secret = c.Before.known[both]
	}
	if secret == nil {
		var err error
		secret, err = own.Shared(theirs)
		if err != nil {
			return nil, err
		}
	}
	all.known[both] = secret
	return secret, nil
}

// material is the input of the derivation of one direction.
func material(secret []byte, sender, receiver identity.Public, from, to string) []byte {
	b := slices.Concat(secret, sender[:], receiver[:])
	b = append(binary.AppendUvarint(b, uint64(len(from))), from...)
	return append(binary.AppendUvarint(b, uint64(len(to))), to...)
}

// ids returns the ids of the keys of one member, which packets tell apart by them.
func ids(keys []identity.Public) ([]identity.ID, error) {
	if len(keys) > identity.MaxKeys {
		return nil, fmt.Errorf("%d keys: a member has at most %d", len(keys), identity.MaxKeys)
	}
	var out []identity.ID
	for _, k := range keys {
		if slices.Contains(out, k.ID()) {
			return nil, fmt.Errorf("the key %s is listed twice", k.Fingerprint())
		}
		out = append(out, k.ID())
	}
	return out, nil
}

// A lane is a combination of keys by which packets go in one direction: places in the ring, and among our and their own keys.
type lane struct {
	ring, own, theirs int8
	out               bool
}

// lanesFrom returns all lanes from a peer.
func (p *Pairs) lanesFrom(peer protocol.Rank) (all []lane) {
	for ring := range p.ring.keys {
		for own := range p.own {
			for theirs := range p.peers[peer].ids {
				all = append(all, lane{ring: int8(ring), own: int8(own), theirs: int8(theirs)})
			}
		}
	}
	return all
}

// A deriver computes packet keys. It keeps one hash for each lane that was used, so that a forged start costs one derivation
// and next to no garbage.
type deriver struct {
	pairs   *Pairs
	secrets [][]byte // of the council, by key of the ring
	tags    []CouncilTag
	intros  []hash.Hash // of introductions, by key of the ring
	lanes   [][]laneHash
	info    []byte
	out     []byte
}

type laneHash struct {
	lane lane
	mac  hash.Hash
}

// newDeriver derives from each key of the ring one for the council, with which all others are derived: without the id of a council
// its packets cannot be opened, nor with that of another.
func newDeriver(p *Pairs, council protocol.CouncilID) *deriver {
	d := &deriver{pairs: p, lanes: make([][]laneHash, len(p.peers))}
	for _, k := range p.ring.keys {
		secret := expand(k.prk, labelCouncil+string(council[:]), sha256.Size)
		d.secrets = append(d.secrets, secret)
		d.tags = append(d.tags, CouncilTag(expand(secret, labelTag, len(CouncilTag{}))))
		d.intros = append(d.intros, hmac.New(sha256.New, expand(secret, labelIntro, sha256.Size)))
	}
	return d
}

// mac returns the hash of a lane between this member and a peer.
func (d *deriver) mac(peer protocol.Rank, l lane) hash.Hash {
	for i := range d.lanes[peer] {
		if d.lanes[peer][i].lane == l {
			return d.lanes[peer][i].mac
		}
	}
	p := &d.pairs.peers[peer]
	from := &p.in
	if l.out {
		from = &p.out
	}
	mac := hmac.New(sha256.New, extract(d.secrets[l.ring], from[l.own][l.theirs]))
	d.lanes[peer] = append(d.lanes[peer], laneHash{l, mac})
	return mac
}

// extract is HKDF-Extract.
func extract(salt, secret []byte) []byte {
	prk, err := hkdf.Extract(sha256.New, secret, salt)
	if err != nil {
		panic("wire: extract: " + err.Error())
	}
	return prk
}

// aead returns the cipher for packets of one start of their sender, on a lane between this member and a peer.
func (d *deriver) aead(peer protocol.Rank, l lane, h *datagram.Header) cipher.AEAD {
	d.info = append(d.info[:0], labelPacket...)
	return d.expand(d.mac(peer, l), h)
}

// introduction returns the cipher for introductions, which need no key of a member. Packets to each receiver are numbered apart, so
// the ranks are in it.
func (d *deriver) introduction(ring int, h *datagram.Header) cipher.AEAD {
	d.info = binary.BigEndian.AppendUint16(d.info[:0], uint16(h.From.Rank))
	d.info = binary.BigEndian.AppendUint16(d.info, uint16(h.To.Rank))
	return d.expand(d.intros[ring], h)
}

// expand returns the cipher under the block of info and the start of the sender.
func (d *deriver) expand(mac hash.Hash, h *datagram.Header) cipher.AEAD {
	d.block(mac, h)
	a, err := chacha20poly1305.New(d.out)
	if err != nil {
		panic("wire: cipher: " + err.Error())
	}
	return a
}

// block computes the first and only block of HKDF-Expand over info and the start of the sender.
func (d *deriver) block(mac hash.Hash, h *datagram.Header) {
	d.info = binary.BigEndian.AppendUint64(d.info, uint64(h.From.Inc))
	d.info = append(d.info, h.Start[:]...)
	d.info = append(d.info, 1)
	mac.Reset()
	mac.Write(d.info)
	d.out = mac.Sum(d.out[:0])
}

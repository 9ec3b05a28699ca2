package wire

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// A CouncilTag tells the packets of councils apart that share a cluster key. It is derived from the council's id and the key.
type CouncilTag [4]byte

// KeyID tells the keys of a ring apart. It is derived from the key, so that nobody has to hand out numbers.
type KeyID [4]byte

func (k KeyID) String() string { return hex.EncodeToString(k[:]) }

// Lengths of a cluster key in bytes. The longest only keeps people from passing the wrong file.
const (
	MinKey = 16
	MaxKey = 128
	// MaxKeys is how many keys a ring may hold; a rotation needs two.
	MaxKeys = 4
)

// Labels of the derivation. They change with the construction, and then so does the magic.
const (
	labelExtract = "regent wire 3"
	labelID      = "key id"
	labelCouncil = "council"
	labelTag     = "council tag"
	labelFound   = "founding"
	labelPacket  = "packet"
	labelIntro   = "introduction"
	labelFetch   = "fetch"
	labelDeath   = "obituary"
	labelPart    = "configuration"
)

// publicKey stands in for a cluster key where none is set. It is no secret, and keeps one form of packet.
var publicKey = []byte("regent: no cluster key, loopback only")

// A Keyring holds the cluster keys that a member accepts. The first is the one that it seals with. To rotate without
// an outage: add the new key to the end of every ring, then move it to the front everywhere, then drop the old one.
type Keyring struct {
	keys   []ringKey
	public bool
}

type ringKey struct {
	id  KeyID
	prk []byte
}

// NewKeyring returns a ring of the given cluster keys, the sending key first.
func NewKeyring(keys ...[]byte) (Keyring, error) {
	if len(keys) == 0 || len(keys) > MaxKeys {
		return Keyring{}, fmt.Errorf("key: %d keys: a ring holds 1 to %d", len(keys), MaxKeys)
	}
	var ring Keyring
	for i, key := range keys {
		if len(key) < MinKey || len(key) > MaxKey {
			return Keyring{}, fmt.Errorf("key: key %d has %d bytes: must have %d to %d; draw 32 at random", i+1, len(key), MinKey, MaxKey)
		}
		if bytes.Equal(key, publicKey) {
			return Keyring{}, fmt.Errorf("key: key %d is the public one that stands in for no key: draw 32 bytes at random", i+1)
		}
		k := newRingKey(key)
		if _, ok := ring.find(k.id); ok {
			return Keyring{}, fmt.Errorf("key: key %d has the id %v of an earlier one: drop it or draw another", i+1, k.id)
		}
		ring.keys = append(ring.keys, k)
	}
	return ring, nil
}

// PublicKeyring returns the ring for a council without a cluster key, on loopback. It has no secret: the keys of its packets rest on the
// members' own keys alone, and any user of the host can introduce itself.
func PublicKeyring() Keyring {
	return Keyring{keys: []ringKey{newRingKey(publicKey)}, public: true}
}

// Public says that the ring has no secret.
func (r Keyring) Public() bool { return r.public }

// IDs returns the ids of the keys, the sending key first.
func (r Keyring) IDs() []KeyID {
	ids := make([]KeyID, len(r.keys))
	for i, k := range r.keys {
		ids[i] = k.id
	}
	return ids
}

func (r Keyring) find(id KeyID) (int, bool) {
	for i := range r.keys {
		if r.keys[i].id == id {
			return i, true
		}
	}
	return 0, false
}

func newRingKey(key []byte) ringKey {
	prk, err := hkdf.Extract(sha256.New, key, []byte(labelExtract))
	if err != nil {
		panic("wire: extract: " + err.Error())
	}
	return ringKey{id: KeyID(expand(prk, labelID, len(KeyID{}))), prk: prk}
}

// GenerateKey draws a cluster key. Its text form is base64.
func GenerateKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}

// ParseKey reads the text form of a cluster key: base64, or 64 or more hexadecimal digits; white space around it is
// ignored.
func ParseKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	if len(text) >= 64 {
		if key, err := hex.DecodeString(text); err == nil {
			return key, nil
		}
	}
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, errors.New("key: neither base64 nor 64 hexadecimal digits: draw one with 32 random bytes")
	}
	if len(key) < MinKey {
		return nil, fmt.Errorf("key: %d bytes: must have at least %d", len(key), MinKey)
	}
	return key, nil
}

// expand is HKDF-Expand.
func expand(prk []byte, info string, length int) []byte {
	out, err := hkdf.Expand(sha256.New, prk, info, length)
	if err != nil {
		panic("wire: expand: " + err.Error())
	}
	return out
}

// Package identity has the key pair of a member: a private key that never leaves its host, and a public key that stands in every
// member's configuration.
//
// The keys are X25519 keys (RFC 7748). Package wire derives the keys of packets from the secret that two members share.
package identity

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Size is the length of either key in bytes.
const Size = 32

// MaxKeys is how many keys a member may have: one, and a second one while the first is being replaced.
const MaxKeys = 2

// labelFingerprint begins what a fingerprint is computed over.
const labelFingerprint = "regent fingerprint"

// labelTagKey begins what the digest of a tag key is computed over.
const labelTagKey = "regent tag key"

// A Private key proves to the others which member speaks. The zero value is no key.
type Private [Size]byte

// A Public key is what the others know of a member. The zero value is no key.
type Public [Size]byte

// An ID tells the keys of one member apart: the beginning of the fingerprint.
type ID [5]byte

// Draw returns a new key.
func Draw() Private {
	var p Private
	rand.Read(p[:])
	return p
}

// ParsePrivate reads the text form of a private key.
func ParsePrivate(text string) (Private, error) {
	b, err := parse(text)
	return Private(b), err
}

// ParsePublic reads the text form of a public key.
func ParsePublic(text string) (Public, error) {
	b, err := parse(text)
	return Public(b), err
}

// parse reads 32 bytes in base64, in their one spelling.
func parse(text string) (b [Size]byte, err error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != Size {
		return b, fmt.Errorf("a key is %d bytes in base64, which are %d characters", Size, base64.StdEncoding.EncodedLen(Size))
	}
	if b = [Size]byte(raw); b == [Size]byte{} {
		return b, errors.New("a key of zeros is no key")
	}
	return b, nil
}

// Text returns the text form, which is as secret as the key.
func (p Private) Text() string { return base64.StdEncoding.EncodeToString(p[:]) }

// String names the key without giving it away.
func (p Private) String() string { return "private key " + p.Public().Fingerprint() }

// GoString names the key without giving it away.
func (p Private) GoString() string { return p.String() }

// Public returns the other half of the pair.
func (p Private) Public() Public { return Public(p.key().PublicKey().Bytes()) }

func (p Private) key() *ecdh.PrivateKey {
	k, err := ecdh.X25519().NewPrivateKey(p[:])
	if err != nil {
		panic("identity: " + err.Error()) // only for a wrong length
	}
	return k
}

// Shared returns the secret that two members share: X25519 of one's private and the other's public key. It fails for the few public
// keys of which nobody has the private one.
func (p Private) Shared(with Public) ([]byte, error) {
	k, err := ecdh.X25519().NewPublicKey(with[:])
	if err != nil {
		return nil, fmt.Errorf("public key %v: %w", with, err)
	}
	secret, err := p.key().ECDH(k)
	if err != nil {
		return nil, fmt.Errorf("public key %v: %w", with, err)
	}
	return secret, nil
}

// A TagKey is the key of the tags by which a member recognises its own earlier lives. No other member has it. It is drawn with the
// first private key and outlives all of them: a restored directory, which has older private keys or newer ones than the
// last life had, must prove that life. The zero value is no key.
type TagKey [Size]byte

// ParseTagKey reads the text form of a tag key.
func ParseTagKey(text string) (TagKey, error) {
	b, err := parse(text)
	return TagKey(b), err
}

// Text returns the text form, which is as secret as the key.
func (t TagKey) Text() string { return base64.StdEncoding.EncodeToString(t[:]) }

// Digest tells the key from others without giving it away, for the durable record; zero for no key.
func (t TagKey) Digest() (d [8]byte) {
	if t != (TagKey{}) {
		sum := sha256.Sum256(append([]byte(labelTagKey), t[:]...))
		copy(d[:], sum[:])
	}
	return d
}

// String does not give the key away.
func (t TagKey) String() string { return "tag key" }

// GoString does not give the key away.
func (t TagKey) GoString() string { return t.String() }

// Own is what a member alone has.
type Own struct {
	// Private has one key, or two with the oldest first while one is being replaced.
	Private []Private
	// Tag never changes while the member keeps its identity.
	Tag TagKey
}

// DrawOwn returns a new identity.
func DrawOwn() Own {
	own := Own{Private: []Private{Draw()}}
	rand.Read(own.Tag[:])
	return own
}

// Public returns the public keys, the oldest first.
func (o *Own) Public() []Public {
	var out []Public
	for _, k := range o.Private {
		out = append(out, k.Public())
	}
	return out
}

// String returns the text form.
func (p Public) String() string { return base64.StdEncoding.EncodeToString(p[:]) }

var letters = base32.StdEncoding.WithPadding(base32.NoPadding)

// fingerprintSize is how many bytes of a digest people compare.
const fingerprintSize = 10

// Fingerprint returns what people compare: 16 letters and digits in four groups. The first two are the ID.
func (p Public) Fingerprint() string { return grouped(p.digest(fingerprintSize)) }

// ID returns the beginning of the fingerprint.
func (p Public) ID() ID { return ID(p.digest(len(ID{}))) }

func (p Public) digest(n int) []byte {
	sum := sha256.Sum256(append([]byte(labelFingerprint), p[:]...))
	return sum[:n]
}

func (i ID) String() string { return grouped(i[:]) }

// group is how many characters stand between two dashes.
const group = 4

// grouped spells bytes, five of which are two groups.
func grouped(b []byte) string {
	s := strings.ToLower(letters.EncodeToString(b))
	var out strings.Builder
	for i := 0; i < len(s); i += group {
		if i > 0 {
			out.WriteByte('-')
		}
		out.WriteString(s[i:min(i+group, len(s))])
	}
	return out.String()
}

package obituary

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

const (
	// HeadSize is how much of a packet's clear header stands before its number: the letter's part.
	HeadSize = 89
	// KeySize is that of a letter's key.
	KeySize = 32
	// MarkSize is that of the mark behind the number.
	MarkSize = 4
	// Overhead is what a packet has beside its report.
	Overhead = offSealed + chacha20poly1305.Overhead

	offMark   = HeadSize + 8 // behind the number
	offNonce  = offMark + MarkSize
	offSealed = offNonce + chacha20poly1305.NonceSizeX
	// markMask leaves out the highest bit, as in the marks of all packets.
	markMask = 1<<31 - 1
)

// A Letter is what a guardian needs to tell one voter of the death of its member.
type Letter struct {
	// Head is the beginning of the clear header: which start of which member died, and the receiver.
	Head [HeadSize]byte
	// Key seals reports to that voter, and nothing else.
	Key [KeySize]byte
}

// ErrForged says that a packet was not sealed with the key that it names.
var ErrForged = errors.New("obituary: forged: the packet does not authenticate")

// Append appends a packet with a report. Top is the highest number of a packet that the dead process may have sent to the voter. The same
// arguments give the same packet.
func Append(dst []byte, l *Letter, top uint64, r *Report) []byte {
	body := r.appendBody(nil)
	begin := len(dst)
	dst = append(dst, l.Head[:]...)
	dst = binary.BigEndian.AppendUint64(dst, top)
	dst = binary.BigEndian.AppendUint32(dst, Mark(&l.Key))
	dst = append(dst, nonce(&l.Key, dst[begin:], body)...)
	return seal(&l.Key).Seal(dst, dst[begin+offNonce:], body, dst[begin:])
}

// Open opens a packet with the key that its header names. It decrypts in place. The report does not refer to the packet.
func Open(key *[KeySize]byte, packet []byte) (Report, error) {
	if len(packet) < Overhead {
		return Report{}, ErrForged
	}
	if binary.BigEndian.Uint32(packet[offMark:]) != Mark(key) {
		return Report{}, ErrForged
	}
	sealed := packet[offSealed:]
	body, err := seal(key).Open(sealed[:0], packet[offNonce:offSealed], sealed, packet[:offSealed])
	if err != nil {
		return Report{}, ErrForged
	}
	return parseBody(body)
}

// Mark returns the mark of all packets under a key. A receiver has its kernel let in what bears one, and compares it before it opens
// a packet. It proves nothing, since it can be copied once it was sent.
func Mark(key *[KeySize]byte) uint32 {
	return binary.BigEndian.Uint32(hash(key, "mark")) & markMask
}

// nonce derives the nonce from all that is sealed. Two guardians with one key, as in a copied virtual machine, cannot use one twice for
// different reports.
func nonce(key *[KeySize]byte, header, body []byte) []byte {
	return hash(key, "nonce", header, body)[:chacha20poly1305.NonceSizeX]
}

// hash is HMAC-SHA256 over a label, and a header of fixed length and a body if there are any.
func hash(key *[KeySize]byte, label string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(label))
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}

func seal(key *[KeySize]byte) cipher.AEAD {
	a, err := chacha20poly1305.NewX(hash(key, "seal"))
	if err != nil {
		panic("obituary: cipher: " + err.Error())
	}
	return a
}

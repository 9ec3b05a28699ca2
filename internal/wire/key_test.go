package wire

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// The fast derivation is that of the standard library.
func TestPacketKeyIsHKDF(t *testing.T) {
	ring := ringOf(t, testKey, []byte("another key of the operator"))
	d := newDeriver(ring, testCouncil)
	for i := range 100 {
		from, to := protocol.Rank(i), protocol.Rank(999-i)
		s := datagram.Header{From: protocol.Ident{Rank: from, Inc: protocol.Inc(i * 7919)}, To: protocol.Ident{Rank: to},
			Start: datagram.Start{byte(i), 1, 2, 15: byte(i)}}
		prk, err := hkdf.Extract(sha256.New, testKey, []byte("regent wire 2"))
		if err != nil {
			t.Fatal(err)
		}
		secret, err := hkdf.Expand(sha256.New, prk, "council"+string(testCouncil[:]), 32)
		if err != nil {
			t.Fatal(err)
		}
		info := append([]byte("packet"), 0, 0)
		binary.BigEndian.PutUint16(info[6:], uint16(from))
		info = binary.BigEndian.AppendUint64(info, uint64(s.From.Inc))
		info = append(info, s.Start[:]...)
		info = binary.BigEndian.AppendUint16(info, uint16(to))
		key, err := hkdf.Expand(sha256.New, secret, string(info), 32)
		if err != nil {
			t.Fatal(err)
		}
		want, err := chacha20poly1305.New(key)
		if err != nil {
			t.Fatal(err)
		}
		nonce := make([]byte, 12)
		x := want.Seal(nil, nonce, []byte("words"), nil)
		y := d.aead(0, &s).Seal(nil, nonce, []byte("words"), nil)
		if !bytes.Equal(x, y) {
			t.Fatalf("start %v: sealed %x, want %x", s, y, x)
		}
	}
}

// Every part of what a key is derived from counts.
func TestPacketKeysDiffer(t *testing.T) {
	d := newDeriver(ringOf(t, testKey, []byte("another key of the operator")), testCouncil)
	seen := make(map[string]bool)
	try := func(key int, change func(h *datagram.Header)) {
		t.Helper()
		h := datagram.Header{From: protocol.Ident{Rank: 0, Inc: 5}, Start: datagram.Start{1}, To: protocol.Ident{Rank: 1}}
		change(&h)
		x := string(d.aead(key, &h).Seal(nil, make([]byte, 12), []byte("words"), nil))
		if seen[x] {
			t.Errorf("key %d for %+v is that of another", key, h)
		}
		seen[x] = true
	}
	try(0, func(*datagram.Header) {})
	try(1, func(*datagram.Header) {})
	try(0, func(h *datagram.Header) { h.From.Rank = 2 })
	try(0, func(h *datagram.Header) { h.To.Rank = 2 })
	try(0, func(h *datagram.Header) { h.From.Rank, h.To.Rank = 1, 0 })
	try(0, func(h *datagram.Header) { h.From.Inc = 6 })
	try(0, func(h *datagram.Header) { h.Start = datagram.Start{15: 1} })
}

func TestKeyringRefusesBadKeys(t *testing.T) {
	for want, keys := range map[string][][]byte{
		"0 keys":             nil,
		"5 keys":             {testKey, testKey, testKey, testKey, testKey},
		"key 2 has 15 bytes": {testKey, testKey[:15]},
		"key 1 has 129":      {make([]byte, 129)},
		"key 2 has the id":   {testKey, testKey},
		"public one":         {publicKey},
	} {
		if _, err := NewKeyring(keys...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if r := ringOf(t, testKey); r.Public() || !PublicKeyring().Public() {
		t.Error("only the ring without a secret is public")
	}
}

func TestKeysHaveATextForm(t *testing.T) {
	key := GenerateKey()
	if bytes.Equal(key, GenerateKey()) || len(key) != 32 {
		t.Fatalf("drawn keys repeat, or have %d bytes", len(key))
	}
	for _, text := range []string{
		base64.StdEncoding.EncodeToString(key), base64.RawStdEncoding.EncodeToString(key), hex.EncodeToString(key),
		" " + strings.ToUpper(hex.EncodeToString(key)) + "\n",
	} {
		if got, err := ParseKey(text); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q is %x, %v; want %x", text, got, err, key)
		}
	}
	for _, text := range []string{"", "!", "c2hvcnQ=", "a key with blanks in it, of some length"} {
		if got, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken for the key %x", text, got)
		}
	}
}

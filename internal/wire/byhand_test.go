package wire

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"
)

// The vectors can be opened with nothing but docs/wire.md: this test has its places and labels, and uses none of ours.
func TestVectorsOpenByHand(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Key, Council, Payload, Packet string
		Sender, Receiver                    struct{ Name, Private string }
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		key, _ := hex.DecodeString(v.Key)
		council, _ := hex.DecodeString(v.Council)
		packet, _ := hex.DecodeString(v.Packet)
		prk, err := hkdf.Extract(sha256.New, key, []byte("regent wire 3"))
		if err != nil {
			t.Fatal(err)
		}
		id, err := hkdf.Expand(sha256.New, prk, "key id", 4)
		if err != nil || string(id) != string(packet[10:14]) {
			t.Errorf("%s: key id %x, want %x", v.Name, packet[10:14], id)
		}
		secret, err := hkdf.Expand(sha256.New, prk, "council"+string(council), 32)
		if err != nil {
			t.Fatal(err)
		}
		tag, err := hkdf.Expand(sha256.New, secret, "council tag", 4)
		if err != nil || string(tag) != string(packet[14:18]) {
			t.Errorf("%s: council tag %x, want %x", v.Name, packet[14:18], tag)
		}
		start := string(packet[33:41]) + string(packet[73:89])
		pair, ids := pairByHand(t, secret, v.Sender.Name, v.Sender.Private, v.Receiver.Name, v.Receiver.Private)
		info, want := "packet"+start, string(ids[0])+string(ids[1])+string(ids[1])
		if string(packet[18:23]) == "\x00\x00\x00\x00\x00" {
			if pair, err = hkdf.Expand(sha256.New, secret, "introduction", 32); err != nil {
				t.Fatal(err)
			}
			info, want = string(packet[6:10])+start, string(make([]byte, 15))
		}
		if got := string(packet[18:33]); got != want {
			t.Errorf("%s: key ids %x, want %x", v.Name, got, want)
		}
		k, err := hkdf.Expand(sha256.New, pair, info, 32)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := chacha20poly1305.New(k)
		if err != nil {
			t.Fatal(err)
		}
		number := binary.BigEndian.Uint64(packet[89:97])
		block := aead.Seal(nil, binary.BigEndian.AppendUint64([]byte{0, 0, 0, 1}, number/16), make([]byte, 64), nil)
		mark := block[number%16*4:][:4]
		mark[0] &= 0x7f
		if string(packet[18:23]) == "\x00\x00\x00\x00\x00" {
			mark = make([]byte, 4)
		}
		if string(mark) != string(packet[97:101]) {
			t.Errorf("%s: mark %x, want %x", v.Name, packet[97:101], mark)
		}
		plain, err := aead.Open(nil, append(make([]byte, 4), packet[89:97]...), packet[101:], packet[:101])
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		} else if got := hex.EncodeToString(plain[24:]); got != v.Payload {
			t.Errorf("%s: payload %s, want %s", v.Name, got, v.Payload)
		}
	}
}

// pairByHand derives what packets from one member to another are sealed with, and the ids of both keys.
func pairByHand(t *testing.T, secret []byte, from, fromKey, to, toKey string) (pair []byte, ids [2][]byte) {
	t.Helper()
	key := func(text string) *ecdh.PrivateKey {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		k, err := ecdh.X25519().NewPrivateKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a, b := key(fromKey), key(toKey)
	shared, err := b.ECDH(a.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range []*ecdh.PrivateKey{a, b} {
		sum := sha256.Sum256(append([]byte("regent fingerprint"), k.PublicKey().Bytes()...))
		ids[i] = sum[:5]
	}
	ikm := slices.Concat(shared, a.PublicKey().Bytes(), b.PublicKey().Bytes(), []byte{byte(len(from))}, []byte(from), []byte{byte(len(to))}, []byte(to))
	if pair, err = hkdf.Extract(sha256.New, ikm, secret); err != nil {
		t.Fatal(err)
	}
	return pair, ids
}

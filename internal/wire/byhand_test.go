package wire

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"
)

// The vectors can be opened with nothing but docs/wire.md: this test has its places and labels, and uses none of ours.
func TestVectorsOpenByHand(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, Key, Council, Payload, Packet string }
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		key, _ := hex.DecodeString(v.Key)
		council, _ := hex.DecodeString(v.Council)
		packet, _ := hex.DecodeString(v.Packet)
		prk, err := hkdf.Extract(sha256.New, key, []byte("regent wire 2"))
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
		info := "packet" + string(packet[6:8]) + string(packet[18:26]) + string(packet[58:74]) + string(packet[8:10])
		k, err := hkdf.Expand(sha256.New, secret, info, 32)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := chacha20poly1305.New(k)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := aead.Open(nil, append(make([]byte, 4), packet[74:82]...), packet[82:], packet[:82])
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		} else if got := hex.EncodeToString(plain[24:]); got != v.Payload {
			t.Errorf("%s: payload %s, want %s", v.Name, got, v.Payload)
		}
	}
}

package wire

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

// A foundingVector is a founding packet with everything that it was made of. Its nonce, which is drawn at random, is in the packet.
type foundingVector struct {
	Name string        `json:"name"`
	Key  string        `json:"key"`
	From protocol.Rank `json:"from"`
	To   protocol.Rank `json:"to"`
	// Sender and Receiver are the members' names and private keys.
	Sender   vectorMember `json:"sender"`
	Receiver vectorMember `json:"receiver"`
	// Body is what is sealed, and Packet the whole.
	Body   string `json:"body"`
	Packet string `json:"packet"`

	message protocol.Message
}

// foundingInputs are the inputs of the vectors. Bodies are by docs/wire.md: kind, nonce, listing, id, begins.
func foundingInputs() []foundingVector {
	listing := [32]byte{1, 2, 3, 31: 0xff}
	text := hex.EncodeToString(listing[:])
	none, id := hex.EncodeToString(make([]byte, 16)), hex.EncodeToString(testCouncil[:])
	return []foundingVector{
		{Name: "a question", message: &founding.Ask{Nonce: 0x0102030405060708, Listing: listing}, Body: "01" + "0102030405060708" + text + none + "00"},
		{Name: "an answer with the id", message: &founding.Tell{Nonce: 0x0102030405060708, Listing: listing, ID: testCouncil}, Body: "02" + "0102030405060708" + text + id + "00"},
		{Name: "an answer of a member that has none and may begin", message: &founding.Tell{Nonce: 7, Listing: listing, Begins: true}, Body: "02" + "0000000000000007" + text + none + "01"},
	}
}

// foundingCodec returns the codec of a member in a council of three.
func foundingCodec(t *testing.T, self protocol.Rank, key []byte) *Founding {
	t.Helper()
	return NewFounding(pairsOf(t, self, 3, ringOf(t, key)))
}

// The vectors of founding packets are what the code opens, and what one who has read docs/wire.md seals. With -update they are sealed
// anew, with other nonces.
func TestFoundingVectors(t *testing.T) {
	file := filepath.Join("testdata", "founding.json")
	if *update {
		all := foundingInputs()
		for i := range all {
			all[i].Key, all[i].From, all[i].To = hex.EncodeToString(testKey), 2, 1
			all[i].Sender, all[i].Receiver = vectorOf(2), vectorOf(1)
			all[i].Packet = hex.EncodeToString(foundingCodec(t, 2, testKey).Seal(1, all[i].message)[0])
		}
		text, err := json.MarshalIndent(all, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []foundingVector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	want := foundingInputs()
	if len(all) != len(want) {
		t.Fatalf("%d vectors, want %d: run go test ./internal/wire -update", len(all), len(want))
	}
	for i, v := range all {
		packet, err := hex.DecodeString(v.Packet)
		if err != nil {
			t.Fatal(err)
		}
		if v.Name != want[i].Name || v.Body != want[i].Body {
			t.Errorf("%s: %+v is not what the code says, %+v: run go test ./internal/wire -update, and read the difference", v.Name, v, want[i])
		}
		if byHand := foundByHand(t, &v, packet[22:46]); !bytes.Equal(byHand, packet) {
			t.Errorf("%s: by docs/wire.md it is %x, want %x", v.Name, byHand, packet)
		}
		from, m, r := foundingCodec(t, v.To, testKey).Open(packet)
		if from != v.From || r != datagram.Accepted || !reflect.DeepEqual(m, want[i].message) {
			t.Errorf("%s: %+v from %v is %v", v.Name, m, from, r)
		}
	}
}

// foundByHand seals a vector with nothing but docs/wire.md: it has its places and labels, and uses none of ours.
func foundByHand(t *testing.T, v *foundingVector, nonce []byte) []byte {
	t.Helper()
	key, _ := hex.DecodeString(v.Key)
	body, _ := hex.DecodeString(v.Body)
	prk, err := hkdf.Extract(sha256.New, key, []byte("regent wire 3"))
	if err != nil {
		t.Fatal(err)
	}
	expand := func(label string, n int) []byte {
		b, err := hkdf.Expand(sha256.New, prk, label, n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	pair, ids := pairByHand(t, prk, v.Sender.Name, v.Sender.Private, v.Receiver.Name, v.Receiver.Private)
	k, err := hkdf.Expand(sha256.New, pair, "founding", 32)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := chacha20poly1305.NewX(k)
	if err != nil {
		t.Fatal(err)
	}
	head := append([]byte{'R', 'f', 2, 0, 0, byte(v.From), 0, byte(v.To)}, expand("key id", 4)...)
	head = append(append(head, ids[0]...), ids[1]...)
	head = append(head, nonce...)
	return aead.Seal(head, nonce, body, head)
}

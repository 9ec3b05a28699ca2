package wire

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// A deathVector is the report of a guardian with everything that it was made of.
type deathVector struct {
	Name    string        `json:"name"`
	Key     string        `json:"key"`
	Council string        `json:"council"`
	Epoch   uint64        `json:"epoch"`
	Digest  string        `json:"digest"`
	From    protocol.Rank `json:"from"`
	Inc     protocol.Inc  `json:"inc"`
	// Start are the random bits of the dead.
	Start    string        `json:"start"`
	To       protocol.Rank `json:"to"`
	Sender   vectorMember  `json:"sender"`
	Receiver vectorMember  `json:"receiver"`
	Top      uint64        `json:"top"`
	// Names is what is sealed, and Packet the whole.
	Names  string `json:"names"`
	Packet string `json:"packet"`

	report obituary.Report
}

// deathInputs are the inputs of the vectors. Names are by docs/wire.md: first, last, and what is kept.
func deathInputs() []deathVector {
	return []deathVector{
		{Name: "all groups", Top: 1, Names: "00" + "00"},
		{Name: "a range, of which one group is kept", Top: 0x0102030405060708, Names: "0161" + "016d" + "0462c3bc72",
			report: obituary.Report{First: "a", Last: "m", Kept: []protocol.Group{"bür"}}},
	}
}

// dying returns the endpoint of a vector's sender.
func dying(t *testing.T) *Endpoint {
	start := bytes.Repeat([]byte{0xd1, 0xe5}, len(datagram.Start{})/2)
	return endpoint(t, 2, 0x0203, func(c *Config) { c.Random = bytes.NewReader(start) })
}

// The vectors are what the code seals and opens, and what one who has read docs/wire.md seals.
func TestObituaryVectors(t *testing.T) {
	file := filepath.Join("testdata", "obituary.json")
	all := deathInputs()
	for i := range all {
		v, e := &all[i], dying(t)
		v.Key, v.Council, v.Epoch, v.Digest = hex.EncodeToString(testKey), hex.EncodeToString(testCouncil[:]), e.council.Epoch, hex.EncodeToString(e.council.Digest[:])
		v.From, v.Inc, v.Start, v.To = 2, e.Self().Inc, hex.EncodeToString(e.start[:]), 1
		v.Sender, v.Receiver = vectorOf(2), vectorOf(1)
		v.Packet = hex.EncodeToString(obituary.Append(nil, letterTo(t, e, 1), v.Top, &v.report))
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := os.ReadFile(file); err != nil || !bytes.Equal(saved, text) {
		t.Errorf("%s is not what the code seals (%v): run go test ./internal/wire -update, and read the difference", file, err)
	}
	for _, v := range all {
		if byHand := deathByHand(t, &v); hex.EncodeToString(byHand) != v.Packet {
			t.Errorf("%s: by docs/wire.md it is %x, want %s", v.Name, byHand, v.Packet)
		}
	}
}

// deathByHand seals a vector with nothing but docs/wire.md: it has its places and labels, and uses none of ours.
func deathByHand(t *testing.T, v *deathVector) []byte {
	t.Helper()
	bytesOf := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	expand := func(prk []byte, info string, n int) []byte {
		b, err := hkdf.Expand(sha256.New, prk, info, n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	prk, err := hkdf.Extract(sha256.New, bytesOf(v.Key), []byte("regent wire 3"))
	if err != nil {
		t.Fatal(err)
	}
	secret := expand(prk, "council"+string(bytesOf(v.Council)), 32)
	pair, ids := pairByHand(t, secret, v.Sender.Name, v.Sender.Private, v.Receiver.Name, v.Receiver.Private)
	who := binary.BigEndian.AppendUint64(nil, uint64(v.Inc))
	death := expand(pair, "obituary"+string(who)+string(bytesOf(v.Start)), 32)
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, death)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	b := []byte{'R', 'o', 1, 1, 1, 0, 0, byte(v.From), 0, byte(v.To)}
	b = append(append(b, expand(prk, "key id", 4)...), expand(secret, "council tag", 4)...)
	b = append(append(append(b, ids[0]...), ids[1]...), ids[1]...)
	b = append(append(b, who...), make([]byte, 16)...)
	b = append(binary.BigEndian.AppendUint64(b, v.Epoch), bytesOf(v.Digest)...)
	b = append(b, bytesOf(v.Start)...)
	b = binary.BigEndian.AppendUint64(b, v.Top)
	mark := mac([]byte("mark"))[:4]
	mark[0] &= 0x7f
	b = append(b, mark...)
	names := bytesOf(v.Names)
	nonce := mac([]byte("nonce"), b, names)[:24]
	b = append(b, nonce...)
	aead, err := chacha20poly1305.NewX(mac([]byte("seal")))
	if err != nil {
		t.Fatal(err)
	}
	return aead.Seal(b, nonce, names, b)
}

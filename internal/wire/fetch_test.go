package wire

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
)

func courier(t testing.TB, rank byte, key []byte) *Courier {
	t.Helper()
	return NewCourier(ringOf(t, key), []identity.Private{private(0, rank), private(1, rank)})
}

func everybody(identity.Public) bool { return true }

// asks returns the question of one member for a part, and the answer of another.
func asks(t *testing.T, asker, owner *Courier, part int, data []byte) []byte {
	t.Helper()
	key, _ := asker.Key()
	packet := asker.Ask(&Fetch{Council: testCouncil, Have: 3, Nonce: 77, Part: part, Key: key})
	f, _, r := owner.Open(packet, everybody)
	if r != datagram.Accepted || *f != (Fetch{Council: testCouncil, Have: 3, Nonce: 77, Part: part, Key: key}) {
		t.Fatalf("the question is %v: %+v", r, f)
	}
	return owner.Answer(f, testCouncil, 9, data)
}

func TestConfigurationIsFetchedInParts(t *testing.T) {
	a, b := courier(t, 1, testKey), courier(t, 2, testKey)
	owner, _ := b.Key()
	data := bytes.Repeat([]byte("configuration "), 200)
	var got []byte
	for part := range Parts(len(data)) {
		packet := asks(t, a, b, part, data)
		if len(packet) != fetchSize || len(packet) > DefaultMTU {
			t.Fatalf("an answer has %d bytes", len(packet))
		}
		_, p, r := a.Open(packet, func(k identity.Public) bool { return k == owner })
		if r != datagram.Accepted || p.Council != testCouncil || p.Number != 9 || p.Nonce != 77 || p.Part != part || p.Parts != 3 || p.From != owner {
			t.Fatalf("part %d is %v: %+v", part, r, p)
		}
		got = append(got, p.Data...)
	}
	if !bytes.Equal(got, data) {
		t.Error("the parts are not the whole")
	}
	if asks(t, a, b, 3, data) != nil {
		t.Error("there is an answer for a part that does not exist")
	}
}

// Only a member whose key the asker trusts can answer, and only the asker can read that.
func TestAnswersAreOfTrustedMembers(t *testing.T) {
	a, b := courier(t, 1, testKey), courier(t, 2, testKey)
	answer := func() []byte { return asks(t, a, b, 0, []byte("x")) }
	nobody := func(identity.Public) bool { return false }
	for name, c := range map[string]struct {
		by     *Courier
		trust  func(identity.Public) bool
		change func([]byte)
		want   datagram.Reason
	}{
		"untrusted":       {a, nobody, nil, datagram.MemberKey},
		"another reader":  {courier(t, 3, testKey), everybody, nil, datagram.Forged},
		"another key":     {courier(t, 1, []byte("another key of the operator")), everybody, nil, datagram.UnknownKey},
		"another owner":   {a, everybody, func(p []byte) { p[offPartOwner] ^= 1 }, datagram.Forged},
		"changed":         {a, everybody, func(p []byte) { p[partHeader] ^= 1 }, datagram.Forged},
		"another version": {a, everybody, func(p []byte) { p[2]++ }, datagram.Older},
		"another kind":    {a, everybody, func(p []byte) { p[offFetchKind] = 9 }, datagram.Malformed},
	} {
		packet := answer()
		if c.change != nil {
			c.change(packet)
		}
		if _, p, r := c.by.Open(packet, c.trust); r != c.want || p != nil {
			t.Errorf("%s: %v, want %v", name, r, c.want)
		}
	}
	if _, _, r := a.Open(answer()[1:], everybody); r != datagram.Short {
		t.Errorf("a short packet is %v", r)
	}
	other := append(answer(), "what a later release says"...)
	other[2]++
	if _, _, r := a.Open(other, everybody); r != datagram.Older {
		t.Errorf("a longer packet of another version is %v", r)
	}
}

// A fetchVector is a question or an answer with everything that it was made of, but for the nonce, which is in the packet.
type fetchVector struct {
	Name          string `json:"name"`
	Key           string `json:"key"`
	Sender, Asker string // private keys
	Body          string `json:"body"`
	Packet        string `json:"packet"`
	Have          uint64 `json:"have"`
	Number, Nonce uint64
	Part, Parts   int
	Data          string `json:"data"`
}

// The vectors are what the code opens, and what one who has read docs/wire.md seals. With -update they are sealed anew.
func TestFetchVectors(t *testing.T) {
	file := filepath.Join("testdata", "fetch.json")
	a, b := courier(t, 1, testKey), courier(t, 2, testKey)
	key, _ := a.Key()
	asker, owner := private(0, 1), private(0, 2)
	if *update {
		f := Fetch{Council: testCouncil, Have: 3, Nonce: 77, Part: 1, Key: key}
		data := bytes.Repeat([]byte{7}, partData+5)
		all := []fetchVector{
			{Name: "a question", Packet: hex.EncodeToString(a.Ask(&f)), Have: 3, Nonce: 77, Part: 1},
			{Name: "an answer", Packet: hex.EncodeToString(b.Answer(&f, testCouncil, 9, data)), Number: 9, Nonce: 77, Part: 1, Parts: 2, Data: hex.EncodeToString(data[partData:])},
		}
		for i := range all {
			all[i].Key, all[i].Sender, all[i].Asker = hex.EncodeToString(testKey), hex.EncodeToString(owner[:]), hex.EncodeToString(asker[:])
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
	var all []fetchVector
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 2 {
		t.Fatalf("%d vectors (%v): run go test ./internal/wire -update", len(all), err)
	}
	for _, v := range all {
		packet, _ := hex.DecodeString(v.Packet)
		if byHand := fetchByHand(t, &v, packet); !bytes.Equal(byHand, packet) {
			t.Errorf("%s: by docs/wire.md it is\n%x, want\n%x", v.Name, byHand, packet)
		}
		f, p, r := a.Open(slices.Clone(packet), everybody)
		switch {
		case r != datagram.Accepted:
			t.Errorf("%s is %v", v.Name, r)
		case f != nil && (f.Have != v.Have || f.Nonce != v.Nonce || f.Part != v.Part || f.Key != key):
			t.Errorf("%s: %+v", v.Name, f)
		case p != nil && !reflect.DeepEqual([]any{p.Number, p.Nonce, p.Part, p.Parts, hex.EncodeToString(p.Data)}, []any{v.Number, v.Nonce, v.Part, v.Parts, v.Data}):
			t.Errorf("%s: %+v", v.Name, p)
		}
	}
}

// fetchByHand seals a vector with nothing but docs/wire.md: it has its places and labels, and uses none of ours.
func fetchByHand(t *testing.T, v *fetchVector, packet []byte) []byte {
	t.Helper()
	must := func(b []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key, asker, owner := must(hex.DecodeString(v.Key)), must(hex.DecodeString(v.Asker)), must(hex.DecodeString(v.Sender))
	prk := must(hkdf.Extract(sha256.New, key, []byte("regent wire 3")))
	public := func(b []byte) []byte {
		k, err := ecdh.X25519().NewPrivateKey(b)
		if err != nil {
			t.Fatal(err)
		}
		return k.PublicKey().Bytes()
	}
	var out, body, cipherKey []byte
	if v.Parts == 0 {
		out = append([]byte{'R', 'c', 1, 1}, must(hkdf.Expand(sha256.New, prk, "key id", 4))...)
		out = append(out, packet[8:32]...)
		body = binary.BigEndian.AppendUint64(slices.Clone(testCouncil[:]), v.Have)
		body = binary.BigEndian.AppendUint64(body, v.Nonce)
		body = append(binary.BigEndian.AppendUint16(body, uint16(v.Part)), public(asker)...)
		body = append(body, make([]byte, 1070-len(body))...)
		cipherKey = must(hkdf.Expand(sha256.New, prk, "fetch", 32))
	} else {
		out = append([]byte{'R', 'c', 1, 2}, must(hkdf.Expand(sha256.New, prk, "key id", 4))...)
		out = append(append(out, public(owner)...), packet[40:64]...)
		data := must(hex.DecodeString(v.Data))
		body = binary.BigEndian.AppendUint64(slices.Clone(testCouncil[:]), v.Number)
		body = binary.BigEndian.AppendUint64(body, v.Nonce)
		for _, n := range []int{v.Part, v.Parts, len(data)} {
			body = binary.BigEndian.AppendUint16(body, uint16(n))
		}
		body = append(body, data...)
		body = append(body, make([]byte, 1038-len(body))...)
		mine, _ := ecdh.X25519().NewPrivateKey(owner)
		theirs, _ := ecdh.X25519().NewPublicKey(public(asker))
		secret := must(mine.ECDH(theirs))
		pair := must(hkdf.Extract(sha256.New, slices.Concat(secret, public(owner), public(asker)), prk))
		cipherKey = must(hkdf.Expand(sha256.New, pair, "configuration", 32))
	}
	aead, err := chacha20poly1305.NewX(cipherKey)
	if err != nil {
		t.Fatal(err)
	}
	return aead.Seal(out, out[len(out)-24:], body, out)
}

// Packets from anywhere: none makes the codec panic, and what opens seals again to something that opens.
func FuzzFetch(f *testing.F) {
	a, b := courier(f, 1, testKey), courier(f, 2, testKey)
	key, _ := a.Key()
	fetch := &Fetch{Council: testCouncil, Have: 3, Nonce: 77, Key: key}
	f.Add(a.Ask(fetch))
	f.Add(b.Answer(fetch, testCouncil, 9, []byte("configuration")))
	f.Add([]byte("Rc"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		x, p, r := a.Open(slices.Clone(packet), everybody)
		if (x != nil || p != nil) != (r == datagram.Accepted) || x != nil && p != nil {
			t.Fatalf("%v: %+v, %+v", r, x, p)
		}
		if x != nil {
			again, _, r := b.Open(a.Ask(x), everybody)
			if r != datagram.Accepted || *again != *x {
				t.Fatalf("%+v came as %+v: %v", x, again, r)
			}
		}
	})
}

// What the owner of a trusted key may say: it is taken whole or not at all.
func FuzzPart(f *testing.F) {
	a, b := courier(f, 1, testKey), courier(f, 2, testKey)
	key, _ := a.Key()
	f.Add(make([]byte, partBody+partData))
	f.Add(append(bytes.Repeat([]byte{0}, 35), 1, 0, 4, 'c', 'o', 'n', 'f'))
	f.Fuzz(func(t *testing.T, body []byte) {
		body = append(body, make([]byte, max(0, partBody+partData-len(body)))...)[:partBody+partData]
		packet := b.Answer(&Fetch{Key: key}, testCouncil, 9, nil)
		secret, err := b.private[0].Shared(key)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := chacha20poly1305.NewX(partKey(b.ring.keys[0].prk, secret, b.private[0].Public(), key))
		if err != nil {
			t.Fatal(err)
		}
		packet = aead.Seal(packet[:partHeader], packet[offPartNonce:partHeader], body, packet[:partHeader])
		_, p, r := a.Open(packet, everybody)
		switch {
		case r == datagram.Malformed && p == nil:
		case r != datagram.Accepted:
			t.Fatalf("a part that was sealed well is %v", r)
		case p.Part >= p.Parts || p.Parts > maxParts || len(p.Data) > partData:
			t.Fatalf("%+v", p)
		}
	})
}

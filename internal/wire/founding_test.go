package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

func TestFoundingPacketsComeThroughWhole(t *testing.T) {
	a, b := NewFounding(pairsOf(t, 0, 3, ringOf(t, testKey))), NewFounding(pairsOf(t, 1, 3, ringOf(t, testKey)))
	for _, m := range []protocol.Message{
		&founding.Ask{Nonce: 1 << 60, Listing: [32]byte{1, 31: 2}},
		&founding.Tell{Nonce: 7, Listing: [32]byte{3}, ID: testCouncil},
		&founding.Tell{Nonce: 7, Begins: true},
	} {
		packet := a.Seal(1, m)[0]
		if !IsFounding(packet) {
			t.Fatal("it is not told apart")
		}
		from, got, r := b.Open(bytes.Clone(packet))
		if from != 0 || r != datagram.Accepted || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v from %v is %v, want %+v", got, from, r, m)
		}
		if endpointReason, _ := open(endpoint(t, 1, 9), packet); !endpointReason.Dropped() {
			t.Error("it opens as a packet of a council")
		}
	}
	if IsFounding(send(t, endpoint(t, 0, 5), endpoint(t, 1, 9), 1)) || IsFounding([]byte("R")) {
		t.Error("something else is taken for one")
	}
}

func TestChangedFoundingPacketsAreDropped(t *testing.T) {
	a, b := NewFounding(pairsOf(t, 0, 3, ringOf(t, testKey))), NewFounding(pairsOf(t, 1, 3, ringOf(t, testKey)))
	good := a.Seal(1, &founding.Tell{ID: testCouncil})[0]
	for i := 2; i < len(good); i++ {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, m, r := b.Open(bad); !r.Dropped() || m != nil {
			t.Errorf("byte %d changed: %v", i, r)
		}
		if _, _, r := b.Open(bytes.Clone(good[:i])); r != datagram.Short {
			t.Errorf("cut to %d bytes: %v", i, r)
		}
	}
	for want, packet := range map[datagram.Reason][]byte{
		datagram.UnknownKey:  NewFounding(pairsOf(t, 0, 3, PublicKeyring())).Seal(1, &founding.Ask{})[0],
		datagram.Stranger:    NewFounding(pairsOf(t, 3, 4, ringOf(t, testKey))).Seal(1, &founding.Ask{})[0],
		datagram.Misdirected: a.Seal(2, &founding.Ask{})[0],
		datagram.MemberKey:   NewFounding(pairsOf(t, 0, 3, ringOf(t, testKey), renewed)).Seal(1, &founding.Ask{})[0],
	} {
		if _, _, r := b.Open(packet); r != want {
			t.Errorf("%v, want %v", r, want)
		}
	}
}

func FuzzFounding(f *testing.F) {
	b := NewFounding(pairsOf(f, 1, 3, PublicKeyring()))
	f.Add(NewFounding(pairsOf(f, 0, 3, PublicKeyring())).Seal(1, &founding.Ask{Nonce: 1})[0])
	forged := NewFounding(pairsOf(f, 0, 3, PublicKeyring())).Seal(1, &founding.Ask{Nonce: 1})[0]
	forged[foundHeader] ^= 1
	f.Add(forged)
	f.Add([]byte("Rf"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if _, m, r := b.Open(packet); (m == nil) != (r != datagram.Accepted) {
			t.Fatalf("%v with %v", r, m)
		}
	})
}

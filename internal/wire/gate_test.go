package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

// The kernel's filter must know the header that Seal writes: what it drops never reaches Open.
func TestGateLetsInWhatIsForThisMemberOnly(t *testing.T) {
	ring, err := NewKeyring([]byte("the key of this council"), []byte("the key before that one"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewKeyring([]byte("the key of another council"))
	if err != nil {
		t.Fatal(err)
	}
	end := func(rank protocol.Rank, members int, keys Keyring) *Endpoint {
		e, err := NewEndpoint(0, Config{Config: datagram.Config{Self: protocol.Ident{Rank: rank, Inc: 1}, Members: members, Delta: time.Second}, Pairs: pairsOf(t, rank, members, keys)})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	me := end(0, 3, ring)
	gate := me.Gate(1)
	if err := gate.Check(); err != nil {
		t.Fatal(err)
	}
	seal := func(from *Endpoint, to protocol.Rank, payload int) []byte {
		b, err := from.Seal(nil, &datagram.Header{From: from.Self(), Start: from.start, To: protocol.Ident{Rank: to, Inc: 1}, Seq: 1, Sent: 1}, 0, make([]byte, payload))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	foundingPacket := func(from, to protocol.Rank, keys Keyring) []byte {
		return NewFounding(pairsOf(t, from, 4, keys)).Seal(to, &founding.Ask{})[0]
	}
	right := seal(end(1, 3, ring), 0, 0)
	long := seal(end(1, 3, ring), 0, DefaultMTU-Overhead)
	changed := func(at int) []byte { b := append([]byte(nil), right...); b[at] ^= 0x80; return b }
	for _, c := range []struct {
		name   string
		packet []byte
		want   bool
	}{
		{"a packet for this member", right, true}, {"the longest one", long, true}, {"one that is longer", append(long, 0), false},
		{"one that is shorter", right[:len(right)-1], false}, {"one for another member", seal(end(1, 3, ring), 2, 0), false},
		{"one of a member that the council does not have", seal(end(3, 4, ring), 0, 0), false}, {"one with another key", seal(end(1, 3, other), 0, 0), false},
		{"another magic", changed(offMagic), false}, {"another version", changed(offVersion), false}, {"another council", changed(offCouncil), false}, {"other bits of the start", changed(offNonce), true},
		{"a founding packet", foundingPacket(1, 0, ring), true}, {"one for another", foundingPacket(1, 2, ring), false}, {"one with another key", foundingPacket(1, 0, other), false},
		{"one of a stranger", foundingPacket(3, 0, ring), false}, {"one that is longer", append(foundingPacket(1, 0, ring), 0), false},
	} {
		if got := gate.Passes(c.packet); got != c.want {
			t.Errorf("%s: passes: %v, want %v", c.name, got, c.want)
		}
	}
}

// Starts that were heard are let in without chance, so that a flood cannot delay them.
func TestGateKnowsTheStartsThatWereHeard(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	knows := func(packet []byte) bool {
		gate := b.Gate(64)
		if err := gate.Check(); err != nil || gate.Sample != 64 || gate.Or.Sample != 64 || gate.Or.Known != nil {
			t.Fatalf("%+v, %v", gate, err)
		}
		at := gate.Known.Offset
		return slices.Contains(gate.Known.Any, binary.BigEndian.Uint32(packet[at:at+gate.Known.Size]))
	}
	packet := send(t, a, b, 1, &hot{Seq: 1})
	header := stamped(a, b, 1)
	if knows(packet) || b.Knows(header) {
		t.Error("a start is known that was not heard")
	}
	forged := bytes.Clone(packet)
	forged[len(forged)-1]++
	expect(t, b, forged, datagram.Forged)
	if knows(packet) || b.Knows(header) {
		t.Error("a start is known of which a packet was forged")
	}
	expect(t, b, packet, datagram.Accepted)
	if !knows(packet) || !b.Knows(header) {
		t.Error("a start that was heard is not known")
	}
	if other := stamped(endpoint(t, 0, 5), b, 1); b.Knows(other) {
		t.Error("another start of the same member is known")
	}
}

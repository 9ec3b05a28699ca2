package wire

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
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
		e, err := NewEndpoint(0, Config{Config: datagram.Config{Self: protocol.Ident{Rank: rank, Inc: 1}, Members: members, Delta: time.Second}, Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	me := end(0, 3, ring)
	gate := me.Gate()
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
	} {
		if got := gate.Passes(c.packet); got != c.want {
			t.Errorf("%s: passes: %v, want %v", c.name, got, c.want)
		}
	}
}

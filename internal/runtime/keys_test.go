package runtime

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

// keysOf returns the keys of a member of two that has its own key and lists others of the peer.
func keysOf(t *testing.T, self protocol.Rank, own []identity.Private, peer []identity.Public) *wire.Pairs {
	t.Helper()
	members := []wire.Identity{{Name: wiretest.Name(0)}, {Name: wiretest.Name(1)}}
	members[1-self].Keys = peer
	p, err := wire.NewPairs(wire.PairsConfig{Ring: wire.PublicKeyring(), Self: self, Private: own, Members: members})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A peer of a neighbouring version of the wire, and one with another key, are named with one reason each.
func TestStatusNamesOtherVersionsAndOtherKeys(t *testing.T) {
	other := identity.Draw()
	mine := wiretest.Private(wiretest.Name(0)).Public()
	for want, c := range map[string]wire.Config{
		`speaks another version (packets from its address that were dropped: 1, the last for "version")`:                       {Lowest: wire.HighestVersion + 1, Highest: wire.HighestVersion + 1, Pairs: wiretest.Pairs(1, 2)},
		`speaks another version (packets from its address that were dropped: 1, the last for "version"): compare the releases`: {Lowest: wire.LowestVersion - 1, Highest: wire.LowestVersion - 1, Pairs: wiretest.Pairs(1, 2)},
		"uses the key " + other.Public().ID().String() + " for the key " + mine.ID().String() + " of this member":              {Pairs: keysOf(t, 1, []identity.Private{other}, []identity.Public{mine})},
	} {
		d := newDesk(t, summary("a", "x"), summary("b", "x"))
		c.Config = judge(protocol.Ident{Rank: 1, Inc: 1}, summary("b", "x"))
		packets, err := wire.NewEndpoint(d.now, c)
		if err != nil {
			t.Fatal(err)
		}
		h := packets.Stamp(d.now, d.now, 0)
		packet, err := packets.Seal(nil, &h, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.lines[0].in = append(d.lines[0].in, transport.Packet{Data: packet, Addr: addr(3)})
		d.ports[0].Receive(func(protocol.Time, Channel, *protocol.Receive) {})
		if r := d.ports[0].Peer(d.now.Add(Quiet), 1); !strings.HasPrefix(r.Problem, want) {
			t.Errorf("problem %q, want %q", r.Problem, want)
		}
	}
}

// A revoked peer is sent nothing, neither messages nor probes nor introductions, and the port does not spin for it. Its old packets are
// no news when it is admitted again.
func TestRevokedPeerIsSentNothing(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	own := []identity.Private{wiretest.Private(wiretest.Name(0))}
	if err := d.ports[0].SetKeys(keysOf(t, 0, own, nil)); err != nil {
		t.Fatal(err)
	}
	if r := d.ports[0].Peer(d.now, 1); !r.Revoked || !strings.Contains(r.Problem, "is revoked here") {
		t.Errorf("%+v", r)
	}
	for range 100 {
		d.now = d.now.Add(time.Second)
		d.lines[0].out = nil
		d.ports[0].Flush()
		if n := len(d.lines[0].out); n > 0 {
			t.Fatalf("%d packets were sent to it", n)
		}
		if wake := d.ports[0].Wake(); wake <= d.now {
			t.Fatalf("the port wants to be woken at %v, and it is %v", wake, d.now)
		}
	}
	if err := d.ports[0].SetKeys(wiretest.Pairs(0, 2)); err != nil {
		t.Fatal(err)
	}
	d.greet()
	if r := d.ports[0].Peer(d.now, 1); r.Revoked || r.Problem != "" {
		t.Errorf("admitted again: %+v", r)
	}
}

package wire

import (
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// reply seals the copy of a message that answers an outdated process.
func reply(t *testing.T, from, to *Endpoint, seq uint64) []byte {
	t.Helper()
	if !from.Replies(to.Self().Rank) {
		t.Fatalf("%v owes no reply to %v", from.Self(), to.Self())
	}
	packet, err := from.SealReply(nil, stamped(from, to, seq), 0, payloadOf(t, from, &help{}))
	if err != nil {
		t.Fatal(err)
	}
	from.Replied(to.Self().Rank)
	return packet
}

// A process with an old copy of its directory has lost a key that its member has used since, or has one that was never used.
func TestOutdatedProcessCanOpenTheAnswer(t *testing.T) {
	for _, c := range []struct {
		name       string
		used, kept byte
		inc        protocol.Inc
		want       datagram.Reason
	}{
		{"stale, from before a rotation", 1, 0, 4, datagram.Stale},
		{"twin, from before a rotation", 1, 0, 5, datagram.Twin},
		{"nameless, from before a rotation", 1, 0, 0, datagram.Accepted},
		{"nameless, with the new key alone", 0, 1, 0, datagram.Accepted},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := endpoint(t, 1, 9, keyed(t, 1, listing(0, 0, 1)))
			live := endpoint(t, 0, 5, keyed(t, 0, holding(c.used)))
			expect(t, b, send(t, live, b, 1, &hot{}), datagram.Accepted)
			old := endpoint(t, 0, c.inc, keyed(t, 0, holding(c.kept)))
			recorded := send(t, old, b, 1, &help{})
			expect(t, b, recorded, c.want)
			expect(t, old, send(t, b, old, 1, &help{}), datagram.MemberKey)
			expect(t, old, reply(t, b, old, 2), datagram.Accepted)
			if b.Replies(0) {
				t.Error("a second copy is owed")
			}

			// Whatever is recorded, the living process is spoken to as before.
			b.Open(100, recorded, new(Packet))
			packet := send(t, b, live, 3, &hot{})
			if got := identity.ID(packet[offReceiverKey:]); got != private(0, c.used).Public().ID() {
				t.Errorf("ordinary packets are sealed for %v", got)
			}
			expect(t, live, packet, datagram.Accepted)
		})
	}
}

func TestReplyIsOwedOnlyUnderOtherKeys(t *testing.T) {
	b, live, old := endpoint(t, 1, 9), endpoint(t, 0, 5), endpoint(t, 0, 4)
	expect(t, b, send(t, live, b, 1, &hot{}), datagram.Accepted)
	recorded := send(t, old, b, 1, &hot{})
	expect(t, b, recorded, datagram.Stale)
	if b.Replies(0) {
		t.Error("what is sent anyway can be opened by the outdated process: a copy is waste")
	}
	b = endpoint(t, 1, 9, keyed(t, 1, listing(0, 0, 1)))
	expect(t, b, send(t, endpoint(t, 0, 5, keyed(t, 0, renewed)), b, 1, &hot{}), datagram.Accepted)
	expect(t, b, recorded, datagram.Stale)
	if err := b.SetKeys(pairsOf(t, 1, 3, ringOf(t, testKey), listing(0, 1))); err != nil {
		t.Fatal(err)
	}
	if b.Replies(0) {
		t.Error("a reply is owed under a key that is gone")
	}
}

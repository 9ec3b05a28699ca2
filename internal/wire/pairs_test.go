package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

// renewed makes a member speak with its second key alone.
func renewed(c *PairsConfig) { c.Private = []identity.Private{private(c.Self, 1)} }

// listing makes a member list keys of another, by their generation.
func listing(rank protocol.Rank, generations ...byte) func(*PairsConfig) {
	return func(c *PairsConfig) {
		c.Members[rank].Keys = nil
		for _, g := range generations {
			c.Members[rank].Keys = append(c.Members[rank].Keys, private(rank, g).Public())
		}
	}
}

// holding makes a member have private keys, by their generation.
func holding(generations ...byte) func(*PairsConfig) {
	return func(c *PairsConfig) {
		c.Private = nil
		for _, g := range generations {
			c.Private = append(c.Private, private(c.Self, g))
		}
	}
}

func keyed(t testing.TB, rank protocol.Rank, change ...func(*PairsConfig)) func(*Config) {
	return func(c *Config) { c.Pairs = pairsOf(t, rank, 3, ringOf(t, testKey), change...) }
}

// Every part of what a key is derived from counts.
func TestPacketKeysDiffer(t *testing.T) {
	seen := make(map[string]string)
	try := func(name string, p *Pairs, peer protocol.Rank, l lane, change func(h *datagram.Header)) {
		t.Helper()
		h := datagram.Header{From: protocol.Ident{Rank: 0, Inc: 5}, Start: datagram.Start{1}, To: protocol.Ident{Rank: 1}}
		change(&h)
		x := string(newDeriver(p, testCouncil).aead(peer, l, &h).Seal(nil, make([]byte, 12), []byte("words"), nil))
		if other, ok := seen[x]; ok {
			t.Errorf("%s: the key is that of %s", name, other)
		}
		seen[x] = name
	}
	same := func(*datagram.Header) {}
	ring := ringOf(t, testKey, []byte("another key of the operator"))
	both := pairsOf(t, 0, 3, ring, holding(0, 1), listing(1, 0, 1))
	try("the first", both, 1, lane{out: true}, same)
	try("the second key of the ring", both, 1, lane{ring: 1, out: true}, same)
	try("our second key", both, 1, lane{own: 1, out: true}, same)
	try("their second key", both, 1, lane{theirs: 1, out: true}, same)
	try("the other direction", both, 1, lane{}, same)
	try("another peer", both, 2, lane{out: true}, same)
	try("another incarnation", both, 1, lane{out: true}, func(h *datagram.Header) { h.From.Inc = 6 })
	try("another start", both, 1, lane{out: true}, func(h *datagram.Header) { h.Start = datagram.Start{15: 1} })
	try("another name of the peer", pairsOf(t, 0, 3, ring, func(c *PairsConfig) { c.Members[1].Name = "x" }), 1, lane{out: true}, same)
	try("another name of ours", pairsOf(t, 0, 3, ring, func(c *PairsConfig) { c.Members[0].Name = "x" }), 1, lane{out: true}, same)
	d := newDeriver(both, protocol.CouncilID{1})
	h := datagram.Header{From: protocol.Ident{Rank: 0, Inc: 5}, Start: datagram.Start{1}, To: protocol.Ident{Rank: 1}}
	if x := string(d.aead(1, lane{out: true}, &h).Seal(nil, make([]byte, 12), []byte("words"), nil)); seen[x] != "" {
		t.Errorf("another council: the key is that of %s", seen[x])
	}
}

// A member has the cluster key, its own key and all public keys. It can neither speak for another nor read what others say.
func TestThirdMemberCanNeitherSpeakForAnotherNorListen(t *testing.T) {
	a, b, c := endpoint(t, 0, 5), endpoint(t, 1, 9), endpoint(t, 2, 7)
	forged := send(t, c, b, 1, &hot{})
	forged[offFrom+1] = 0
	expect(t, b, forged, datagram.MemberKey)
	id := private(0, 0).Public().ID()
	copy(forged[offSenderKey:], id[:])
	expect(t, b, forged, datagram.Forged)

	overheard := send(t, a, b, 1, &hot{})
	expect(t, c, overheard, datagram.Misdirected)
	overheard[offTo+1] = 2
	expect(t, c, overheard, datagram.MemberKey)
	id = private(2, 0).Public().ID()
	copy(overheard[offReceiverKey:], id[:])
	expect(t, c, overheard, datagram.Forged)
}

// A packet that is sent back to its sender is not one of its receiver, whatever is changed in it.
func TestReflectedPacketsAreDropped(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	packet := send(t, a, b, 1, &hot{})
	expect(t, a, packet, datagram.Stranger)
	packet[offFrom+1], packet[offTo+1] = 1, 0
	expect(t, a, packet, datagram.MemberKey)
	sender, receiver := bytes.Clone(packet[offSenderKey:offReceiverKey]), bytes.Clone(packet[offReceiverKey:offKnownKey])
	copy(packet[offSenderKey:], receiver)
	copy(packet[offReceiverKey:], sender)
	expect(t, a, packet, datagram.Forged)
}

func TestWrongMemberKeyOpensNothing(t *testing.T) {
	b := endpoint(t, 1, 9)
	before := state(b)
	a := endpoint(t, 0, 5, keyed(t, 0, renewed))
	p := expect(t, b, send(t, a, b, 1, &hot{}), datagram.MemberKey)
	if p.SenderKey != private(0, 1).Public().ID() || p.ReceiverKey != private(1, 0).Public().ID() {
		t.Errorf("keys %v and %v", p.SenderKey, p.ReceiverKey)
	}
	a = endpoint(t, 0, 5, keyed(t, 0, listing(1, 1)))
	expect(t, b, send(t, a, b, 1, &hot{}), datagram.MemberKey)
	if state(b) != before {
		t.Error("a packet under a key that is not listed changed the endpoint")
	}
}

// A revoked member has all that it had: the cluster key, the council's id, its own key. It is heard by nobody, and hears nobody.
func TestRevokedMemberIsSilent(t *testing.T) {
	a, b, revoked := endpoint(t, 0, 5), endpoint(t, 1, 9), endpoint(t, 2, 7)
	expect(t, a, send(t, revoked, a, 1, &hot{}), datagram.Accepted)
	for _, e := range []*Endpoint{a, b} {
		if err := e.SetKeys(pairsOf(t, e.Self().Rank, 3, ringOf(t, testKey), listing(2))); err != nil {
			t.Fatal(err)
		}
		if !e.Revoked(2) || e.Revoked(0) || e.Revoked(1) {
			t.Fatal("another member is revoked, or none")
		}
		expect(t, e, send(t, revoked, e, 2+uint64(e.Self().Rank), &hot{}), datagram.Revoked)
		expect(t, e, introduce(t, revoked, e, 9, summaryOf("c")), datagram.Revoked)
		if _, err := e.Seal(nil, stamped(e, revoked, 1), 0, nil); err == nil {
			t.Error("a packet was sealed for it")
		}
	}
	// What others say to one another it can read neither as it is nor as its own.
	packet := send(t, a, b, 5, &hot{})
	for _, at := range []int{offTo + 1, offReceiverKey} {
		expect(t, revoked, packet, map[int]datagram.Reason{offTo + 1: datagram.Misdirected, offReceiverKey: datagram.MemberKey}[at])
		packet[offTo+1] = 2
	}
	// It cannot ask for the council's id either, nor answer those that do.
	f, asker := NewFounding(revoked.derive.pairs), NewFounding(a.derive.pairs)
	if _, _, r := asker.Open(f.Seal(0, &founding.Ask{})[0]); r != datagram.Revoked {
		t.Errorf("its founding packet is %v", r)
	}
	if packets := asker.Seal(2, &founding.Tell{ID: testCouncil}); len(packets) != 0 {
		t.Error("the council's id is sent to it")
	}
	// When it is admitted again, with another key, what it said before is no news.
	recorded := send(t, revoked, a, 20, &hot{})
	if err := a.SetKeys(pairsOf(t, 0, 3, ringOf(t, testKey), listing(2, 0))); err != nil {
		t.Fatal(err)
	}
	expect(t, a, recorded, datagram.Accepted)
	expect(t, a, recorded, datagram.Replayed)
}

// A member's key can be replaced while all go on hearing one another: in whatever order the others learn of it.
func TestMemberKeyCanBeReplacedOneMemberAtATime(t *testing.T) {
	const rotating = 0
	for _, order := range [][]protocol.Rank{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		all := []*Endpoint{endpoint(t, 0, 5), endpoint(t, 1, 9), endpoint(t, 2, 7)}
		seq := uint64(0)
		talk := func(step string) {
			t.Helper()
			for range 3 {
				seq++
				for _, from := range all {
					for _, to := range all {
						if from == to {
							continue
						}
						if r, _ := open(to, send(t, from, to, seq, &hot{})); r != datagram.Accepted {
							t.Fatalf("order %v, %s: packet from %v to %v is %v", order, step, from.Self(), to.Self(), r)
						}
					}
				}
			}
		}
		set := func(r protocol.Rank, generations ...byte) {
			t.Helper()
			change := listing(rotating, generations...)
			if r == rotating {
				change = holding(generations...)
			}
			if err := all[r].SetKeys(pairsOf(t, r, 3, ringOf(t, testKey), change)); err != nil {
				t.Fatal(err)
			}
		}
		talk("before")
		for _, r := range order {
			set(r, 0, 1)
			talk("both keys at " + nameOf(r))
		}
		fresh := private(rotating, 1).Public().ID()
		for _, r := range []protocol.Rank{1, 2} {
			if uses, _ := all[r].Used(rotating); uses != fresh {
				t.Errorf("order %v: %v is still spoken to with %v, want %v", order, r, uses, fresh)
			}
			if _, lists := all[rotating].Used(r); lists != fresh {
				t.Errorf("order %v: %v lists %v, want %v", order, r, lists, fresh)
			}
			packet := send(t, all[r], all[rotating], seq+1, &hot{})
			if got := identity.ID(packet[offReceiverKey:]); got != fresh {
				t.Errorf("order %v: packets of %v are sealed for %v, want %v", order, r, got, fresh)
			}
		}
		seq++
		for _, r := range order {
			set(r, 1)
			talk("the new key only at " + nameOf(r))
		}
	}
}

// The new key of a peer is not used before that peer has used it: it may have been listed here first.
func TestNewKeyOfAPeerWaitsForThatPeer(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9, keyed(t, 1, listing(0, 0, 1)))
	packet := send(t, b, a, 1, &hot{})
	if got := identity.ID(packet[offReceiverKey:]); got != private(0, 0).Public().ID() {
		t.Errorf("sealed for %v, which %v has not used", got, a.Self())
	}
	expect(t, a, packet, datagram.Accepted)
	expect(t, b, send(t, a, b, 1, &hot{}), datagram.Accepted)
	packet = send(t, b, a, 2, &hot{})
	if got := identity.ID(packet[offReceiverKey:]); got != private(0, 0).Public().ID() {
		t.Errorf("sealed for %v, which %v has not used", got, a.Self())
	}
}

// NoNonceTwice: whatever happens to keys, incarnations and starts, no two packets have one key and one number.
func TestNoNonceIsUsedTwice(t *testing.T) {
	var pairs []*Pairs
	for _, own := range []func(*PairsConfig){holding(0), holding(0, 1), holding(1)} {
		for _, theirs := range []func(*PairsConfig){listing(1, 0), listing(1, 0, 1), listing(1, 1)} {
			pairs = append(pairs, pairsOf(t, 0, 3, ringOf(t, testKey), own, theirs))
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		type nonce struct {
			ring             KeyID
			keys             memberKeys
			from, to         protocol.Rank
			inc              protocol.Inc
			start            datagram.Start
			seq              uint64
			withoutMemberKey bool
		}
		used := make(map[nonce]bool)
		peers := []*Endpoint{nil, endpoint(t, 1, 9), endpoint(t, 2, 7)}
		var a *Endpoint
		restart := func() { a = endpoint(t, 0, protocol.Inc(rapid.IntRange(0, 2).Draw(r, "incarnation"))) }
		restart()
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			to := peers[rapid.IntRange(1, 2).Draw(r, "to")]
			switch rapid.IntRange(0, 9).Draw(r, "what") {
			case 0:
				restart()
			case 1:
				a.SetIncarnation(a.Self().Inc + 1)
			case 2:
				if err := a.SetKeys(rapid.SampledFrom(pairs).Draw(r, "keys")); err != nil {
					t.Fatal(err)
				}
			default:
				d := a.Stamp(1000, 1000, to.Self().Rank)
				packet, err := a.Seal(nil, &d, 0, nil)
				if rapid.Bool().Draw(r, "introduces") {
					d = a.Stamp(1000, 1000, to.Self().Rank)
					packet, err = a.Introduce(nil, &d, 0, summaryOf("a"))
				}
				if err != nil {
					t.Fatal(err)
				}
				var h header
				parseHeader(packet, &h, &d)
				n := nonce{h.key, memberKeys{sender: h.keys.sender, receiver: h.keys.receiver}, d.From.Rank, d.To.Rank, d.From.Inc, d.Start, d.Seq, h.keys == memberKeys{}}
				if used[n] {
					r.Fatalf("NoNonceTwice: %+v", n)
				}
				used[n] = true
			}
		}
	})
}

// Recorded packets are refused after either end starts again, also under the same keys.
func TestReplayAcrossRestarts(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	recorded := send(t, a, b, 1, &hot{})
	expect(t, b, recorded, datagram.Accepted)
	expect(t, b, recorded, datagram.Replayed)
	expect(t, endpoint(t, 1, 10), recorded, datagram.OtherIncarnation)
	expect(t, endpoint(t, 1, 9), recorded, datagram.OtherIncarnation) // the same incarnation, but another start
	expect(t, b, send(t, endpoint(t, 0, 6), b, 1, &hot{}), datagram.Accepted)
	expect(t, b, recorded, datagram.Stale)
}

// A packet of the neighbouring versions of the sealed part is refused with one reason, which names what its sender reads.
func TestNeighbouringVersionsRefuseOneAnother(t *testing.T) {
	for _, v := range []uint8{LowestVersion - 1, HighestVersion + 1} {
		mine, other := endpoint(t, 0, 5), endpoint(t, 1, 9, versions(v, v))
		for _, c := range []struct{ from, to *Endpoint }{{mine, other}, {other, mine}} {
			p := expect(t, c.to, send(t, c.from, c.to, 1, &hot{}), datagram.Version)
			if len(p.Messages) != 0 || p.Lowest != c.from.lowest || p.Highest != c.from.highest {
				t.Errorf("version %d: versions %d to %d, messages %v", v, p.Lowest, p.Highest, p.Messages)
			}
		}
	}
}

func TestPairsRefuseWhatCannotWork(t *testing.T) {
	for want, change := range map[string]func(*PairsConfig){
		"no key":                   func(c *PairsConfig) { c.Ring = Keyring{} },
		"0 private keys":           holding(),
		"at most 2":                holding(0, 1, 2),
		"rank 3":                   func(c *PairsConfig) { c.Self = 3 },
		"member b: 3 keys":         listing(1, 0, 1, 2),
		"is listed twice":          listing(1, 0, 0),
		"this member's own":        func(c *PairsConfig) { c.Members[1].Keys = []identity.Public{private(0, 0).Public()} },
		"member b: public key AQA": func(c *PairsConfig) { c.Members[1].Keys = []identity.Public{{1}} },
	} {
		c := PairsConfig{Ring: ringOf(t, testKey), Self: 0, Private: []identity.Private{private(0, 0)}}
		for r := range protocol.Rank(3) {
			c.Members = append(c.Members, Identity{nameOf(r), []identity.Public{private(r, 0).Public()}})
		}
		change(&c)
		if _, err := NewPairs(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if p, err := NewPairs(PairsConfig{Ring: PublicKeyring(), Members: []Identity{{Name: "alone"}}}); err != nil || slices.ContainsFunc(p.peers, func(p pair) bool { return len(p.ids) > 0 }) {
		t.Errorf("a council of one needs no key: %v", err)
	}
}

// An introduction is for names of differences. It carries nothing into a council that has the same configuration.
func TestIntroductionOfTheSameConfigurationChangesNothing(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	before := state(b)
	packet := introduce(t, a, b, 1, summaryOf("a"))
	if p := expect(t, b, packet, datagram.Introduction); p.Summary != nil || len(p.Messages) != 0 {
		t.Errorf("it says %v and %v", p.Summary, p.Messages)
	}
	for i := range packet {
		packet[i] ^= 0x20
		if r, p := open(b, packet); !r.Dropped() || r.Authentic() || p.Summary != nil {
			t.Fatalf("byte %d changed, and the packet is %v", i, r)
		}
		packet[i] ^= 0x20
	}
	if state(b) != before {
		t.Error("an introduction changed the endpoint")
	}
}

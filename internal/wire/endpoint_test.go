package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

func TestPacketCarriesHeaderAndMessages(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	sent := []protocol.Message{
		&note{Text: "hello", Count: 1 << 40, Delta: -7, Yes: true, Members: protocol.NewSet(0, 2), Data: []byte{1, 2}, Lines: []line{{"g", 3}}},
		&hot{Seq: 1, Delta: 2, Round: 3, Start: 4},
		&note{Text: "again"},
	}
	d := stamped(a, b, 1)
	packet, err := a.Seal([]byte("before"), d, 3, payloadOf(t, a, sent...))
	if err != nil {
		t.Fatal(err)
	}
	p := expect(t, b, packet[len("before"):], datagram.Accepted)
	if p.Header != *d {
		t.Errorf("header %+v, want %+v", p.Header, *d)
	}
	if p.Path != 3 || p.Council.Epoch != 1 || p.Lowest != LowestVersion || p.Highest != HighestVersion {
		t.Errorf("path %d, epoch %d, versions %d to %d", p.Path, p.Council.Epoch, p.Lowest, p.Highest)
	}
	if len(p.Messages) != len(sent) {
		t.Fatalf("%d messages, want %d", len(p.Messages), len(sent))
	}
	for i, m := range p.Messages {
		got := m.Copy()
		if n, ok := got.(*note); ok && len(n.Data) == 0 {
			n.Data = nil
		}
		if n, ok := got.(*note); ok && len(n.Lines) == 0 {
			n.Lines = nil
		}
		if m.Channel != 7 || !reflect.DeepEqual(got, sent[i]) {
			t.Errorf("message %d is %+v, want %+v", i, got, sent[i])
		}
	}
}

func TestNothingOfThePacketCanBeRead(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	packet := send(t, a, b, 1, &note{Text: "a secret of some length"})
	if bytes.Contains(packet, []byte("secret")) {
		t.Errorf("%q is in the clear", "secret")
	}
}

// Every single bit of a packet counts, and one that was changed leaves no trace.
func TestChangedPacketsAreDroppedWithoutATrace(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1, &hot{}), datagram.Accepted)
	packet := send(t, a, b, 2, &note{Text: "hello"})
	before := state(b)
	for i := range packet {
		for bit := range 8 {
			packet[i] ^= 1 << bit
			r, p := open(b, packet)
			if !r.Dropped() || r.Authentic() {
				t.Fatalf("bit %d of byte %d changed, and the packet is %v", bit, i, r)
			}
			if len(p.Messages) != 0 || p.Summary != nil {
				t.Fatalf("bit %d of byte %d changed, and the packet says %v", bit, i, p.Messages)
			}
			packet[i] ^= 1 << bit
		}
	}
	for cut := range packet {
		if r, _ := open(b, packet[:cut]); !r.Dropped() {
			t.Fatalf("cut to %d bytes, and the packet is %v", cut, r)
		}
	}
	if after := state(b); after != before {
		t.Fatalf("dropped packets changed the endpoint from\n%s to\n%s", before, after)
	}
	expect(t, b, packet, datagram.Accepted)
}

// Forged packets must not make a member store anything, whatever start they claim to come from.
func TestForgedStartsAreNotRemembered(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	before := state(b)
	packet := send(t, a, b, 1, &hot{})
	packet[len(packet)-1] ^= 1
	for i := range 1000 {
		packet[offNonce], packet[offNonce+1], packet[offFromInc] = byte(i), byte(i>>8), byte(i)
		expect(t, b, packet, datagram.Forged)
	}
	if state(b) != before {
		t.Errorf("forged packets changed the endpoint to %s", state(b))
	}
}

func TestStrangersAreDropped(t *testing.T) {
	b := endpoint(t, 1, 9)
	for name, c := range map[string]struct {
		packet []byte
		want   datagram.Reason
	}{
		"no packet":       {nil, datagram.Short},
		"half a packet":   {send(t, endpoint(t, 0, 5), b, 1)[:Overhead-1], datagram.Short},
		"a huge packet":   {make([]byte, maxDatagram+1), datagram.Short},
		"something else":  {append([]byte("Hello, is anybody there?"), make([]byte, 200)...), datagram.Foreign},
		"another key":     {send(t, endpoint(t, 0, 5, func(c *Config) { c.Pairs = pairsOf(t, 0, 3, ringOf(t, []byte("another key of the operator"))) }), b, 1), datagram.UnknownKey},
		"another council": {send(t, endpoint(t, 0, 5, func(c *Config) { c.ID[3]++ }), b, 1), datagram.OtherCouncil},
		"an old build":    {append([]byte("Rg"), send(t, endpoint(t, 0, 5), b, 1)[2:]...), datagram.Older},
		"a shared key":    {append([]byte("Rn"), send(t, endpoint(t, 0, 5), b, 1)[2:]...), datagram.Older},
		"the public key":  {send(t, endpoint(t, 0, 5, func(c *Config) { c.Pairs = pairsOf(t, 0, 3, PublicKeyring()) }), b, 1), datagram.UnknownKey},
		"a fourth rank":   {send(t, endpoint(t, 3, 5, func(c *Config) { c.Members = 4 }), b, 1), datagram.Stranger},
		"oneself":         {send(t, endpoint(t, 1, 9), endpoint(t, 0, 5), 1), datagram.Stranger},
		"for another":     {send(t, endpoint(t, 0, 5), endpoint(t, 2, 9), 1), datagram.Misdirected},
	} {
		t.Run(name, func(t *testing.T) {
			before := state(b)
			expect(t, b, c.packet, c.want)
			if state(b) != before {
				t.Errorf("it changed the endpoint")
			}
		})
	}
}

// Whoever knows the ring's key id but not the key cannot speak.
func TestKeyIDIsNoKey(t *testing.T) {
	a, b := endpoint(t, 0, 5, func(c *Config) { c.Pairs = pairsOf(t, 0, 3, ringOf(t, []byte("another key of the operator"))) }), endpoint(t, 1, 9)
	packet := send(t, a, b, 1, &hot{})
	id := b.derive.pairs.ring.IDs()[0]
	copy(packet[offKey:], id[:])
	copy(packet[offCouncil:], b.derive.tags[0][:])
	expect(t, b, packet, datagram.Forged)
}

// Nor does a packet of another council open that bears our council's tag.
func TestCouncilTagIsNoKey(t *testing.T) {
	a, b := endpoint(t, 0, 5, func(c *Config) { c.ID[15]++ }), endpoint(t, 1, 9)
	packet := send(t, a, b, 1, &hot{})
	copy(packet[offCouncil:], b.derive.tags[0][:])
	expect(t, b, packet, datagram.Forged)
}

// A packet that is sent to two members under one number must not be sealed with one key and nonce for both.
func TestReceiversDoNotShareNonces(t *testing.T) {
	a, b, c := endpoint(t, 0, 5), endpoint(t, 1, 9), endpoint(t, 2, 9)
	same := payloadOf(t, a, &note{Text: "the same words for both"})
	x, y := seal(t, a, stamped(a, b, 1), same), seal(t, a, stamped(a, c, 1), same)
	if bytes.Equal(x[headerSize:len(x)-tagSize], y[headerSize:len(y)-tagSize]) {
		t.Error("two receivers got the same words under the same key stream")
	}
	// Nor does a packet for one open at the other when its address is changed.
	y[offTo+1] = 1
	expect(t, b, y, datagram.MemberKey)
	copy(y[offReceiverKey:offFromInc], x[offReceiverKey:offFromInc])
	expect(t, b, y, datagram.Forged)
}

// NoNonceTwice: a member that starts again under the same incarnation, with a copy of its disk, must not use a key
// stream twice.
func TestRestartUsesAnotherKey(t *testing.T) {
	b := endpoint(t, 1, 9)
	sealed := make(map[string]bool)
	for range 8 {
		a := endpoint(t, 0, 5)
		x := send(t, a, b, 1, &note{Text: "the same words"})
		if body := string(x[headerSize:]); sealed[body] {
			t.Fatal("two starts sealed the same words to the same bytes: a nonce was used twice")
		} else {
			sealed[body] = true
		}
	}
}

func TestSealRefusesToUseANonceTwice(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	seal(t, a, stamped(a, b, 7), nil)
	again := func(why string) {
		t.Helper()
		for _, seq := range []uint64{0, 6, 7} {
			if _, err := a.Seal(nil, stamped(a, b, seq), 0, nil); err == nil {
				t.Errorf("%s: packet %d was sealed after 7", why, seq)
			}
		}
	}
	again("at once")
	if err := a.SetKeys(pairsOf(t, 0, 3, ringOf(t, []byte("another key of the operator"), testKey))); err != nil {
		t.Fatal(err)
	}
	again("with another key")
	a.SetIncarnation(6)
	again("in another incarnation")
	seal(t, a, stamped(a, b, 8), nil)
}

func TestSealRefusesWrongAddresses(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	for name, change := range map[string]func(*datagram.Header){
		"from another":             func(d *datagram.Header) { d.From.Rank = 2 },
		"from another incarnation": func(d *datagram.Header) { d.From.Inc = 4 },
		"from another start":       func(d *datagram.Header) { d.Start[0]++ },
		"from another council":     func(d *datagram.Header) { d.Council.Epoch++ },
		"to oneself":               func(d *datagram.Header) { d.To.Rank = 0 },
		"to nobody":                func(d *datagram.Header) { d.To.Rank = protocol.Nobody },
		"to a fourth":              func(d *datagram.Header) { d.To.Rank = 3 },
	} {
		d := stamped(a, b, 1)
		change(d)
		if _, err := a.Seal(nil, d, 0, nil); err == nil || !strings.HasPrefix(err.Error(), "wire: packet") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := a.Seal(nil, stamped(a, b, 1), 0, make([]byte, maxDatagram)); err == nil {
		t.Error("a payload that no datagram can carry was sealed")
	}
}

func TestReplayedPacketsAreDropped(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	var packets [][]byte
	for seq := range uint64(100) {
		packets = append(packets, send(t, a, b, seq+1, &hot{Seq: seq}))
	}
	for _, i := range []int{50, 3, 99, 0} {
		if p := expect(t, b, packets[i], datagram.Accepted); p.Messages[0].Message.(*hot).Seq != uint64(i) {
			t.Fatalf("packet %d says %+v", i, p.Messages[0])
		}
	}
	for _, i := range []int{50, 3, 99, 0} {
		if p := expect(t, b, packets[i], datagram.Replayed); len(p.Messages) != 0 {
			t.Fatalf("replayed packet says %v", p.Messages)
		}
	}
	far := send(t, a, b, 1_000_000)
	expect(t, b, far, datagram.Accepted)
	expect(t, b, packets[60], datagram.Replayed) // too old to tell
}

func TestConfigurationMismatchCarriesOnlyTheMismatch(t *testing.T) {
	mine, theirs := summaryOf("b"), NewSummary("a").Set("members", "a b c").Set("quorum", "3 of 3").Set("rho", "0.001")
	b := endpoint(t, 1, 9)
	a := endpoint(t, 0, 5, func(c *Config) { c.Council.Digest = theirs.Digest() })
	before := state(b)
	p := expect(t, b, send(t, a, b, 1, &hot{Seq: 1}), datagram.Mismatch)
	if len(p.Messages) != 0 {
		t.Errorf("messages of another configuration were taken: %v", p.Messages)
	}
	p = expect(t, b, introduce(t, a, b, 2, theirs), datagram.Mismatch)
	if state(b) != before {
		t.Error("a packet of another configuration changed the endpoint")
	}
	if p.Council != a.council || p.Summary == nil {
		t.Fatalf("council %v, summary %v", p.Council, p.Summary)
	}
	if diff := mine.Diff(p.Summary); len(diff) != 1 || diff[0] != (Difference{"quorum", "2 of 3", "3 of 3"}) {
		t.Errorf("differences %v", diff)
	}
}

// In a council of another size a member has another rank. Such a packet is not taken for a stranger's: it must be
// possible to say what differs.
func TestMismatchIsToldEvenFromOtherRanks(t *testing.T) {
	b := endpoint(t, 1, 9)
	a := endpoint(t, 3, 5, func(c *Config) { c.Members, c.Council.Digest = 4, Digest{1} })
	d := stamped(a, b, 1)
	d.To.Rank = 2
	introduction, err := a.Introduce(nil, d, 0, summaryOf("d"))
	if err != nil {
		t.Fatal(err)
	}
	if p := expect(t, b, introduction, datagram.Mismatch); p.From.Rank != 3 || p.Summary == nil || p.Summary.Member != "d" {
		t.Errorf("from %v: %+v", p.From, p.Summary)
	}
	packet := introduce(t, a, b, 1, summaryOf("d"))
	packet[offFrom] = 0xff
	expect(t, b, packet, datagram.Stranger)
}

func TestNewEndpointRefusesWhatCannotWork(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"0 members":         func(c *Config) { c.Members = 0 },
		"1001 members":      func(c *Config) { c.Members = 1001 },
		"rank 3":            func(c *Config) { c.Self.Rank = 3 },
		"mtu 100":           func(c *Config) { c.MTU = 100 },
		"mtu 70000":         func(c *Config) { c.MTU = 70000 },
		"no keys":           func(c *Config) { c.Pairs = nil },
		"versions 2 to 1":   func(c *Config) { c.Lowest, c.Highest = 2, 1 },
		"random bits of th": func(c *Config) { c.Random = strings.NewReader("too short") },
	} {
		c := Config{Config: judge(protocol.Ident{Rank: 0, Inc: 1}, 0, Digest{}), Pairs: pairsOf(t, 0, 3, ringOf(t, testKey))}
		change(&c)
		if _, err := NewEndpoint(0, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}

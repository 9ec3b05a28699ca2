package wire

import (
	"bytes"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
)

// met returns two members of which the second has heard the first.
func met(t testing.TB, change ...func(*Config)) (a, b *Endpoint) {
	a, b = endpoint(t, 0, 5, change...), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1, &hot{}), datagram.Accepted)
	return a, b
}

func letterTo(t testing.TB, e *Endpoint, to protocol.Rank) *obituary.Letter {
	t.Helper()
	l, err := e.Letter(to)
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

var blue = obituary.Report{First: "blue", Last: "blue"}

func TestObituaryTellsAPeerWhoIsDead(t *testing.T) {
	a, b := met(t)
	packet := obituary.Append(nil, letterTo(t, a, 1), 1, &blue)
	before := state(b)
	p := expect(t, b, bytes.Clone(packet), datagram.Obituary)
	if p.Died == nil || !p.Died.Covers("blue") || p.Died.Covers("red") || p.From != a.Self() {
		t.Errorf("%v is dead, and %+v is released", p.From, p.Died)
	}
	if state(b) != before {
		t.Error("it changed the endpoint")
	}
	expect(t, b, packet, datagram.Obituary)
	if n := b.Counts().Packets[datagram.Obituary]; n != 2 {
		t.Errorf("%d reports were counted, want 2", n)
	}
	if p := expect(t, b, send(t, a, b, 2, &hot{}), datagram.Accepted); p.Died != nil {
		t.Error("an ordinary packet reports a death")
	}
}

// A report counts only if it authenticates: nothing of it can be changed, and a letter of another voter does not do.
func TestObituaryCannotBeForged(t *testing.T) {
	a, b := met(t)
	packet := obituary.Append(nil, letterTo(t, a, 1), 1, &blue)
	for i := range packet {
		for bit := range 8 {
			changed := bytes.Clone(packet)
			changed[i] ^= 1 << bit
			if r, p := open(b, changed); !r.Dropped() || r.Authentic() || p.Died != nil {
				t.Fatalf("bit %d of byte %d changed, and the report is %v", bit, i, r)
			}
		}
	}
	other := letterTo(t, a, 2)
	other.Head = letterTo(t, a, 1).Head
	expect(t, b, obituary.Append(nil, other, 1, &blue), datagram.Forged)
	c := endpoint(t, 2, 4)
	expect(t, c, send(t, a, c, 1, &hot{}), datagram.Accepted)
	expect(t, c, bytes.Clone(packet), datagram.Misdirected)
	expect(t, b, packet, datagram.Obituary)
}

// Reports about other starts do not count, whether they authenticate or not.
func TestObituaryOfAnotherStartIsDropped(t *testing.T) {
	a, b := met(t)
	old := letterTo(t, endpoint(t, 0, 4), 1)
	expect(t, b, obituary.Append(nil, old, 99, &blue), datagram.Unheard)
	twin := letterTo(t, endpoint(t, 0, 5), 1)
	expect(t, b, obituary.Append(nil, twin, 99, &blue), datagram.Unheard)
	next := letterTo(t, endpoint(t, 0, 6), 1)
	expect(t, b, obituary.Append(nil, next, 99, &blue), datagram.Unheard)
	expect(t, b, obituary.Append(nil, letterTo(t, a, 1), 0, &blue), datagram.Rivals)
	council := letterTo(t, endpoint(t, 0, 5, func(c *Config) { c.ID[3]++ }), 1)
	expect(t, b, obituary.Append(nil, council, 99, &blue), datagram.OtherCouncil)
	if r := b.Judge(100, &datagram.Header{From: a.Self(), To: b.Self(), Start: a.start, Seq: 2, Council: a.council}); r.Dropped() {
		t.Errorf("after all these its packets are %v", r)
	}
}

func TestLetterNeedsAnIncarnationAndAPeer(t *testing.T) {
	if _, err := endpoint(t, 0, 0).Letter(1); err == nil {
		t.Error("a member without an incarnation has a letter")
	}
	for _, to := range []protocol.Rank{0, 3, protocol.Nobody} {
		if _, err := endpoint(t, 0, 5).Letter(to); err == nil {
			t.Errorf("there is a letter to %v", to)
		}
	}
}

// Under a flood the kernel lets in the report of each member that was heard, and a copy under another start only by chance.
func TestGateLetsObituariesIn(t *testing.T) {
	a, b := met(t)
	f := b.Gate(Chances{Known: 32, Unknown: 64}, transport.SmallestRoom)
	packet := obituary.Append(nil, letterTo(t, a, 1), 1, &blue)
	if n := f.OneIn(packet); n != 1 {
		t.Errorf("one in %d reports is let in, want all", n)
	}
	// A report that keeps groups, or has other parts, is followed by another one.
	for _, r := range []obituary.Report{{Kept: []protocol.Group{"g"}}, {Last: "m"}, {First: "n"}} {
		expect(t, b, obituary.Append(nil, letterTo(t, a, 1), 1, &r), datagram.Obituary)
		if n := b.Gate(Chances{Known: 32, Unknown: 64}, transport.SmallestRoom).OneIn(packet); n != 1 {
			t.Errorf("one in %d reports is let in after %+v has come, want all", n, r)
		}
	}
	expect(t, b, obituary.Append(nil, letterTo(t, a, 1), 1, &obituary.Report{}), datagram.Obituary)
	if n := b.Gate(Chances{Known: 32, Unknown: 64}, transport.SmallestRoom).OneIn(packet); n != 32 {
		t.Errorf("one in %d copies is let in after the report has come, want one in 32", n)
	}
	packet[offMark+3] ^= 1
	if n := f.OneIn(packet); n != 32 {
		t.Errorf("one in %d reports with another mark is let in, want one in 32", n)
	}
	packet[offNonce]++
	if n := f.OneIn(packet); n != 64 {
		t.Errorf("one in %d reports of another start is let in, want one in 64", n)
	}
}

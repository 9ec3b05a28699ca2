package wire

import (
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// A packet for another incarnation of the receiver says that its sender lives, and nothing else.
func TestPacketForAnotherIncarnationCarriesNoMessage(t *testing.T) {
	for _, known := range []protocol.Inc{0, 8, 10} {
		a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
		d := stamped(a, b, 1)
		d.To.Inc = known
		p := expect(t, b, seal(t, a, d, payloadOf(t, a, &hot{Seq: 1})), datagram.OtherIncarnation)
		if len(p.Messages) != 0 {
			t.Errorf("for incarnation %d, and %v reached 9", known, p.Messages)
		}
		if p.Sent != d.Sent {
			t.Errorf("stamp %v, want %v", p.Sent, d.Sent)
		}
	}
}

func TestPartsForAnotherIncarnationAreNotJoined(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	batch := a.NewBatch()
	if err := batch.Add(0, &note{Data: make([]byte, 3000)}); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); ; seq++ {
		payload, ok := batch.Next()
		if !ok {
			break
		}
		d := stamped(a, b, seq)
		d.To.Inc = 8
		expect(t, b, seal(t, a, d, payload), datagram.OtherIncarnation)
	}
	if b.pending != 0 {
		t.Errorf("%d bytes wait for more", b.pending)
	}
}

func TestEarlierIncarnationsAreStale(t *testing.T) {
	old, a, b := endpoint(t, 0, 4), endpoint(t, 0, 5), endpoint(t, 1, 9)
	expect(t, b, send(t, old, b, 1, &hot{}), datagram.Accepted)
	expect(t, b, send(t, a, b, 1, &hot{}), datagram.Accepted)
	before := remembered(b)
	p := expect(t, b, send(t, old, b, 2, &hot{}, &help{}), datagram.Stale)
	if p.Header != *stamped(old, b, 2) || len(p.Messages) != 0 {
		t.Errorf("header %+v with %d messages", p.Header, len(p.Messages))
	}
	if b.Heard(0) != 5 {
		t.Errorf("heard %d, want 5", b.Heard(0))
	}
	if remembered(b) != before {
		t.Error("a stale packet changed the endpoint")
	}
}

// A recorded packet of an earlier start cannot push out the present one and make its packets fresh again.
func TestReplaysStayReplaysWhateverComesBetween(t *testing.T) {
	b := endpoint(t, 1, 9)
	first, second := endpoint(t, 0, 4), endpoint(t, 0, 5)
	recovering := endpoint(t, 0, 0)
	x, y, z := send(t, first, b, 1, &hot{}), send(t, second, b, 1, &hot{}), send(t, recovering, b, 1, &help{})
	expect(t, b, x, datagram.Accepted)
	expect(t, b, y, datagram.Accepted)
	expect(t, b, x, datagram.Stale)
	expect(t, b, z, datagram.Accepted)
	expect(t, b, y, datagram.Replayed)
	expect(t, b, z, datagram.Replayed)
	twin := endpoint(t, 0, 5)
	expect(t, b, send(t, twin, b, 1, &hot{}), datagram.Twin)
	expect(t, b, y, datagram.Replayed)
}

// An incarnation belongs to one start. A second one under the same number, from a copied disk, is told apart by its
// random bits.
func TestSecondStartUnderOneIncarnationIsATwin(t *testing.T) {
	a, twin, b := endpoint(t, 0, 5), endpoint(t, 0, 5), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1, &hot{}), datagram.Accepted)
	before := remembered(b)
	p := expect(t, b, send(t, twin, b, 2, &hot{}, &help{Nonce: 4}, &note{Text: "x"}), datagram.Twin)
	if p.From != twin.Self() || p.Sent == 0 || len(p.Messages) != 0 {
		t.Errorf("from %v at %v with messages %v, want the header alone", p.From, p.Sent, p.Messages)
	}
	if remembered(b) != before {
		t.Error("a twin's packet changed the endpoint")
	}
	expect(t, b, send(t, a, b, 2, &hot{}), datagram.Accepted) // the first start stays as it was
}

func TestMemberWithoutIncarnationMayOnlyAskForHelp(t *testing.T) {
	a, b := endpoint(t, 0, 0), endpoint(t, 1, 9)
	p := expect(t, b, send(t, a, b, 1, &hot{}, &help{Nonce: 3}, &note{}), datagram.Accepted)
	if len(p.Messages) != 1 || *p.Messages[0].Message.(*help) != (help{Nonce: 3}) {
		t.Errorf("messages %v, want the one for help", p.Messages)
	}
	if b.Counts().Unknown != 2 {
		t.Errorf("%d messages skipped, want 2", b.Counts().Unknown)
	}
	// It is heard even if a start of it is known, and does not replace that.
	expect(t, b, send(t, endpoint(t, 0, 5), b, 1), datagram.Accepted)
	again := endpoint(t, 0, 0)
	expect(t, b, send(t, again, b, 1, &help{}), datagram.Replayed) // it does not echo what was sent since
	d := stamped(again, b, 2)
	d.Echo.Sent = 101
	if r := b.Open(102, seal(t, again, d, payloadOf(t, again, &help{})), p).Reason; r != datagram.Accepted {
		t.Fatalf("a start that echoes what was sent since is %v", r)
	}
	if b.Heard(0) != 5 {
		t.Errorf("heard %d, want 5", b.Heard(0))
	}
	// Then it learns its incarnation, and goes on.
	again.SetIncarnation(6)
	if p := expect(t, b, send(t, again, b, 3, &hot{Seq: 8}), datagram.Accepted); p.From.Inc != 6 || p.Messages[0].Message.(*hot).Seq != 8 {
		t.Errorf("from %v: %v", p.From, p.Messages)
	}
}

// Rotation needs no outage: at every step of it all members hear one another.
func TestKeysCanBeRotatedOneMemberAtATime(t *testing.T) {
	old, fresh := testKey, []byte("another key of the operator")
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	seq := uint64(0)
	talk := func(step string) {
		t.Helper()
		seq++
		for _, pair := range [][2]*Endpoint{{a, b}, {b, a}} {
			packet := send(t, pair[0], pair[1], seq, &hot{Seq: seq})
			if r, _ := open(pair[1], packet); r != datagram.Accepted {
				t.Fatalf("%s: packet of %v is %v", step, pair[0].Self(), r)
			}
			if r, _ := open(pair[1], packet); r != datagram.Replayed {
				t.Fatalf("%s: replayed packet of %v is %v", step, pair[0].Self(), r)
			}
		}
	}
	set := func(e *Endpoint, keys ...[]byte) {
		t.Helper()
		if err := e.SetKeys(pairsOf(t, e.Self().Rank, 3, ringOf(t, keys...))); err != nil {
			t.Fatal(err)
		}
	}
	talk("before")
	recorded := send(t, a, b, 100, &hot{})
	expect(t, b, recorded, datagram.Accepted)
	seq = 100
	set(a, old, fresh)
	talk("a accepts the new key")
	set(b, old, fresh)
	talk("b accepts the new key")
	set(a, fresh, old)
	talk("a sends with the new key")
	expect(t, b, recorded, datagram.Replayed)
	set(b, fresh, old)
	talk("b sends with the new key")
	set(a, fresh)
	talk("a forgets the old key")
	set(b, fresh)
	talk("b forgets the old key")
	expect(t, b, recorded, datagram.UnknownKey)
	if err := b.SetKeys(pairsOf(t, 2, 3, ringOf(t, fresh))); err == nil {
		t.Error("the keys of another member were put in force")
	}
}

func versions(lowest, highest uint8) func(*Config) {
	return func(c *Config) { c.Lowest, c.Highest = lowest, highest }
}

// Two members settle on the highest version that both read, whoever speaks first.
func TestMembersSettleOnTheHighestCommonVersion(t *testing.T) {
	for _, c := range []struct {
		a, b [2]uint8
		want uint8 // 0: none
	}{
		{[2]uint8{1, 1}, [2]uint8{1, 1}, 1},
		{[2]uint8{1, 3}, [2]uint8{1, 2}, 2},
		{[2]uint8{1, 3}, [2]uint8{2, 5}, 3},
		{[2]uint8{4, 6}, [2]uint8{1, 4}, 4},
		{[2]uint8{1, 2}, [2]uint8{3, 4}, 0},
	} {
		a, b := endpoint(t, 0, 5, versions(c.a[0], c.a[1])), endpoint(t, 1, 9, versions(c.b[0], c.b[1]))
		for seq := range uint64(2) { // packets cross, and may be dropped for their version
			x, y := send(t, a, b, seq+1, &hot{}), send(t, b, a, seq+1, &hot{})
			open(b, x)
			open(a, y)
		}
		x, y := send(t, a, b, 9, &hot{}), send(t, b, a, 9, &hot{})
		if c.want == 0 {
			expect(t, b, x, datagram.Version)
			if p := expect(t, a, y, datagram.Version); len(p.Messages) != 0 || p.Lowest != c.b[0] || p.Highest != c.b[1] {
				t.Errorf("versions %d to %d, messages %v", p.Lowest, p.Highest, p.Messages)
			}
			continue
		}
		expect(t, b, x, datagram.Accepted)
		expect(t, a, y, datagram.Accepted)
		if x[offVersion] != c.want || y[offVersion] != c.want {
			t.Errorf("%v and %v speak %d and %d, want %d", c.a, c.b, x[offVersion], y[offVersion], c.want)
		}
	}
}

// What a recorded packet of a member without an incarnation says of versions does not replace what a known start says.
func TestRecordedVersionsDoNotReplaceKnownOnes(t *testing.T) {
	b := endpoint(t, 1, 9, versions(1, 3))
	recorded := send(t, endpoint(t, 0, 0, versions(1, 1)), b, 1)
	expect(t, b, send(t, endpoint(t, 0, 5, versions(1, 3)), b, 1), datagram.Accepted)
	expect(t, b, recorded, datagram.Accepted)
	if packet := send(t, b, endpoint(t, 0, 5), 1); packet[offVersion] != 3 {
		t.Errorf("speaks version %d, want 3", packet[offVersion])
	}
}

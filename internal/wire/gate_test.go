package wire

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
	"github.com/regentproject/regent/internal/transport"
	"pgregory.net/rapid"
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
	gate := me.Gate(Chances{}, 0)
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

// roomy is more than any gate takes.
const roomy = 1 << 20

var strict = Chances{Known: 32, Unknown: 64}

// Packets of starts that were not heard have the smaller chance. A start is heard once a packet of it is authentic.
func TestGateKnowsTheStartsThatWereHeard(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	first, second := send(t, a, b, 1, &hot{Seq: 1}), send(t, a, b, 1000, &hot{Seq: 2})
	knows := func(what string, want bool) {
		t.Helper()
		gate := b.Gate(strict, roomy)
		if err := gate.Check(); err != nil {
			t.Fatal(err)
		}
		got := gate.OneIn(second) // it is far ahead
		if known := b.Knows(stamped(a, b, 1000)); known != want || want && got != strict.Known || !want && got != strict.Unknown {
			t.Errorf("%s: known: %v, one in %d", what, known, got)
		}
	}
	knows("before anything came", false)
	forged := bytes.Clone(first)
	forged[len(forged)-1]++
	expect(t, b, forged, datagram.Forged)
	knows("after a packet that was forged", false)
	expect(t, b, first, datagram.Accepted)
	knows("after the first one", true)
	other := endpoint(t, 0, 5)
	if gate := b.Gate(strict, roomy); b.Knows(stamped(other, b, 2)) || gate.OneIn(send(t, other, b, 2)) != strict.Unknown {
		t.Error("another start of the same member is known")
	}
	if n := b.Gate(strict, roomy).OneIn(NewFounding(pairsOf(t, 0, 3, ringOf(t, testKey))).Seal(1, &founding.Ask{})[0]); n != strict.Unknown {
		t.Errorf("one founding packet in %d is let in", n)
	}
	if n := b.Gate(Chances{Known: 1, Unknown: 64}, roomy).OneIn(second); n != 1 {
		t.Errorf("one packet of a start that was heard in %d is let in, though nobody copies it", n)
	}
}

// All packets that come next are let in. What was recorded, forged or is far ahead has a chance.
func TestGateLetsInThePacketsThatComeNext(t *testing.T) {
	for _, base := range []uint64{0, 5, 1<<32 - 20, 1 << 40} {
		a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
		first := send(t, a, b, base+1, &hot{})
		expect(t, b, first, datagram.Accepted)
		gate := b.Gate(strict, roomy)
		var next []byte
		for n := base + 2; n <= base+1+mostAhead; n++ {
			next = send(t, a, b, n, &hot{})
			if got := gate.OneIn(next); got != 1 {
				t.Fatalf("after %d: of packet %d one in %d is let in", base+1, n, got)
			}
		}
		copied := bytes.Clone(first)
		copy(copied[offSeq:], next[offSeq:offMark]) // the number of another packet, and the mark of this one
		for name, packet := range map[string][]byte{"a recorded one": first, "one with a copied mark": copied, "one far ahead": send(t, a, b, base+2+mostAhead, &hot{})} {
			if got := gate.OneIn(packet); got != strict.Known {
				t.Errorf("after %d: of %s one in %d is let in", base+1, name, got)
			}
		}
		expect(t, b, next, datagram.Accepted)
		if got := b.Gate(strict, roomy).OneIn(next); got != strict.Known {
			t.Errorf("after %d: a mark that was used lets one in %d in", base+1, got)
		}
	}
}

// A gate knows the marks under the keys that a peer uses, of its start under incarnation 0 as well.
func TestGateFollowsKeysAndNamelessStarts(t *testing.T) {
	twice := pairsOf(t, 1, 3, ringOf(t, testKey), twoKeys)
	b := endpoint(t, 1, 9)
	nameless := endpoint(t, 0, 0)
	reason, _ := open(b, send(t, nameless, b, 1, &help{}))
	if reason != datagram.Accepted {
		t.Fatalf("a packet under incarnation 0 is %v", reason)
	}
	if got := b.Gate(strict, roomy).OneIn(send(t, nameless, b, 2, &help{})); got != 1 {
		t.Errorf("of the next packet under incarnation 0 one in %d is let in", got)
	}
	a := endpoint(t, 0, 5)
	expect(t, b, send(t, a, b, 1), datagram.Accepted)
	if err := b.SetKeys(twice); err != nil {
		t.Fatal(err)
	}
	// The peer does not know of it yet.
	if got := b.Gate(strict, roomy).OneIn(send(t, a, b, 2)); got != 1 {
		t.Errorf("after a change of keys one in %d is let in", got)
	}
	expect(t, b, send(t, a, b, 3), datagram.Accepted)
	if got := b.Gate(strict, roomy).OneIn(send(t, a, b, 4)); got != 1 {
		t.Errorf("under the new keys one in %d is let in", got)
	}
}

// A gate lets in the next packet of a peer whatever keys that takes for it: they follow from what the peer has heard and reloaded, in any order.
func TestGateFollowsAnyReload(t *testing.T) {
	second := []byte("another key of the same council.")
	reloads := []func() (Keyring, []func(*PairsConfig)){
		func() (Keyring, []func(*PairsConfig)) { return ringOf(t, testKey), nil },
		func() (Keyring, []func(*PairsConfig)) { return ringOf(t, testKey, second), nil },
		func() (Keyring, []func(*PairsConfig)) { return ringOf(t, second, testKey), nil },
		func() (Keyring, []func(*PairsConfig)) { return ringOf(t, testKey), []func(*PairsConfig){twoKeys} },
		func() (Keyring, []func(*PairsConfig)) {
			return ringOf(t, second, testKey), []func(*PairsConfig){twoKeys}
		},
	}
	rapid.Check(t, func(r *rapid.T) {
		ends := []*Endpoint{endpoint(t, 0, 5), endpoint(t, 1, 9)}
		last := []*Endpoint{endpoint(t, 0, 4), endpoint(t, 1, 8)} // earlier incarnations, of which packets were recorded
		seq := uint64(0)
		say := func(from int) {
			seq++
			a, b := ends[from], ends[1-from]
			// It is of a start that was heard, so one gate follows it, unless the peer does not have the keys.
			for _, seal := range []func() ([]byte, error){
				func() ([]byte, error) { return a.Seal(nil, stamped(a, b, seq), 0, payloadOf(t, a)) },
				func() ([]byte, error) { return a.SealReply(nil, stamped(a, b, seq), 0, payloadOf(t, a)) },
			} {
				packet, err := seal()
				if err != nil {
					r.Fatal(err)
				}
				oneIn := b.Gate(strict, roomy).OneIn(packet)
				reason, _ := open(b, packet)
				if reason == datagram.Accepted && oneIn != 1 {
					r.Fatalf("packet %d of %d has a chance of one in %d", seq, from, oneIn)
				}
				if !a.Replies(protocol.Rank(1 - from)) {
					break
				}
				seq++
			}
			a.Replied(protocol.Rank(1 - from))
		}
		for from, a := range ends {
			seq++
			expect(t, ends[1-from], send(t, a, ends[1-from], seq), datagram.Accepted)
		}
		r.Repeat(map[string]func(*rapid.T){
			"say": func(*rapid.T) { say(rapid.IntRange(0, 1).Draw(r, "from")) },
			"replay": func(*rapid.T) {
				from := rapid.IntRange(0, 1).Draw(r, "from")
				seq++
				open(ends[1-from], send(t, last[from], ends[1-from], seq))
			},
			"reload": func(*rapid.T) {
				self := protocol.Rank(rapid.IntRange(0, 1).Draw(r, "member"))
				ring, change := reloads[rapid.IntRange(0, len(reloads)-1).Draw(r, "keys")]()
				if err := ends[self].SetKeys(pairsOf(t, self, 3, ring, change...)); err != nil {
					r.Fatal(err)
				}
			},
		})
	})
}

// A recorded packet of an earlier incarnation makes a member send a copy of its next packet under other keys. The gate of the other member goes on to follow the ordinary ones.
func TestGateFollowsOrdinaryPacketsAfterACopy(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	recorded := send(t, endpoint(t, 1, 8), a, 7)
	for _, e := range []*Endpoint{a, b} {
		if err := e.SetKeys(pairsOf(t, e.Self().Rank, 3, ringOf(t, testKey), twoKeys)); err != nil {
			t.Fatal(err)
		}
	}
	seq := uint64(0)
	for range 3 { // both learn that the other one has the newest keys
		seq++
		expect(t, a, send(t, b, a, seq), datagram.Accepted)
		expect(t, b, send(t, a, b, seq), datagram.Accepted)
	}
	if r, _ := open(a, recorded); r != datagram.Stale || !a.Replies(1) {
		t.Fatalf("the recorded packet is %v, and a copy is owed: %v", r, a.Replies(1))
	}
	seq++
	reply, err := a.SealReply(nil, stamped(a, b, seq), 0, payloadOf(t, a))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, b, reply, datagram.Accepted)
	if got := b.Gate(strict, roomy).OneIn(send(t, a, b, seq+1)); got != 1 {
		t.Errorf("after a copy one ordinary packet in %d is let in", got)
	}
}

// A process that was heard under incarnation 0 and then under its own counts as one start: the marks of all have the more room.
func TestGateListsAStartOnce(t *testing.T) {
	a, b := endpoint(t, 0, 0), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1, &help{}), datagram.Accepted)
	a.SetIncarnation(5)
	expect(t, b, send(t, a, b, 2), datagram.Accepted)
	gate := b.Gate(strict, roomy)
	if starts, marks := len(gate.Odds[1].Any), len(gate.Odds[0].Any); starts != 1 || marks != mostAhead+1 {
		t.Errorf("the gate lists %d starts and %d marks", starts, marks)
	}
}

// A gate says when it must be made again: before half of the marks that it knows are used, and when another start was heard.
func TestGateIsOvertaken(t *testing.T) {
	overtakes := func(what string, a, b *Endpoint, seq uint64, want bool) {
		t.Helper()
		if got := b.Overtakes(stamped(a, b, seq)); got != want {
			t.Errorf("%s: packet %d overtakes the gate: %v", what, seq, got)
		}
	}
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	b.Gate(strict, roomy)
	expect(t, b, send(t, a, b, 3), datagram.Accepted)
	overtakes("of a start that was not heard when the gate was made", a, b, 3, true)
	b.Gate(strict, roomy)
	overtakes("with half of the marks left", a, b, 3+mostAhead/2, false)
	overtakes("with fewer", a, b, 4+mostAhead/2, true)
	expect(t, b, send(t, a, b, 3+mostAhead/2), datagram.Accepted)
	b.Gate(strict, roomy)
	overtakes("after the gate was made again", a, b, 4+mostAhead/2, false)
	b.Gate(Chances{}, 0)
	overtakes("if all are let in", a, b, 1<<40, false)
	b.Gate(Chances{Known: 1, Unknown: 64}, roomy)
	overtakes("if all of its start are", a, b, 1<<40, false)
}

// The gate of any council fits the room that there is: it lists fewer marks, then none, and then not even the starts. It drops no member by chance then.
func TestGateOfALargeCouncilIsCoarser(t *testing.T) {
	for _, c := range []struct {
		members, room      int
		marks, starts      bool
		heard, next, other uint32
	}{
		{3, transport.SmallestRoom, true, true, strict.Known, 1, strict.Unknown},
		{31, transport.SmallestRoom, true, true, strict.Known, 1, strict.Unknown},
		{300, transport.SmallestRoom, false, true, 1, 1, strict.Unknown},
		{1000, transport.SmallestRoom, false, false, 1, 1, 1},
		{100, 65_000, true, true, strict.Known, 1, strict.Unknown},
		{300, 65_000, false, true, 1, 1, strict.Unknown},
		{1000, 65_000, false, true, 1, 1, strict.Unknown},
		{1000, 0, false, false, 1, 1, 1},
	} {
		// Only the members that speak have keys.
		sparse := func(self protocol.Rank, with ...protocol.Rank) func(*Config) {
			return func(cfg *Config) {
				cfg.Members = c.members
				p := PairsConfig{Ring: ringOf(t, testKey), Self: self, Private: []identity.Private{private(self, 0)}, Members: make([]Identity, c.members)}
				for r := range p.Members {
					p.Members[r].Name = nameOf(protocol.Rank(r))
					if slices.Contains(with, protocol.Rank(r)) {
						p.Members[r].Keys = []identity.Public{private(protocol.Rank(r), 0).Public()}
					}
				}
				var err error
				cfg.Pairs, err = NewPairs(p)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		var speakers []protocol.Rank
		for r := 1; r < c.members; r += 1 + c.members/10 {
			speakers = append(speakers, protocol.Rank(r))
		}
		b := endpoint(t, 0, 9, sparse(0, speakers...))
		for r := 1; r < c.members; r++ {
			b.peers[r].current.start = datagram.Start{byte(r), byte(r >> 8), 0xff}
		}
		ends := make([]*Endpoint, len(speakers))
		for i, r := range speakers {
			ends[i] = endpoint(t, r, 5, sparse(r, 0))
			expect(t, b, send(t, ends[i], b, 1), datagram.Accepted)
		}
		gate := b.Gate(strict, c.room)
		if err := gate.Check(); err != nil {
			t.Fatal(err)
		}
		if gate.Charge() > c.room && len(gate.Odds) > 0 {
			t.Errorf("%d members: the gate takes %d bytes of %d", c.members, gate.Charge(), c.room)
		}
		if odds := len(gate.Odds); (odds == 2) != c.marks || (odds > 0) != c.starts {
			t.Errorf("%d members: %d odds", c.members, odds)
		}
		for i, a := range ends {
			next := send(t, a, b, 2)
			if got := gate.OneIn(next); got != c.next {
				t.Errorf("%d members: of the next packet of member %d one in %d is let in", c.members, speakers[i], got)
			}
			if got := gate.OneIn(send(t, a, b, 5000)); got != c.heard {
				t.Errorf("%d members: of one far ahead one in %d is let in", c.members, got)
			}
			next[offNonce]++
			next[offMark]++
			if got := gate.OneIn(next); got != c.other {
				t.Errorf("%d members: of another start one in %d is let in", c.members, got)
			}
		}
	}
}

// The gate of a council in which all were heard lists no more values than a filter may, however much room there is.
func TestGateListsNoMoreThanAFilterTakes(t *testing.T) {
	const members = 12
	council := func(c *Config) { c.Members = members }
	b := endpoint(t, 0, 9, council)
	for r := protocol.Rank(1); r < members; r++ {
		expect(t, b, send(t, endpoint(t, r, 5, council), b, 1), datagram.Accepted)
	}
	gate := b.Gate(strict, roomy)
	if err := gate.Check(); err != nil || len(gate.Odds) != 2 {
		t.Errorf("%d odds, %v", len(gate.Odds), err)
	}
}

// honest is a member that speaks to another through a filter that is refreshed now and then, and through a network that loses packets.
type honest struct {
	*rapid.T
	test     *testing.T
	from, to *Endpoint
	gate     *transport.Filter
	seq      uint64
	// room is what the kernel has for a filter, and ahead how many marks the filter knows.
	room  int
	ahead uint64
	// refreshed is the highest number that the filter knew of.
	refreshed uint64
	random    *rand.Rand
}

// send sends a packet; it returns whether it was heard. The network may lose it.
func (h *honest) send(lost bool) bool {
	h.seq++
	packet := send(h.test, h.from, h.to, h.seq)
	if lost {
		return false
	}
	oneIn := h.gate.OneIn(packet)
	if h.seq <= h.refreshed+h.ahead && oneIn != 1 {
		h.Fatalf("packet %d has a chance of one in %d, after a filter of %d", h.seq, oneIn, h.refreshed)
	}
	if oneIn == 0 || h.random.Uint32N(oneIn) > 0 {
		return false
	}
	expect(h.test, h.to, packet, datagram.Accepted)
	return true
}

func (h *honest) refresh() {
	h.gate = h.to.Gate(strict, h.room)
	h.ahead = uint64(len(h.gate.Odds[0].Any) - 1) // one is that of obituaries
	_, h.refreshed = h.to.Highest(0, false)
}

// leastRoom is that of the smallest filter with marks for one start.
func leastRoom(t *testing.T) (room int) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	expect(t, b, send(t, a, b, 1), datagram.Accepted)
	for len(b.Gate(strict, room).Odds) < 2 {
		room++
	}
	return room
}

// No honest member starves behind the filter, whatever is lost and however late the filter is refreshed: all that it sends is let in as long as the filter is fewer packets
// behind than it knows marks of, and otherwise it is heard within some packets, and the filter follows.
func TestHonestPacketsPassTheGate(t *testing.T) {
	least := leastRoom(t)
	rapid.Check(t, func(r *rapid.T) {
		h := &honest{T: r, room: rapid.SampledFrom([]int{least, least + 100, least + 1000, roomy}).Draw(r, "room"), test: t, from: endpoint(t, 0, 5), to: endpoint(t, 1, 9), random: rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))}
		h.gate = h.to.Gate(strict, h.room)
		h.seq = mostAhead // the first packet that is heard may have any number
		for !h.send(false) {
			if h.seq > mostAhead+uint64(strict.Unknown)*30 {
				r.Fatal("a member that starts is not heard")
			}
		}
		h.refresh()
		r.Repeat(map[string]func(*rapid.T){
			"speak": func(*rapid.T) {
				for range rapid.IntRange(1, 40).Draw(r, "packets") {
					h.send(rapid.IntRange(0, 9).Draw(r, "lost") == 0)
				}
			},
			"burst":   func(*rapid.T) { h.seq += rapid.Uint64Range(1, 3*mostAhead).Draw(r, "lost in a row") },
			"refresh": func(*rapid.T) { h.refresh() },
			"heard again": func(*rapid.T) {
				begin := h.seq
				for !h.send(false) {
					if h.seq-begin > uint64(strict.Known)*30 {
						r.Fatalf("nothing is heard of %d packets", h.seq-begin)
					}
				}
				h.refresh()
				for range mostAhead {
					if !h.send(false) {
						r.Fatalf("packet %d is dropped after the filter has followed to %d", h.seq, h.refreshed)
					}
					if h.to.Overtakes(stamped(h.from, h.to, h.seq)) {
						h.refresh()
					}
				}
			},
		})
	})
}

// A packet with a wrong mark is not opened, even if it is authentic otherwise: the mark saves its receiver the work.
func TestWrongMarksAreForged(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	for n := uint64(0); n < 40; n += 2 {
		d := stamped(a, b, n+1)
		aead := a.derive.aead(1, a.laneTo(1), d)
		wrong := marks{known: true, block: (n + 1) / inBlock}
		before := state(b)
		expect(t, b, a.seal(aead, &wrong, nil, a.keysOf(1, a.laneTo(1)), d, 0, nil), datagram.Forged)
		if state(b) != before {
			t.Fatal("a packet with a wrong mark leaves a trace")
		}
		expect(t, b, send(t, a, b, n+2), datagram.Accepted)
	}
}

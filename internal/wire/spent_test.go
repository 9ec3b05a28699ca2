package wire

import (
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"pgregory.net/rapid"
)

// During a flood of recorded packets the kernel drops those that were seen before. It drops neither the one that was lost nor the next one,
// nor those of another start.
func TestGateDropsRecordedPackets(t *testing.T) {
	for _, base := range []uint64{0, 1<<32 - 100, 1<<32 - 1, 1 << 40} {
		a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
		const last, lost = 200, 150
		var packets [][]byte
		for i := range last {
			packet := send(t, a, b, base+uint64(i)+1, &hot{})
			packets = append(packets, packet)
			if i != lost {
				expect(t, b, packet, datagram.Accepted)
			}
		}
		if gate := b.Gate(1); len(gate.Except) > 0 || !gate.Passes(packets[0]) {
			t.Fatal("the filter is about recorded packets before any came")
		}
		expect(t, b, packets[0], datagram.Replayed)
		gate := b.Gate(1)
		if err := gate.Check(); err != nil {
			t.Fatal(err)
		}
		for i, packet := range packets {
			// Numbers with another upper half are for Open.
			if want := i == lost || (base+uint64(i)+1)>>32 != (base+last)>>32; gate.Passes(packet) != want {
				t.Errorf("after %d: packet %d passes: %v, want %v", base, i, !want, want)
			}
		}
		expect(t, b, packets[lost], datagram.Accepted)
		for name, packet := range map[string][]byte{"the next one": send(t, a, b, base+last+1, &hot{}), "another start": send(t, endpoint(t, 0, 6), b, 1, &hot{}), "a twin": send(t, endpoint(t, 0, 5), b, base+last, &hot{}),
			"an introduction": introduce(t, endpoint(t, 0, 5, func(c *Config) { c.Start = a.start }), b, base+last, summaryOf("a"))} {
			if !gate.Passes(packet) {
				t.Errorf("after %d: the filter drops %s", base, name)
			}
		}
	}
}

// A filter has room for few members. Those of which most packets are replayed have it.
func TestGateIsAboutTheMembersThatAreReplayed(t *testing.T) {
	const members = maxSpent + 3
	large := func(c *Config) { c.Members = members }
	b := endpoint(t, 0, 9, large)
	for r := range protocol.Rank(members - 1) {
		packet := send(t, endpoint(t, r+1, 5, large), b, 1, &hot{})
		expect(t, b, packet, datagram.Accepted)
		for range r {
			expect(t, b, packet, datagram.Replayed)
		}
		if gate := b.Gate(1); gate.Check() != nil || gate.Passes(packet) != (r == 0) || len(gate.Except) != min(int(r), maxSpent) {
			t.Errorf("member %d: passes: %v, %v", r+1, gate.Passes(packet), gate.Check())
		}
	}
}

// Members that nobody replays any more leave the room to others, and to the starts that are replayed: a start of a member that is not has no row.
func TestGateForgetsReplaysThatEnded(t *testing.T) {
	const members = 2*maxSpent + 1
	large := func(c *Config) { c.Members = members }
	b := endpoint(t, 0, 9, large)
	var packets [][]byte
	for r := range protocol.Rank(2 * maxSpent) {
		packet := send(t, endpoint(t, r+1, 5, large), b, 1, &hot{})
		expect(t, b, packet, datagram.Accepted)
		packets = append(packets, packet)
	}
	replay := func(of [][]byte, times int) {
		for _, packet := range of {
			for range times {
				expect(t, b, packet, datagram.Replayed)
			}
		}
	}
	replay(packets[:maxSpent], 100)
	for range 7 {
		b.FadeReplays()
	}
	if gate := b.Gate(1); len(gate.Except) != 0 {
		t.Errorf("%d members that nobody replays any more have room", len(gate.Except))
	}
	replay(packets[:maxSpent], 100)
	for range 6 {
		b.FadeReplays()
	}
	replay(packets[maxSpent:], 2)
	for _, packet := range packets[maxSpent:] {
		if b.Gate(1).Passes(packet) {
			t.Error("a member that is replayed has no room")
		}
	}
	// A member that restarts: its packets were replayed, those of its next start were not.
	next := send(t, endpoint(t, maxSpent+1, 6, large), b, 1, &hot{})
	expect(t, b, next, datagram.Accepted)
	if gate := b.Gate(1); !gate.Passes(next) || len(gate.Except) != maxSpent {
		t.Errorf("the start after the one that was replayed has room, of %d", len(gate.Except))
	}
}

// The kernel has room for a filter and the one that it replaces. Where a council is so large that its starts take that room, recorded packets of fewer
// members are dropped.
func TestGateOfALargeCouncilHasFewerExceptions(t *testing.T) {
	const members = 200
	large := func(c *Config) { c.Members = members }
	b := endpoint(t, 0, 9, large)
	for r := range protocol.Rank(maxSpent) {
		packet := send(t, endpoint(t, r+1, 5, large), b, 1, &hot{})
		expect(t, b, packet, datagram.Accepted)
		expect(t, b, packet, datagram.Replayed)
	}
	for r := maxSpent + 1; r < members; r++ {
		b.peers[r].current.start = datagram.Start{byte(r), 1}
	}
	few, all := b.Gate(64), b.Gate(1)
	if len(all.Except) != maxSpent || len(few.Except) >= maxSpent || 2*few.Charge() > 20<<10 {
		t.Errorf("%d exceptions, %d beside the starts, which take %d bytes", len(all.Except), len(few.Except), few.Charge())
	}
}

// gateWorld is a receiver, and a member that speaks to it in several lives. All packets were recorded.
type gateWorld struct {
	*rapid.T
	test     *testing.T
	to       *Endpoint
	from     *Endpoint
	inc      protocol.Inc
	seq      uint64
	recorded [][]byte
}

func (w *gateWorld) restart() {
	w.inc++
	inc := w.inc
	if rapid.IntRange(0, 2).Draw(w.T, "nameless") == 0 {
		inc = 0
	}
	w.from = endpoint(w.test, 0, inc)
	w.seq = rapid.SampledFrom([]uint64{0, 60, 1<<32 - 10, 1 << 33}).Draw(w.T, "base")
}

// send records a packet. It may be lost.
func (w *gateWorld) send() {
	w.seq += rapid.SampledFrom([]uint64{1, 1, 1, 1, 2, 70, 3000}).Draw(w.T, "gap")
	packet := send(w.test, w.from, w.to, w.seq, &help{})
	w.recorded = append(w.recorded, packet)
	if rapid.IntRange(0, 3).Draw(w.T, "lost") > 0 {
		open(w.to, packet)
	}
}

// The filter drops nothing that the judge would take: whatever was lost, comes late or again, also after members restart, learn their
// incarnations and change keys. A filter that is older than the last packets drops nothing but what is refused, either.
func TestGateDropsOnlyWhatIsRefused(t *testing.T) {
	twice := pairsOf(t, 1, 3, ringOf(t, testKey), twoKeys)
	rapid.Check(t, func(r *rapid.T) {
		w := &gateWorld{T: r, test: t, to: endpoint(t, 1, 9), inc: 4}
		w.restart()
		gate, fresh := w.to.Gate(1), false
		r.Repeat(map[string]func(*rapid.T){
			"restart": func(*rapid.T) { w.restart(); fresh = false },
			"named": func(*rapid.T) {
				if w.from.Self().Inc == 0 {
					w.from.SetIncarnation(w.inc)
				}
			},
			"keys": func(*rapid.T) {
				if err := w.to.SetKeys(twice); err != nil {
					r.Fatal(err)
				}
				fresh = false
			},
			"send": func(*rapid.T) {
				for range rapid.IntRange(1, 20).Draw(r, "packets") {
					w.send()
				}
				fresh = false
			},
			"gate": func(*rapid.T) { gate, fresh = w.to.Gate(1), true },
			"again": func(*rapid.T) {
				if len(w.recorded) == 0 {
					return
				}
				for range 10 {
					packet := rapid.SampledFrom(w.recorded).Draw(r, "packet")
					passes := gate.Passes(packet)
					reason, _ := open(w.to, packet)
					if !passes && (!reason.Dropped() || fresh && reason != datagram.Replayed) {
						r.Fatalf("the filter (fresh: %v) drops a packet that is %v", fresh, reason)
					}
					fresh = fresh && reason == datagram.Replayed
				}
			},
		})
	})
}

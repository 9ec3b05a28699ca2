package runtime

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

// floodSpy is a thread and a socket that note what is asked of them.
type floodSpy struct {
	used   time.Duration
	fifo   bool
	filter *transport.Filter
	slept  time.Duration
	// most is how many odds the kernel has room for; negative: for no filter. asked counts the filters that it was given.
	most, asked int
}

func (s *floodSpy) cpu() time.Duration        { return s.used }
func (s *floodSpy) realtime() bool            { return s.fifo }
func (s *floodSpy) setRealtime(on bool) error { s.fifo = on; return nil }
func (s *floodSpy) sleep(d time.Duration)     { s.slept += d }

func (s *floodSpy) SetFilter(f *transport.Filter) error {
	s.asked++
	if f != nil && len(f.Odds) > s.most {
		return errors.New("no room")
	}
	s.filter = f
	return nil
}

// spyRoom is the room that the spy says there is.
const spyRoom = 12345

func (s *floodSpy) Room() int { return spyRoom }

func TestFloodIsDroppedByTheKernelAndBoundedInTime(t *testing.T) {
	s := &floodSpy{fifo: true}
	f := &floodGuard{gate: func(c wire.Chances, _ int) *transport.Filter { return &transport.Filter{Sample: c.Unknown} }, socket: s, thread: s}
	now := protocol.Time(1)
	window := func(junk int, used time.Duration) {
		t.Helper()
		f.junk += junk
		s.used += used
		now = now.Add(floodWindow)
		if _, err := f.tick(now); err != nil {
			t.Fatal(err)
		}
	}
	window(1, 0) // the first window begins
	window(maxJunk-1, floodWindow)
	if s.filter != nil || !s.fifo {
		t.Fatal("a member with another key was taken for a flood")
	}
	window(maxJunk, floodWindow/10)
	if s.filter == nil || !s.fifo {
		t.Fatal("a flood is not dropped by the kernel")
	}
	window(maxJunk, floodWindow/10) // some of it looks right, and is cheap
	if !s.fifo {
		t.Fatal("the thread gave its scheduling up within its budget")
	}
	window(maxJunk, receiveBudget+1)
	if s.fifo {
		t.Fatal("the thread is above its budget and keeps real-time scheduling")
	}
	for range 2 * yieldFor / floodWindow {
		window(maxJunk, receiveBudget+1)
		if s.fifo {
			t.Fatal("the thread took real-time scheduling back while the flood goes on")
		}
	}
	for range 1 + yieldFor/floodWindow {
		window(1, 0)
	}
	if !s.fifo {
		t.Error("the thread did not take real-time scheduling back after the flood")
	}
	for range filterFor / floodWindow {
		window(1, 0)
	}
	if s.filter != nil || f.filtered != 0 {
		t.Error("the filter stays after the flood")
	}
	f.junk = 0
	if !f.idle() {
		t.Error("the guard does not rest")
	}
}

// What passes the kernel's filter because it copies a header is let in by chance only, if its start was not heard. The filter follows
// the keys and the starts that are known.
func TestCopiedHeadersHaveABudget(t *testing.T) {
	s := &floodSpy{}
	var starts []uint32
	f := &floodGuard{socket: s, thread: s, gate: func(c wire.Chances, room int) *transport.Filter {
		return &transport.Filter{Sample: c.Unknown, Longest: room, Odds: []transport.Odds{{Field: transport.Field{Any: starts}, OneIn: c.Known}}}
	}}
	s.most = 1
	now := protocol.Time(1)
	window := func(unknown, known int) {
		t.Helper()
		for range unknown {
			f.count(false)
		}
		for range known {
			f.count(true)
		}
		now = now.Add(floodWindow)
		if _, err := f.tick(now); err != nil {
			t.Fatal(err)
		}
	}
	window(1, 0)
	window(3*maxUnknown, 0)
	if s.filter == nil || s.filter.Sample != 1 {
		t.Fatalf("the first filter is %+v", s.filter)
	}
	window(maxUnknown-1, maxKnown-1)
	if s.filter.Sample != 1 || s.filter.Odds[0].OneIn != 1 || s.filter.Longest != spyRoom {
		t.Fatalf("within the budget the filter is %+v", s.filter)
	}
	window(3*maxUnknown, 0)
	if s.filter.Sample != 4 {
		t.Fatalf("one in %d is let in of four times the budget", s.filter.Sample)
	}
	starts = append(starts, 7)
	window(maxUnknown/2, 0)
	if len(s.filter.Odds[0].Any) != 1 || s.filter.Sample != 4 || s.filter.Odds[0].OneIn != 1 {
		t.Fatalf("a member that has restarted is not known: %+v", s.filter)
	}
	for range 5 {
		window(9*maxUnknown, 0)
	}
	if s.filter.Sample != maxUnknownOdds || s.filter.Odds[0].OneIn != 1 {
		t.Errorf("one in %d is let in, and at least one in %d; of known starts one in %d", s.filter.Sample, maxUnknownOdds, s.filter.Odds[0].OneIn)
	}
	window(0, 3*maxKnown)
	if s.filter.Odds[0].OneIn != 4 {
		t.Errorf("of known starts one in %d is let in of four times the budget", s.filter.Odds[0].OneIn)
	}
	for range 5 {
		window(0, 9*maxKnown)
	}
	if s.filter.Odds[0].OneIn != maxKnownOdds {
		t.Errorf("of known starts one in %d is let in, and at least one in %d", s.filter.Odds[0].OneIn, maxKnownOdds)
	}
	for range 5 {
		window(9*maxUnknown, 9*maxKnown)
	}
	window(maxUnknown/2/maxUnknownOdds, maxKnown/2/maxKnownOdds)
	if s.filter.Sample != maxUnknownOdds/2 || s.filter.Odds[0].OneIn != maxKnownOdds/2 {
		t.Errorf("after the flood one in %d is let in, and of known starts one in %d", s.filter.Sample, s.filter.Odds[0].OneIn)
	}
	window(2*maxUnknown/maxUnknownOdds, 2*maxKnown/maxKnownOdds)
	if s.filter.Sample != maxUnknownOdds/2 || s.filter.Odds[0].OneIn != maxKnownOdds/2 {
		t.Errorf("the flood goes on and one in %d is let in, and of known starts one in %d", s.filter.Sample, s.filter.Odds[0].OneIn)
	}
	for range 6 {
		window(1, 1)
	}
	if s.filter.Sample != 1 || s.filter.Odds[0].OneIn != 1 {
		t.Errorf("long after the flood one in %d is let in, and of known starts one in %d", s.filter.Sample, s.filter.Odds[0].OneIn)
	}
	for range 2 * filterFor / floodWindow {
		window(1, 0)
	}
	if s.filter != nil {
		t.Error("the filter stays after the flood")
	}
}

// A flood is dropped as soon as it is seen: the guard does not wait for the end of a window, in which the flood would take all of the thread.
func TestFloodEndsTheWindow(t *testing.T) {
	s := &floodSpy{fifo: true, most: 1}
	f := &floodGuard{socket: s, thread: s, gate: func(c wire.Chances, _ int) *transport.Filter {
		return &transport.Filter{Sample: c.Unknown, Odds: []transport.Odds{{OneIn: c.Known}}}
	}}
	now := protocol.Time(1)
	if _, err := f.tick(now); err != nil {
		t.Fatal(err)
	}
	for range 8 * (maxKnown + maxUnknown) {
		f.count(true)
		now = now.Add(3 * time.Microsecond)
		s.used += 3 * time.Microsecond
		if _, err := f.tick(now); err != nil {
			t.Fatal(err)
		}
	}
	if s.filter == nil || s.filter.Odds[0].OneIn != maxKnownOdds {
		t.Errorf("after %v the filter is %+v", time.Duration(now), s.filter)
	}
	if !s.fifo {
		t.Error("the thread gave its real-time scheduling up before it has used its budget of a whole window")
	}
}

// A filter for which the kernel has no room is replaced by one that looks at fixed places only, or by none; as soon as there is room it is in force.
func TestFilterWithoutRoomIsReplaced(t *testing.T) {
	s := &floodSpy{most: 1}
	odds := 1
	f := &floodGuard{socket: s, thread: s, chances: wire.Chances{Known: 2, Unknown: 2}, gate: func(c wire.Chances, room int) *transport.Filter {
		if room == 0 {
			return &transport.Filter{Longest: 9}
		}
		return &transport.Filter{Longest: 9, Sample: c.Unknown, Odds: make([]transport.Odds, odds)}
	}}
	learn := func(what string, fails, filtered bool, want int) {
		t.Helper()
		if err := f.learn(1); (err != nil) != fails {
			t.Errorf("%s: %v", what, err)
		}
		if (s.filter != nil) != filtered || filtered && (len(s.filter.Odds) != want || s.filter.Longest != 9) {
			t.Errorf("%s: the filter is %+v", what, s.filter)
		}
	}
	learn("with room", false, true, 1)
	odds = 2
	learn("with room for one of two", true, true, 0)
	s.asked = 0
	learn("again", true, true, 0)
	if s.asked != 1 {
		t.Errorf("the kernel is given the filter that it has: %d", s.asked)
	}
	s.most, f.applied = -1, nil
	learn("without room", true, false, 0)
	s.most, odds = 1, 1
	learn("with room again", false, true, 1)
}

// Packets that were recorded open, and do not count: they are part of a flood as well.
func TestRecordedPacketsAreAFlood(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
	d.ports[1].Flush()
	const copies = 9
	f, junk, unknown := &d.ports[0].flood, 0, 0
	d.pass(func(from int, p *transport.Packet) bool {
		if from != 1 {
			return true
		}
		junk, unknown = f.junk, f.unknown
		for range copies {
			again := transport.Packet{Data: bytes.Clone(p.Data), Addr: p.Addr}
			d.ports[0].take(&again, func(protocol.Time, Channel, *protocol.Receive) {})
		}
		junk, unknown = f.junk-junk, f.unknown-unknown
		return true
	})
	if junk != copies-1 || unknown != 0 {
		t.Errorf("of %d copies %d are junk, and %d of unknown starts", copies, junk, unknown)
	}
}

// During a flood of packets that copy a start the kernel lets in the packets that come next, and of recorded ones only some. It follows what was heard since.
func TestRecordedPacketsAreDroppedByTheKernel(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	s := &floodSpy{most: 2}
	p := d.ports[0]
	p.flood.thread, p.flood.socket = s, s
	p.flood.gate = func(c wire.Chances, _ int) *transport.Filter { return p.Wire.Gate(c, transport.SmallestRoom) }
	ignore := func(protocol.Time, Channel, *protocol.Receive) {}
	// next returns the next packet of b, which a takes, and then takes again and again.
	next := func(copies int) (packet []byte) {
		d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
		d.ports[1].Flush()
		d.pass(func(from int, in *transport.Packet) bool {
			if from == 1 {
				packet = bytes.Clone(in.Data)
			}
			return true
		})
		for range copies {
			p.take(&transport.Packet{Data: bytes.Clone(packet)}, ignore)
			p.guard(true) // after the first one a window begins
		}
		d.now = d.now.Add(floodWindow)
		p.guard(true)
		return packet
	}
	next(1)
	if next(1); s.filter != nil {
		t.Fatal("a packet that came twice is a flood")
	}
	recorded := next(10 * maxKnown)
	if s.filter == nil || s.filter.OneIn(recorded) < 2 {
		t.Fatalf("the kernel lets recorded packets in: %+v", s.filter)
	}
	before := s.filter
	for range 3 {
		good := next(0)
		if before.OneIn(good) != 1 {
			t.Fatal("the kernel drops a packet that was not heard yet")
		}
		if s.filter.OneIn(good) < 2 {
			t.Error("the filter does not follow what was heard")
		}
	}
	// Within a window, too, if the sender repeats each packet at once.
	d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
	d.ports[1].Flush()
	d.now = d.now.Add(learnEvery)
	d.pass(func(from int, in *transport.Packet) bool { recorded = bytes.Clone(in.Data); return true })
	for i := range maxPassed {
		if s.filter.OneIn(recorded) != 1 {
			t.Fatalf("the filter follows after %d copies", i)
		}
		p.take(&transport.Packet{Data: bytes.Clone(recorded)}, ignore)
		p.guard(true)
	}
	if s.filter.OneIn(recorded) < 2 {
		t.Errorf("the filter does not follow within %v and %d copies", learnEvery, maxPassed)
	}
}

// A peer that sends many packets between two windows is not dropped, however few of its marks the kernel has room for, as long as it sends no more than these at once.
func TestFilterIsNotOvertaken(t *testing.T) {
	for _, ahead := range []int{16, 17, 32, 256} {
		d := newDesk(t, summary("a", "x"), summary("b", "x"))
		d.greet()
		s := &floodSpy{most: 2}
		p := d.ports[0]
		p.flood.thread, p.flood.socket = s, s
		strict := wire.Chances{Known: maxKnownOdds, Unknown: maxUnknownOdds}
		room := 0
		for len(p.Wire.Gate(strict, room).Odds) < 2 || len(p.Wire.Gate(strict, room).Odds[0].Any)-1 < ahead { // one is that of obituaries
			room += 8
		}
		p.flood.gate = func(c wire.Chances, _ int) *transport.Filter { return p.Wire.Gate(c, room) }
		p.flood.filtered, p.flood.chances = d.now.Add(filterFor), strict
		p.flood.begin(d.now)
		if err := p.flood.learn(d.now); err != nil {
			t.Fatal(err)
		}
		// All of a burst reach the kernel before the thread takes any.
		for _, burst := range []int{1, ahead / 2, 1, ahead / 2, ahead / 2, 1, ahead, 3, ahead / 2} {
			var packets []*transport.Packet
			for range burst {
				d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
				d.ports[1].Flush()
			}
			d.pass(func(from int, in *transport.Packet) bool {
				if oneIn := s.filter.OneIn(in.Data); from == 1 && oneIn != 1 {
					t.Fatalf("%d marks, a burst of %d: one in %d is let in", ahead, burst, oneIn)
				}
				packets = append(packets, &transport.Packet{Data: bytes.Clone(in.Data)})
				return false
			})
			for _, in := range packets {
				p.take(in, func(protocol.Time, Channel, *protocol.Receive) {})
			}
			d.now = d.now.Add(time.Microsecond)
			p.guard(true)
		}
	}
}

// During a flood packets gather before the thread takes them; otherwise nothing is delayed.
func TestPacketsGatherDuringAFloodOnly(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	s := &floodSpy{}
	p := d.ports[0]
	p.flood.thread, p.flood.nap = s, time.Millisecond
	receive := func(junk int) time.Duration {
		for range junk {
			p.flood.count(false)
		}
		d.now = d.now.Add(floodWindow)
		s.slept = 0
		p.Receive(func(protocol.Time, Channel, *protocol.Receive) {})
		return s.slept
	}
	receive(1)
	receive(2 * maxJunk)
	if slept := receive(2 * maxJunk); slept != time.Millisecond {
		t.Errorf("during a flood it slept for %v", slept)
	}
	receive(1)
	if slept := receive(1); slept != 0 {
		t.Errorf("after a flood it slept for %v", slept)
	}
}

// A packet longer than any that members send is not opened, whatever its header says.
func TestPacketsLongerThanOurOwnAreNotOpened(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
	d.ports[1].Flush()
	want := d.ports[0].Counts()
	want.Packets[datagram.Short]++
	d.pass(func(_ int, p *transport.Packet) bool {
		p.Data = append(p.Data, make([]byte, wire.DefaultMTU)...)
		return true
	})
	if got := d.ports[0].Counts(); got != want {
		t.Errorf("opened: %v, want %v", got, want)
	}
}

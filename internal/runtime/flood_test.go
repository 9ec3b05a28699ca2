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
	// most is how many exceptions the kernel has room for; negative: for no filter. asked counts the filters that it was given.
	most, asked int
}

func (s *floodSpy) cpu() time.Duration        { return s.used }
func (s *floodSpy) realtime() bool            { return s.fifo }
func (s *floodSpy) setRealtime(on bool) error { s.fifo = on; return nil }
func (s *floodSpy) sleep(d time.Duration)     { s.slept += d }

func (s *floodSpy) SetFilter(f *transport.Filter) error {
	s.asked++
	if f != nil && len(f.Except) > s.most {
		return errors.New("no room")
	}
	s.filter = f
	return nil
}

func TestFloodIsDroppedByTheKernelAndBoundedInTime(t *testing.T) {
	s := &floodSpy{fifo: true}
	f := &floodGuard{fade: func() {}, gate: func(sample uint32) *transport.Filter { return &transport.Filter{Sample: sample} }, socket: s, thread: s}
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
	f := &floodGuard{fade: func() {}, socket: s, thread: s, gate: func(sample uint32) *transport.Filter {
		return &transport.Filter{Sample: sample, Known: &transport.Field{Any: starts}}
	}}
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
	window(maxUnknown-1, 9*maxUnknown)
	if s.filter.Sample != 1 {
		t.Fatalf("one in %d is let in, within the budget", s.filter.Sample)
	}
	window(3*maxUnknown, 0)
	if s.filter.Sample != 4 {
		t.Fatalf("one in %d is let in of four times the budget", s.filter.Sample)
	}
	starts = append(starts, 7)
	window(1, 0)
	if len(s.filter.Known.Any) != 1 || s.filter.Sample != 4 {
		t.Fatalf("a member that has restarted is not known: %+v", s.filter)
	}
	for range 5 {
		window(9*maxUnknown, 0)
	}
	if s.filter.Sample != maxSample {
		t.Errorf("one in %d is let in, and at most %d", s.filter.Sample, maxSample)
	}
	for range 2 * filterFor / floodWindow {
		window(1, 0)
	}
	if s.filter != nil {
		t.Error("the filter stays after the flood")
	}
}

// A filter for which the kernel has no room is replaced by one without exceptions, or by none; as soon as there is room it is in force.
func TestFilterWithoutRoomIsReplaced(t *testing.T) {
	s := &floodSpy{most: 1}
	rows := 1
	f := &floodGuard{fade: func() {}, socket: s, thread: s, sample: 1, gate: func(sample uint32) *transport.Filter {
		return &transport.Filter{Sample: sample, Except: make([][]transport.Field, rows)}
	}}
	faded := 0
	f.fade = func() { faded++ }
	learn := func(what string, fails, filtered bool, exceptions int) {
		t.Helper()
		if err := f.learn(1); (err != nil) != fails {
			t.Errorf("%s: %v", what, err)
		}
		if (s.filter != nil) != filtered || filtered && len(s.filter.Except) != exceptions {
			t.Errorf("%s: the filter is %+v", what, s.filter)
		}
	}
	learn("with room", false, true, 1)
	rows = 2
	learn("with room for one exception of two", true, true, 0)
	s.asked = 0
	learn("again", true, true, 0)
	if s.asked != 1 {
		t.Errorf("the kernel is given the filter that it has: %d", s.asked)
	}
	s.most, rows, f.sample = -1, 0, 2
	learn("without room", true, false, 0)
	s.most, rows = 1, 1
	learn("with room again", false, true, 1)
	if faded != 5 {
		t.Errorf("packets that were replayed faded %d times for 5 filters", faded)
	}
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

// The kernel drops recorded packets during a flood, follows what was heard since, and lets in what comes next.
func TestRecordedPacketsAreDroppedByTheKernel(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	s := &floodSpy{most: 1}
	p := d.ports[0]
	p.flood.thread, p.flood.socket = s, s
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
	recorded := next(2 * maxJunk)
	if s.filter == nil || s.filter.Passes(recorded) {
		t.Fatalf("the kernel lets recorded packets in: %+v", s.filter)
	}
	before := s.filter
	for range 3 {
		good := next(0)
		if !before.Passes(good) {
			t.Fatal("the kernel drops a packet that was not heard yet")
		}
		if s.filter.Passes(good) {
			t.Error("the filter does not follow what was heard")
		}
	}
	// Within a window, too, if the sender repeats each packet at once.
	d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
	d.ports[1].Flush()
	d.now = d.now.Add(learnEvery)
	d.pass(func(from int, in *transport.Packet) bool { recorded = bytes.Clone(in.Data); return true })
	for i := range maxReplayed {
		if !s.filter.Passes(recorded) {
			t.Fatalf("the filter follows after %d copies", i)
		}
		p.take(&transport.Packet{Data: bytes.Clone(recorded)}, ignore)
		p.guard(true)
	}
	if s.filter.Passes(recorded) {
		t.Errorf("the filter does not follow within %v and %d copies", learnEvery, maxReplayed)
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

package runtime

import (
	"testing"
	"time"

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
}

func (s *floodSpy) cpu() time.Duration                  { return s.used }
func (s *floodSpy) realtime() bool                      { return s.fifo }
func (s *floodSpy) setRealtime(on bool) error           { s.fifo = on; return nil }
func (s *floodSpy) SetFilter(f *transport.Filter) error { s.filter = f; return nil }

func TestFloodIsDroppedByTheKernelAndBoundedInTime(t *testing.T) {
	s := &floodSpy{fifo: true}
	f := &floodGuard{filter: &transport.Filter{Longest: 1}, socket: s, thread: s}
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

// A packet longer than any that members send is not opened, whatever its header says.
func TestPacketsLongerThanOurOwnAreNotOpened(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	d.ports[1].Send(d.now, 0, 0, &rank.OK{Seq: 1})
	d.ports[1].Flush()
	before := d.ports[0].Counts()
	d.pass(func(_ int, p *transport.Packet) bool {
		p.Data = append(p.Data, make([]byte, wire.DefaultMTU)...)
		return true
	})
	after := d.ports[0].Counts()
	if before != after || d.ports[0].traffic.TooLong.Load() == 0 {
		t.Errorf("opened: %v, after %v; %d were too long", after, before, d.ports[0].traffic.TooLong.Load())
	}
}

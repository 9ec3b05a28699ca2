package runtime

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
)

const (
	// floodWindow is how long packets are counted before the next decision.
	floodWindow = 100 * time.Millisecond
	// maxJunk is how many packets of one window may fail to authenticate before the kernel is asked to drop them. A member with
	// another key or configuration sends far fewer, and is named in the status by what it sends.
	maxJunk = 500
	// filterFor is how long the kernel's filter stays. Then the member looks again: it costs one window.
	filterFor = 10 * time.Second
	// receiveBudget is how much of a window a real-time thread may use under a flood. Above that it becomes an ordinary thread, for
	// yieldFor: a thread that no other one interrupts must not take a processor of the host away for long.
	receiveBudget = floodWindow / 2
	yieldFor      = time.Second
)

// A scheduled is what a port may ask of the thread that it runs on. Tests have their own.
type scheduled interface {
	// cpu returns the processor time that it has used.
	cpu() time.Duration
	// realtime returns whether it has real-time scheduling, and setRealtime changes that.
	realtime() bool
	setRealtime(on bool) error
}

// A floodGuard is the guard of a port against packets that strangers send in great numbers. They are dropped before they change anything; the guard
// bounds what that costs.
type floodGuard struct {
	filter *transport.Filter
	socket transport.Filterer // nil: the system has no filters
	thread scheduled
	// since is when the window began, junk how many packets did not authenticate in it, and used the thread's time at its begin.
	since protocol.Time
	junk  int
	used  time.Duration
	// filtered is until when the kernel drops, yielded until when the thread gives its real-time scheduling up; zero: not now.
	filtered, yielded protocol.Time
}

// idle returns whether there is nothing to decide.
func (f *floodGuard) idle() bool { return f.junk == 0 && f.filtered == 0 && f.yielded == 0 }

// tick decides at the end of a window. It returns what to log; empty if nothing changed.
func (f *floodGuard) tick(now protocol.Time) (text string, err error) {
	took := now.Sub(f.since)
	if f.since == 0 || took < floodWindow {
		if f.since == 0 {
			f.begin(now)
		}
		return "", nil
	}
	// A window that began long ago, before anything came, shows no rate.
	flooded := f.junk >= maxJunk && time.Duration(f.junk)*floodWindow >= maxJunk*took
	used := f.thread.cpu() - f.used
	defer f.begin(now)
	switch {
	case flooded && f.filtered == 0 && f.socket != nil:
		f.filtered = now.Add(filterFor)
		return "a flood of packets that do not authenticate: the kernel drops what cannot be for this member", f.socket.SetFilter(f.filter)
	case f.filtered != 0 && now >= f.filtered:
		f.filtered = 0
		return "", f.socket.SetFilter(nil)
	case flooded && used*floodWindow > receiveBudget*took && (f.yielded != 0 || f.thread.realtime()):
		again := f.yielded != 0
		f.yielded = now.Add(yieldFor)
		if again {
			return "", nil
		}
		return "a flood takes more of the thread than its budget: it gives its real-time scheduling up for a while", f.thread.setRealtime(false)
	case f.yielded != 0 && now >= f.yielded:
		f.yielded = 0
		return "", f.thread.setRealtime(true)
	}
	return "", nil
}

// begin begins a window.
func (f *floodGuard) begin(now protocol.Time) { f.since, f.junk, f.used = now, 0, f.thread.cpu() }

// guard looks after each batch whether there is a flood.
func (p *NetPort) guard() {
	f := &p.flood
	if f.idle() {
		f.since = 0
		return
	}
	text, err := f.tick(p.Clock())
	if text != "" && p.diagnostics.firstTime("flood"+text) {
		p.Log.Warn(text)
	}
	if err != nil {
		p.diagnostics.network(err)
	}
}

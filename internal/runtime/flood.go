package runtime

import (
	"errors"
	"reflect"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

const (
	// floodWindow is how long packets are counted before the next decision.
	floodWindow = 100 * time.Millisecond
	// maxJunk is how many packets of one window may come that do not count before the kernel is asked to drop them. A member with
	// another key or configuration sends far fewer, and is named in the status by what it sends.
	maxJunk = 500
	// maxUnknown is how many of them may claim a start that this member has not heard. Above that the kernel lets only some of those
	// in, by chance. Each may cost a derivation, some microseconds.
	maxUnknown = 1000
	// maxUnknownOdds bounds the chance from below: a member that restarts must be heard within seconds.
	maxUnknownOdds = 64
	// maxKnown is how many packets that do not count may claim a start that was heard, and maxKnownOdds bounds their chance: a peer of which many packets in a row were
	// lost must be heard within seconds. Each costs the comparison of a mark, and a decryption if it was recorded.
	maxKnown     = 500
	maxKnownOdds = 32
	// maxPassed is how many packets of such a start that do not count may pass the filter before it learns which marks come next, and learnEvery how often
	// it learns that at most for their sake. A sender that repeats each packet as it comes costs no more than that.
	maxPassed  = 200
	learnEvery = 5 * time.Millisecond
	// maxTrickle is how many packets of a window may pass the filter that do not count before packets gather. Each wakes the thread up.
	maxTrickle = 50
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
	// sleep puts it aside.
	sleep(time.Duration)
}

// A floodGuard is the guard of a port against packets that strangers send in great numbers. They are dropped before they change anything; the guard
// bounds what that costs.
type floodGuard struct {
	// gate returns the filter for the keys, the starts and the numbers that are known now.
	gate func(c wire.Chances, room int) *transport.Filter
	// longest is the length of the longest packet that members send.
	longest int
	socket  transport.Filterer // nil: the system has no filters
	thread  scheduled
	// nap is how long the thread lets packets gather during a flood, after each batch that was not full: a wake-up costs more than most
	// packets do.
	nap time.Duration
	// since is when the window began, junk how many packets in it did not count, and unknown how many of those were of starts that were
	// not heard.
	since         protocol.Time
	junk, unknown int
	// budgeted is when the thread's time was looked at last, and used what it was.
	budgeted protocol.Time
	used     time.Duration
	// filtered is until when the kernel drops, yielded until when the thread gives its real-time scheduling up; zero: not now.
	filtered, yielded protocol.Time
	// chances are those of the filter in force, which is applied. learnt is when that was compared with what is known, and passed how many packets that do not count have passed
	// it since that claim a start that was heard.
	chances wire.Chances
	applied *transport.Filter
	learnt  protocol.Time
	passed  int
	// overtaken says that a peer has used half of the marks that the filter knows of it, or has started since.
	overtaken bool
	// flooded says that packets came too fast in the last window, in spite of the filter.
	flooded bool
}

// idle returns whether there is nothing to decide.
func (f *floodGuard) idle() bool { return f.junk == 0 && f.filtered == 0 && f.yielded == 0 }

// tick decides at the end of a window, which too many packets end early: the sooner the kernel drops them the less they cost. It returns what to log, if anything.
func (f *floodGuard) tick(now protocol.Time) (texts []string, err error) {
	if f.since == 0 {
		f.begin(now)
		f.budget(now)
		return nil, nil
	}
	took := now.Sub(f.since)
	if took < floodWindow && f.junk < maxKnown+maxUnknown {
		// Members alone overtake the filter. It follows them at once: it may know as few as 16 marks of each.
		if f.filtered != 0 && (f.overtaken || f.passed >= maxPassed && now.Sub(f.learnt) >= learnEvery) {
			err = f.learn(now)
		}
		return nil, err
	}
	f.flooded = exceeds(f.junk, maxJunk, took) || f.filtered != 0 && exceeds(f.junk, maxTrickle, took)
	text, err := f.filter(now, took)
	if text != "" {
		texts = append(texts, text)
	}
	f.begin(now)
	if spent := now.Sub(f.budgeted); spent >= floodWindow {
		text, fault := f.yield(now, spent)
		if text != "" {
			texts = append(texts, text)
		}
		f.budget(now)
		err = errors.Join(err, fault)
	}
	return texts, err
}

// exceeds returns whether n packets in a window of any length are at least the rate of most in one of the usual length. A window that
// began long ago, before anything came, shows no rate.
func exceeds(n, most int, took time.Duration) bool {
	return n >= most && time.Duration(n)*floodWindow >= time.Duration(most)*took
}

// eased returns the odds after a window in which the kernel let n packets in by them: half as many if their senders send less than half of most. A peer that depends on chance is heard the sooner after a flood.
func eased(odds uint32, n, most int, took time.Duration) uint32 {
	if 2*time.Duration(n)*time.Duration(odds)*floodWindow < time.Duration(most)*took {
		return max(1, odds/2)
	}
	return odds
}

// filter decides what the kernel drops.
func (f *floodGuard) filter(now protocol.Time, took time.Duration) (text string, err error) {
	switch {
	case f.socket == nil:
		return "", nil
	case f.filtered == 0:
		if !f.flooded {
			return "", nil
		}
		f.filtered, f.chances = now.Add(filterFor), wire.Chances{Known: 1, Unknown: 1}
		text = "a flood of packets that do not authenticate: the kernel drops what cannot be for this member"
	case now >= f.filtered:
		f.filtered, f.applied = 0, nil
		return "", f.socket.SetFilter(nil)
	case f.chances.Unknown < maxUnknownOdds && exceeds(f.unknown, maxUnknown, took):
		f.chances.Unknown = min(maxUnknownOdds, f.chances.Unknown*uint32(1+f.unknown/maxUnknown))
		text = "a flood of packets that copy the header of a member: the kernel lets in only some of those from starts that were not heard"
	case f.chances.Known < maxKnownOdds && exceeds(f.junk-f.unknown, maxKnown, took):
		f.chances.Known = min(maxKnownOdds, f.chances.Known*uint32(1+(f.junk-f.unknown)/maxKnown))
		text = "a flood of packets that copy the start of a member: the kernel lets in only some of those that are not the next ones"
	default:
		f.chances = wire.Chances{Known: eased(f.chances.Known, f.junk-f.unknown, maxKnown, took), Unknown: eased(f.chances.Unknown, f.unknown, maxUnknown, took)}
	}
	return text, f.learn(now)
}

// learn has the filter follow what is known: keys, starts, and the numbers that come next. If the kernel has no room for the filter, it gets one that looks at fixed places only. Without
// room for that either none stays in force: an old one would drop members that have restarted since.
func (f *floodGuard) learn(now protocol.Time) error {
	f.learnt, f.passed, f.overtaken = now, 0, false
	err := f.apply(f.gate(f.chances, f.socket.Room()))
	if err == nil {
		return nil
	}
	fault := f.apply(f.gate(wire.Chances{}, 0))
	if fault == nil {
		return err
	}
	f.applied = nil
	return errors.Join(err, fault, f.socket.SetFilter(nil))
}

// apply puts a filter in force, unless it is.
func (f *floodGuard) apply(want *transport.Filter) error {
	if reflect.DeepEqual(want, f.applied) {
		return nil
	}
	err := f.socket.SetFilter(want)
	if err == nil {
		f.applied = want
	}
	return err
}

// yield decides whether the thread has real-time scheduling.
func (f *floodGuard) yield(now protocol.Time, took time.Duration) (text string, err error) {
	used := f.thread.cpu() - f.used
	switch {
	case f.flooded && used*floodWindow > receiveBudget*took && (f.yielded != 0 || f.thread.realtime()):
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

// count takes note of a packet that does not count. A known one is of a start that was heard.
func (f *floodGuard) count(known bool) {
	f.junk++
	if known {
		f.passed++
	} else {
		f.unknown++
	}
}

// begin begins a window, and budget one of the thread's time.
func (f *floodGuard) begin(now protocol.Time)  { f.since, f.junk, f.unknown = now, 0, 0 }
func (f *floodGuard) budget(now protocol.Time) { f.budgeted, f.used = now, f.thread.cpu() }

// guard looks after each batch whether there is a flood. A batch may have been full.
func (p *NetPort) guard(full bool) {
	f := &p.flood
	if f.idle() {
		f.since, f.flooded = 0, false
		return
	}
	texts, err := f.tick(p.Clock())
	for _, text := range texts {
		if p.diagnostics.firstTime("flood" + text) {
			p.Log.Warn(text)
		}
	}
	if err != nil {
		p.diagnostics.network(err)
	}
	if f.flooded && !full {
		f.thread.sleep(f.nap)
	}
}

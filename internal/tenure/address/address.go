// Package address decides, as a pure machine, when the process that holds an address for a leader adds it to an interface, refreshes it and
// deletes it.
//
// One [Machine] stands for one address during one leadership. Its driver reads the clock, calls the kernel and waits; it decides nothing:
//
//   - It asks [Machine.Next] what to do, does that, and reports [Machine.SetDone] or [Machine.DeleteDone], until Next returns [Wait]. Then it
//     waits until [Machine.Wake], until the deadline moves ([Machine.Extend]), or until it is asked to stop ([Machine.Stop]).
//   - It reads the clock immediately before and after each call that sets the address.
//
// # What the machine promises
//
//   - The kernel never gets a lifetime that may last beyond the deadline that the machine knew before the call: [Lifetime] rounds down and takes
//     [Slack] off. So the kernel removes the address in time even if no process of this leadership runs any more.
//   - A call that took so long that the lifetime may last beyond the deadline is followed by a deletion at once.
//   - At the deadline, and when it is asked to stop, the machine deletes the address, and sets it no more. It ends after a deletion that worked.
//   - Two calls that set the address begin at least [Every] apart.
//
// # What it cannot promise
//
// A call sets what the kernel has removed meanwhile. A process that stops running after it read the clock and before the kernel acts sets
// the address late, however much later that is. The lifetime of such an address is short, and the process deletes it as soon as it runs again.
package address

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// ShortestLease is the shortest lease under which an address can be held: the kernel counts whole seconds, and [Slack] is one of them.
const ShortestLease = 5 * time.Second

const (
	// Slack is by how much a lifetime ends before the deadline at least. The kernel removes an address up to [Lag] late.
	Slack = time.Second
	Lag   = 300 * time.Millisecond
	// Every is how far apart calls that set the address begin at least.
	Every = time.Second
	// gain is by how much a refresh must move the end of the lifetime: less is not worth a call.
	gain = Every / 2
	// retry is how long to wait after a call that failed.
	retry = 100 * time.Millisecond
	// announcements is how often the holder tells its neighbours of an address that it has added, [Every] apart.
	announcements = 3
	// ProbeEvery is how far apart probes for another holder of the address are.
	ProbeEvery = 5 * time.Second
)

// Lifetime returns how long the kernel may keep an address that it gets now: whole seconds, [Slack] before the deadline at least; zero: too
// little is left.
func Lifetime(now, until protocol.Time) time.Duration {
	if until <= now {
		return 0
	}
	return max(0, until.Sub(now).Truncate(time.Second)-Slack)
}

// A Move is what the driver does next.
type Move uint8

// The moves.
const (
	Wait     Move = iota // until Wake
	Set                  // add the address, or refresh its lifetime, and report SetDone
	Announce             // tell neighbours who has the address
	Probe                // look in the background whether another host answers for it
	Delete               // delete the address, and report DeleteDone
	Over                 // nothing more: the address is deleted
)

// state is what is known of the address.
type state uint8

const (
	absent   state = iota
	present        // it was set, and the kernel keeps it until end
	doubtful       // it must be deleted: a call was late or failed
)

// A Machine holds one address during one leadership. Make one with [New].
type Machine struct {
	state state
	// until is the deadline of the leadership.
	// Invariant: it never moves back.
	until protocol.Time
	// began is when the last call that set the address began, and end when the lifetime ends that it gave, counted from before it.
	began, end protocol.Time
	lifetime   time.Duration
	stopped    bool
	// again is when a deletion that failed is tried again.
	again protocol.Time
	// announce is when to tell neighbours next, and left how often; probe is when to look for another holder.
	announce, probe protocol.Time
	left            int
}

// never was before every instant.
const never = protocol.Time(-1 << 63)

// New returns a machine that knows of no deadline.
func New() *Machine {
	return &Machine{until: never, began: never, end: never, again: never, announce: protocol.Never, probe: protocol.Never}
}

// Extend takes a deadline. An earlier one than before changes nothing.
func (m *Machine) Extend(until protocol.Time) { m.until = max(m.until, until) }

// Stop ends the leadership: the address is deleted.
func (m *Machine) Stop() { m.stopped = true }

// Heal has neighbours told again: some may have been cut off when they were told.
func (m *Machine) Heal(now protocol.Time) {
	if m.state == present {
		m.left, m.announce = announcements, now
	}
}

// Held says that the address is on the interface, as far as the machine knows.
func (m *Machine) Held() bool { return m.state == present }

// Next returns what to do at now; of Set, with which lifetime.
func (m *Machine) Next(now protocol.Time) (Move, time.Duration) {
	lifetime := Lifetime(now, m.until)
	switch {
	case m.mustDelete(now) && now < m.again:
		return Wait, 0
	case m.mustDelete(now):
		return Delete, 0
	case m.stopped:
		return Over, 0
	case lifetime > 0 && now >= m.due():
		return Set, lifetime
	case m.state == present && now >= m.announce:
		m.left--
		m.announce = protocol.Never
		if m.left > 0 {
			m.announce = now.Add(Every)
		}
		return Announce, 0
	case m.state == present && now >= m.probe:
		m.probe = now.Add(ProbeEvery)
		return Probe, 0
	}
	return Wait, 0
}

// mustDelete says that the address may be on the interface and must not.
func (m *Machine) mustDelete(now protocol.Time) bool {
	return m.state == doubtful || m.state == present && (m.stopped || now >= m.until)
}

// due returns when the next call that sets the address may begin; Never if there is nothing to set it for.
func (m *Machine) due() protocol.Time {
	if m.began == never {
		return never
	}
	next := m.began.Add(Every)
	if m.state == present && next.Add(Lifetime(next, m.until)) < m.end.Add(gain) {
		return protocol.Never
	}
	return next
}

// SetDone takes note of a call that set the address with a lifetime, between two readings of the clock. ok is false if it failed: then nobody knows
// whether the address is there. news says that neighbours may have forgotten the address: it was not there before the call, or its interface was down.
func (m *Machine) SetDone(before, after protocol.Time, lifetime time.Duration, ok, news bool) {
	added := news || m.state != present || before >= m.end // the kernel may have removed it since
	m.began, m.end, m.lifetime = before, before.Add(lifetime), lifetime
	if !ok || m.late(after) {
		m.state = doubtful
		return
	}
	m.state = present
	if added {
		m.left, m.announce, m.probe = announcements, after, after.Add(Every)
	}
}

// late says that the kernel may keep the address beyond the deadline: it counts the lifetime from any instant until after.
func (m *Machine) late(after protocol.Time) bool {
	return after.Add(m.lifetime+Lag) > m.until
}

// DeleteDone takes note of a deletion. ok says that the kernel does not have the address any more.
func (m *Machine) DeleteDone(now protocol.Time, ok bool) {
	if !ok {
		m.state, m.again = doubtful, now.Add(retry)
		return
	}
	m.state, m.again = absent, never
	m.left, m.announce, m.probe = 0, protocol.Never, protocol.Never
}

// Wake returns when Next has something else to do than Wait, which it returned at now, if nothing happens before; Never: nothing will.
func (m *Machine) Wake(now protocol.Time) protocol.Time {
	switch {
	case m.state == doubtful:
		return m.again
	case m.state == present:
		return min(m.until, m.setAt(now), m.announce, m.probe)
	}
	return m.setAt(now)
}

// setAt returns when the address is set next, if the deadline leaves time for that.
func (m *Machine) setAt(now protocol.Time) protocol.Time {
	at := m.due()
	if at == protocol.Never || Lifetime(max(at, now), m.until) <= 0 {
		return protocol.Never
	}
	return at
}

package address

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/protocol"
)

const second = protocol.Time(time.Second)

// kernel keeps one address as Linux does: it counts the lifetime from the instant of the call, and removes the address up to Lag late.
type kernel struct {
	end protocol.Time // 0: the address is not there
}

func (k *kernel) has(now protocol.Time) bool { return k.end != 0 && now < k.end.Add(Lag) }

// holder drives a machine in virtual time. Each call takes cost, and the kernel acts in the middle of it.
type holder struct {
	m     *Machine
	k     kernel
	now   protocol.Time
	cost  func() time.Duration
	fails func() bool
	sets  []protocol.Time
	told  int
	// down says that the interface was down, which removes addresses.
	down bool
	// wrong is the first instant at which the kernel had the address beyond the deadline.
	wrong protocol.Time
	until protocol.Time
	over  bool
}

func newHolder() *holder {
	return &holder{m: New(), now: 100 * second, cost: func() time.Duration { return time.Millisecond }, fails: func() bool { return false }}
}

func (h *holder) extend(until protocol.Time) {
	h.until = max(h.until, until)
	h.m.Extend(until)
}

// pass lets time pass, during which the process does not run.
func (h *holder) pass(d time.Duration) {
	h.now = h.now.Add(d)
	if h.wrong == 0 && h.now > h.until && h.k.has(max(h.now.Add(-d), h.until)+1) {
		h.wrong = h.now
	}
}

// work does what the machine asks for until it waits.
func (h *holder) work() {
	for range 1000 {
		move, lifetime := h.m.Next(h.now)
		switch move {
		case Wait:
			return
		case Over:
			h.over = true
			return
		case Announce:
			h.told++
		case Set:
			before := h.now
			h.pass(h.cost() / 2)
			failed := h.fails()
			h.k.end = h.now.Add(lifetime)
			h.sets = append(h.sets, before)
			h.pass(h.cost() / 2)
			h.m.SetDone(before, h.now, lifetime, !failed, h.down)
			h.down = false
		case Delete:
			h.pass(h.cost())
			if failed := h.fails(); failed {
				h.m.DeleteDone(h.now, false)
				continue
			}
			h.k.end = 0
			h.m.DeleteDone(h.now, true)
		}
	}
	panic("the machine does not wait")
}

// run lets the process run for a while, with exact timers.
func (h *holder) run(d time.Duration) {
	for end := h.now.Add(d); h.now < end; {
		h.work()
		if h.now >= end {
			return
		}
		wake := h.m.Wake(h.now)
		if wake <= h.now && !h.over {
			panic("the machine wakes at once and then waits")
		}
		if h.over {
			wake = end
		}
		h.pass(min(wake, end).Sub(h.now))
	}
	h.work()
}

func TestAnAddressIsSetOnlyWithinTheLeaseAndDeletedAtItsEnd(t *testing.T) {
	h := newHolder()
	h.run(time.Second)
	if len(h.sets) != 0 {
		t.Fatal("the address was set without a lease")
	}
	h.extend(h.now.Add(5 * time.Second))
	h.work()
	if !h.k.has(h.now) || !h.m.Held() || h.told != 1 {
		t.Fatalf("there: %v, held: %v, told %d times; want it set and announced at once", h.k.has(h.now), h.m.Held(), h.told)
	}
	h.run(6 * time.Second)
	if h.k.end != 0 || h.m.Held() || h.wrong != 0 {
		t.Errorf("ends at %v, held: %v, beyond the lease at %v: want it deleted", h.k.end, h.m.Held(), h.wrong)
	}
}

func TestRefreshesAreAtMostOneInASecondAndOnlyForRenewedLeases(t *testing.T) {
	h := newHolder()
	for range 100 { // renewed ten times a second
		h.extend(h.now.Add(5 * time.Second))
		h.run(100 * time.Millisecond)
	}
	if n := len(h.sets); n < 9 || n > 11 {
		t.Errorf("%d calls in 10 s, want about 10", n)
	}
	for i := 1; i < len(h.sets); i++ {
		if gap := h.sets[i].Sub(h.sets[i-1]); gap < Every {
			t.Errorf("two calls within %v", gap)
		}
	}
	if h.told != announcements {
		t.Errorf("told %d times, want %d: a refresh is no news", h.told, announcements)
	}
	n := len(h.sets)
	h.run(2 * time.Second) // nobody renews: to set it again would not make it last longer
	if len(h.sets) != n {
		t.Errorf("%d calls for a lease that was not renewed", len(h.sets)-n)
	}
}

func TestAnAddressThatWasSetTooLateIsDeletedAtOnce(t *testing.T) {
	h := newHolder()
	h.extend(h.now.Add(5 * time.Second))
	h.cost = func() time.Duration { return 4 * time.Second } // the process is paused within the call
	h.run(2 * time.Second)
	h.cost = func() time.Duration { return time.Millisecond }
	h.run(time.Millisecond)
	if h.m.Held() || h.k.end != 0 {
		t.Errorf("held: %v, the kernel has it until %v: want it deleted after the late call", h.m.Held(), h.k.end)
	}
}

func TestAStopDeletesAndEnds(t *testing.T) {
	h := newHolder()
	h.extend(h.now.Add(5 * time.Second))
	h.work()
	failures := 3
	h.fails = func() bool { failures--; return failures >= 0 }
	h.m.Stop()
	h.run(time.Second)
	if !h.over || h.k.end != 0 || failures >= 0 {
		t.Errorf("over: %v, the kernel has it until %v: want it deleted after some failures", h.over, h.k.end)
	}
	h.extend(h.now.Add(time.Hour))
	h.run(time.Second)
	if h.k.end != 0 {
		t.Error("the address was set after the stop")
	}
}

func TestWhatACallThatFailedMayHaveSetIsDeleted(t *testing.T) {
	h := newHolder()
	failures := 1
	h.fails = func() bool { failures--; return failures >= 0 }
	h.extend(h.now.Add(5 * time.Second))
	h.work()
	if h.k.end != 0 || h.m.Held() {
		t.Fatalf("the kernel has it until %v, held: %v; want it deleted", h.k.end, h.m.Held())
	}
	h.run(Every)
	if h.k.end == 0 || !h.m.Held() {
		t.Error("the address was not set again")
	}
}

func TestNeighboursAreToldAgainAfterAHeal(t *testing.T) {
	h := newHolder()
	h.m.Heal(h.now)
	h.extend(h.now.Add(5 * time.Second))
	h.run(4 * time.Second)
	if h.told != announcements {
		t.Fatalf("told %d times, want %d", h.told, announcements)
	}
	h.m.Heal(h.now)
	h.work()
	if h.told != announcements+1 {
		t.Errorf("told %d times after a heal, want one more at once", h.told)
	}
}

// An interface that goes down loses its addresses of version 6, and neighbours what they knew.
func TestNeighboursAreToldAgainWhenTheInterfaceIsBack(t *testing.T) {
	h := newHolder()
	for range 50 {
		h.extend(h.now.Add(5 * time.Second))
		h.run(100 * time.Millisecond)
	}
	if h.told != announcements {
		t.Fatalf("told %d times, want %d", h.told, announcements)
	}
	h.down = true
	for range 50 {
		h.extend(h.now.Add(5 * time.Second))
		h.run(100 * time.Millisecond)
	}
	if h.told != 2*announcements {
		t.Errorf("told %d times after the interface was down, want %d", h.told, 2*announcements)
	}
}

// What the kernel removed while the process was paused is news again when it comes back.
func TestNeighboursAreToldAgainAfterAPause(t *testing.T) {
	h := newHolder()
	h.extend(h.now.Add(5 * time.Second))
	h.run(3 * time.Second)
	h.pass(1500 * time.Millisecond)
	h.extend(h.now.Add(5 * time.Second))
	h.work()
	if h.told != announcements+1 {
		t.Errorf("told %d times, want %d", h.told, announcements+1)
	}
}

// Whatever happens to the process between its calls, and however long it is paused there, the kernel has the address at no instant beyond the deadline.
func TestTheKernelNeverHasTheAddressBeyondTheDeadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHolder()
		length := time.Duration(rapid.IntRange(5, 12).Draw(t, "lease")) * time.Second
		h.fails = func() bool { return rapid.IntRange(0, 9).Draw(t, "fails") == 0 }
		h.cost = func() time.Duration { // shorter than what Slack leaves: a longer pause within a call is the exception
			return time.Duration(rapid.IntRange(0, int((Slack-Lag)/time.Millisecond)).Draw(t, "cost")) * time.Millisecond
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				h.extend(h.now.Add(length))
				h.work()
			case 2:
				h.pass(time.Duration(rapid.IntRange(0, 15000).Draw(t, "pause")) * time.Millisecond)
			case 3:
				h.run(time.Duration(rapid.IntRange(0, 6000).Draw(t, "run")) * time.Millisecond)
			case 4:
				if rapid.IntRange(0, 9).Draw(t, "stop") == 0 {
					h.m.Stop()
				}
			}
			if h.wrong != 0 {
				t.Fatalf("the kernel had the address at %v, and the deadline was %v", h.wrong, h.until)
			}
		}
	})
}

package clock

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"golang.org/x/sys/unix"
)

// The two readings of the host's clock bracket the truth, and it advances as lease clocks do.
func TestHostClockIsBracketedAndKeepsPaceWithLeaseClocks(t *testing.T) {
	own, err := System()
	if err != nil {
		t.Fatal(err)
	}
	// low and high read the host's clock less this process's own, from below and from above.
	low := func() time.Duration {
		host, err := HostLow()
		if err != nil {
			t.Fatal(err)
		}
		return host.Sub(own.Now())
	}
	high := func() time.Duration {
		now := own.Now()
		host, err := HostHigh()
		if err != nil {
			t.Fatal(err)
		}
		return host.Sub(now)
	}
	lowest, highest := high(), low()
	for range 10_000 {
		lowest, highest = min(lowest, high()), max(highest, low())
	}
	if highest > lowest+adoption {
		t.Errorf("a reading from below is %v above one from above", highest-lowest)
	}
	if lowest-highest > 10*time.Millisecond {
		t.Errorf("of ten thousand readings the best are %v apart", lowest-highest)
	}
}

// A thread that is held up between two readings, several times in a row, still reads the clock of the host closely.
func TestHostClockIsReadCloselyByAThreadThatIsHeldUp(t *testing.T) {
	const asleep, raw = 3 * time.Second, -40 * time.Millisecond // the time suspended, and raw time less monotonic time
	for held := range 12 {
		var now time.Duration
		calls := 0
		h := hostClock{
			read: func(id int32) (time.Duration, error) {
				at := now + map[int32]time.Duration{unix.CLOCK_MONOTONIC: 0, unix.CLOCK_BOOTTIME: asleep, unix.CLOCK_MONOTONIC_RAW: raw}[id]
				calls++
				now += time.Microsecond
				if calls <= held {
					now += 5 * time.Millisecond
				}
				return at, nil
			},
			cheap: func() time.Duration { return now },
		}
		for name, read := range map[string]func() (protocol.Time, error){"low": h.low, "high": h.high} {
			calls = 0
			start := protocol.Time(now + raw + asleep)
			got, err := read()
			end := protocol.Time(now + raw + asleep)
			if err != nil || got < start.Add(-apart) || got > end.Add(apart) {
				t.Errorf("%s, held up %d times: %v, %v: not between %v and %v", name, held, got, err, start, end)
			}
			if name == "low" && got > end || name == "high" && got < start {
				t.Errorf("%s, held up %d times: %v is beyond the truth, %v to %v", name, held, got, start, end)
			}
		}
	}
}

// Reading the clock of the host allocates nothing.
func TestReadingTheHostClockAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = HostLow(); _, _ = HostHigh() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

package clock

import (
	"testing"
	"time"
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

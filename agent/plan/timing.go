package plan

import (
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/protocol"
)

// tolerates returns the longest pause that leases survive.
func tolerates(t regent.Timing) time.Duration {
	rho := protocol.Rho(t.Drift * 1e9)
	return max(0, rho.WaitAtMost(t.Lease)-t.Renew-rho.WaitAtLeast(t.RoundTrip)-t.Guard)
}

// forLease returns the constants as they are for leases of a length: long leases are renewed less often.
func forLease(t regent.Timing, length time.Duration) regent.Timing {
	if length != 0 {
		t.Renew *= max(1, length/t.Lease)
		t.Lease, t.LongestLease = length, max(length, t.LongestLease)
	}
	return t
}

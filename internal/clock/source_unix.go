//go:build linux || darwin

package clock

import "time"

// timeNow returns both clocks of package time, which one call reads cheaply: wall time first, then monotonic time.
func timeNow() func() (wall, mono time.Duration) {
	base := time.Now()
	epoch := base.UnixNano()
	return func() (wall, mono time.Duration) {
		t := time.Now()
		return time.Duration(t.UnixNano() - epoch), t.Sub(base)
	}
}

package journal

import "time"

// A Time is a reading of the host's clock: nanoseconds since the host started. Readings of all processes of the host can be
// compared, in whatever time namespace they run. The zero Time stands for no reading.
type Time int64

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Add returns the reading that is d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

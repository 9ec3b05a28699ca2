//go:build !linux

package journal

import "time"

// Now reads the host's clock.
func Now() Time { return Time(time.Now().UnixNano()) }

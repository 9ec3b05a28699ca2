//go:build !linux

package clock

// disruptionMarker returns what finds no marker.
func disruptionMarker() func() (uint64, bool) { return func() (uint64, bool) { return 0, false } }

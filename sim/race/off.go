//go:build !race

package race

// Enabled says that the race detector is at work.
const Enabled = false

package protocol

import (
	"math/rand/v2"
	"time"
)

// Corruptible is a machine that claims to stabilise: it converges from states to which no run leads, such as memory that was
// damaged. Simulations corrupt machines; nothing else does.
type Corruptible interface {
	Machine
	// Corrupt puts the machine into an arbitrary state, drawn from r, and returns the last decision that the state implies.
	Corrupt(r *rand.Rand) Fact
}

// ArbitraryTime draws an instant for [Corruptible]: half of the time one of the first second, else any, or Never.
func ArbitraryTime(r *rand.Rand) Time {
	switch r.IntN(4) {
	case 0:
		return Never
	case 1:
		return Time(r.Int64())
	}
	return Time(r.Int64N(int64(time.Second)))
}

// ArbitraryNumber draws a number for [Corruptible], small ones as often as large ones.
func ArbitraryNumber(r *rand.Rand) uint64 { return r.Uint64() >> r.IntN(64) }

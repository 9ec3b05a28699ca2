// Package drift computes with ρ by itself.
package drift

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

type bound = protocol.Rho

func wait(rho protocol.Rho, d time.Duration) time.Duration {
	x := time.Duration(1+2*rho) * d          // want "drift arithmetic"
	x += d * time.Duration(rho) / 1e9        // want "drift arithmetic"
	x += time.Duration(rho)                  // want "drift arithmetic"
	y := float64(d) * (1 - float64(rho)/1e9) // want "drift arithmetic"
	var b bound = rho
	z := -b - 1 // want "drift arithmetic"
	// drift: the peer's bound is in the other unit
	z = z + rho
	if rho > 5 && uint64(rho) != 3 { // a comparison and an encoding are not arithmetic
		return rho.WaitAtLeast(d) + rho.RealAtMost(d)
	}
	return x + time.Duration(y) + time.Duration(int64(z)&1)
}

package impure

import (
	crand "crypto/rand" // want "imports crypto/rand"
	old "math/rand"     // want "imports math/rand:"
	"math/rand/v2"
	r2 "math/rand/v2"
)

func draw() int {
	g := r2.New(r2.NewPCG(1, 2)) // owned and seeded: allowed
	crand.Read(nil)
	return old.Int() + rand.IntN(3) + r2.N(5) + g.IntN(7) // want "uses math/rand/v2.IntN" want "uses math/rand/v2.N"
}

package rain

import "math/rand/v2"

// dice is a test's own randomness.
type dice struct{ r *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 7))} }

func (d dice) next(n int) int   { return d.r.IntN(n) }
func (d dice) perm(n int) []int { return d.r.Perm(n) }

package lab

import (
	"math/rand/v2"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// mistakes lets a council in which nobody crashes answer in random order for so many rounds, and returns how often a member
// changes its leader, on average over the members.
func mistakes(n, f, h, count int, seed uint64) (float64, error) {
	r := &rounds{n: n, dice: rand.New(rand.NewPCG(seed, uint64(h))), asked: make([]*timefree.Query, n), lost: make([]protocol.Set, n)}
	r.tune = func(t *timefree.Config) { t.F, t.Plain, t.Patience = f, false, h }
	if err := r.start(); err != nil {
		return 0, err
	}
	for range count {
		r.round()
	}
	return float64(r.changes) / float64(n), nil
}

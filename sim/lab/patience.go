package lab

import (
	"math/rand/v2"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// Mistakes is how often a leader is deposed by chance.
type Mistakes struct {
	Members  int `json:"members"`
	F        int `json:"f"`
	Patience int `json:"h"`
	// Changes is how often a member changed its leader, on average over the members, in Rounds.
	Changes float64 `json:"changes"`
	Rounds  int     `json:"rounds"`
}

// MeasureMistakes lets councils in which nobody crashes answer in random order for so many rounds, and counts how often
// members change their leader, by f and by h.
func MeasureMistakes(count int, seed uint64) ([]Mistakes, error) {
	var all []Mistakes
	for _, c := range []struct{ n, f int }{{5, 1}, {5, 2}, {7, 1}, {7, 2}, {7, 3}} {
		for h := 1; h <= 6; h++ {
			r := &rounds{n: c.n, dice: rand.New(rand.NewPCG(seed, uint64(h))), asked: make([]*timefree.Query, c.n), lost: make([]protocol.Set, c.n)}
			r.tune = func(t *timefree.Config) { t.F, t.Plain, t.Patience = c.f, false, h }
			if err := r.start(); err != nil {
				return nil, err
			}
			for range count {
				r.round()
			}
			all = append(all, Mistakes{Members: c.n, F: c.f, Patience: h, Changes: float64(r.changes) / float64(c.n), Rounds: count})
		}
	}
	return all, nil
}

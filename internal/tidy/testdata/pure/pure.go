// Package pure does what pure code may do.
package pure

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Machine owns its generator.
type Machine struct {
	random *rand.Rand
	peers  map[int]time.Duration
}

var names = [...]string{"a", "b"}

// New seeds the generator by its argument.
func New(seed uint64) *Machine {
	return &Machine{random: rand.New(rand.NewPCG(seed, 1)), peers: map[int]time.Duration{}}
}

// Step has local state, closures and output, and none of it leaves the machine.
func (m *Machine) Step(now time.Duration) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m.peers)) {
		fmt.Fprintf(&b, "%d %v %s", k, m.peers[k], names[k%2])
	}
	m.peers[m.random.IntN(5)] = now + time.Duration(m.random.Int64N(int64(time.Second)))
	return b.String()
}

package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// What the electors that count suspicions assume is made by the functions here. Each enforces its assumption without
// exception, so that a core that does not converge is wrong, and breaks what it need not keep.

// InOrder returns links on which responses to queries arrive in the same order over and over, so that MP holds. Either some
// members are so far away from all others that they always lose there, or each pair is as far apart as no other. If slow is not zero messages leave in batches, so seldom that no time-out of less is any good.
func InOrder(d *sim.Dice, members int, core protocol.Set, f int, timely, slow time.Duration) Relink {
	lags := laggards(d, core, f-(members-core.Len()))
	apart := distances(d, members, timely)
	return func(from, to protocol.Rank, l sim.Link) sim.Link {
		l.Every = slow
		switch {
		case lags.Empty():
			l.Delay = apart(from, to)
		case lags.Has(from) || lags.Has(to):
			l.Delay = sim.Between(timely/2, timely)
		default:
			l.Delay = sim.Between(timely/16, timely/8)
		}
		return l
	}
}

// distances draws how far apart each pair is. The nearest takes a third of what the farthest does; no two overlap, with
// room for both ways.
func distances(d *sim.Dice, members int, timely time.Duration) func(a, b protocol.Rank) sim.Delay {
	place := permutation(d, members*(members-1)/2)
	share := timely * 2 / 3 / time.Duration(len(place))
	return func(a, b protocol.Rank) sim.Delay {
		lo, hi := min(a, b), max(a, b)
		near := timely/3 + share*time.Duration(place[int(hi)*(int(hi)-1)/2+int(lo)])
		return sim.Between(near, near+share/4)
	}
}

// laggards draws who always loses: at most so many, and in every other draw nobody.
func laggards(d *sim.Dice, core protocol.Set, most int) protocol.Set {
	var lags protocol.Set
	if most < 1 || d.N(2) == 0 {
		return lags
	}
	return protocol.NewSet(shuffled(d, core)[:1+d.N(most)]...)
}

// shuffled returns the members of a set in any order.
func shuffled(d *sim.Dice, s protocol.Set) []protocol.Rank {
	ranks := make([]protocol.Rank, s.Len())
	place := permutation(d, len(ranks))
	i := 0
	for r := range s.All() {
		ranks[place[i]] = r
		i++
	}
	return ranks
}

func permutation(d *sim.Dice, n int) []int {
	p := make([]int, n)
	for i := range p {
		j := d.N(i + 1)
		p[i], p[j] = p[j], i
	}
	return p
}

// FromSource returns links of which f that begin at one member are timely, so that it is a ◇f-source. Its other links, and
// all that begin at the bad members, carry messages only so seldom that no time-out of less is any good.
func FromSource(source protocol.Rank, receivers, bad protocol.Set, seldom time.Duration) Relink {
	return func(from, to protocol.Rank, l sim.Link) sim.Link {
		if bad.Has(from) || from == source && !receivers.Has(to) {
			l.Every = seldom
		}
		return l
	}
}

// drawSource draws who the ◇f-source of a core is, its receivers, and who is bad: any number of the others.
func drawSource(d *sim.Dice, core protocol.Set, f int) (source protocol.Rank, receivers, bad protocol.Set) {
	ranks := shuffled(d, core)
	source = ranks[0]
	for _, r := range ranks[1 : 1+f] {
		receivers.Add(r)
	}
	for _, r := range ranks[1 : 1+d.N(len(ranks))] {
		bad.Add(r)
	}
	return source, receivers, bad
}

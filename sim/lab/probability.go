// Package lab runs the experiments of the papers, and some that they left out, on the machines themselves.
//
//	TF §A.2           how long MP(1) survives by chance           probability.go, closed form; chance.go, the real machine
//	TF Fig. A.1       the two plots of it                         figure.go
//	PROTOCOLS §5.4    how long a dead leader is trusted (E-T1)    failover.go
//	PROTOCOLS §5.4    how often chance deposes a leader           patience.go
package lab

import (
	"fmt"
	"math/big"
)

// AllLost returns the probability that in x rounds a given member has at least once lost the answer of each of the n-1
// others, if one of them at random is lost in each round (f = 1): the paper's pp(x). It is exact.
//
// It is the number of ways to hit all of n-1 boxes with x throws, by inclusion and exclusion, over the number of all ways.
func AllLost(n, x int) *big.Rat {
	sum, term := new(big.Int), new(big.Int)
	rounds := big.NewInt(int64(x))
	for k := range n {
		term.Exp(big.NewInt(int64(n-1-k)), rounds, nil)
		term.Mul(term, new(big.Int).Binomial(int64(n-1), int64(k)))
		if k%2 == 1 {
			term.Neg(term)
		}
		sum.Add(sum, term)
	}
	all := new(big.Int).Exp(big.NewInt(int64(n-1)), rounds, nil)
	return new(big.Rat).SetFrac(sum, all)
}

// Survives returns the probability that MP(1) holds for the first x rounds: that some member has never lost the answer of
// some other: the paper's p(x). It is exact, for n members whose rounds have nothing to do with one another.
func Survives(n, x int) *big.Rat {
	pp := AllLost(n, x)
	all := new(big.Rat).SetInt64(1)
	for range n {
		all.Mul(all, pp)
	}
	return all.Sub(new(big.Rat).SetInt64(1), all)
}

// Longest returns the largest x for which MP(1) survives x rounds with at least the given probability, which must be above
// zero.
func Longest(n int, p *big.Rat) int {
	x := 0
	for Survives(n, x+1).Cmp(p) >= 0 {
		x++
	}
	return x
}

// Cell is one number of the table of survival.
type Cell struct {
	Members int `json:"members"`
	Rounds  int `json:"rounds"`
	// P is the probability from the closed form.
	P float64 `json:"p"`
	// Measured is the share of trials on the real machine in which MP(1) survived, and Sigmas how many standard errors it is
	// away from P. Trials is zero if nothing was measured.
	Measured float64 `json:"measured"`
	Sigmas   float64 `json:"sigmas"`
	Trials   int     `json:"trials"`
}

// Session says how long a session may be for MP(1) to survive it, by the probability that is wanted.
type Session struct {
	Members int `json:"members"`
	P99     int `json:"p99"`
	P9999   int `json:"p9999"`
}

// Probability is what the analysis of the paper's appendix comes to.
type Probability struct {
	Cells    []Cell    `json:"cells"`
	Sessions []Session `json:"sessions"`
}

// NewProbability works out the closed form for 5 to 10 members over 3n/2 and 2n rounds, and for 5 to 14 members the longest
// sessions.
func NewProbability() *Probability {
	r := &Probability{}
	for n := 5; n <= 10; n++ {
		last := 0
		for _, x := range []int{3 * n / 2, (3*n + 1) / 2, 2 * n} {
			if x == last {
				continue
			}
			last = x
			p, _ := Survives(n, x).Float64()
			r.Cells = append(r.Cells, Cell{Members: n, Rounds: x, P: p})
		}
	}
	for n := 5; n <= 14; n++ {
		r.Sessions = append(r.Sessions, Session{n, Longest(n, big.NewRat(99, 100)), Longest(n, big.NewRat(9999, 10000))})
	}
	return r
}

// Measure runs so many trials on the real machine for each cell.
func (r *Probability) Measure(trials int, seed uint64, progress func(done, total int)) error {
	if trials < 1 {
		return fmt.Errorf("lab: %d trials: must be at least 1", trials)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		held, err := chance(c.Members, c.Rounds, trials, seed+uint64(i))
		if err != nil {
			return err
		}
		c.Trials, c.Measured = trials, float64(held)/float64(trials)
		c.Sigmas = sigmas(c.P, c.Measured, trials)
		if progress != nil {
			progress(i+1, len(r.Cells))
		}
	}
	return nil
}

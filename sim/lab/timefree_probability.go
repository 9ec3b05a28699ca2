package lab

import "math/big"

// allLost returns the probability that in x rounds a given member has at least once lost the answer of each of the n-1
// others, if one of them at random is lost in each round (f = 1): the paper's pp(x). It is exact.
//
// It is the number of ways to hit all of n-1 boxes with x throws, by inclusion and exclusion, over the number of all ways.
func allLost(n, x int) *big.Rat {
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

// survives returns the probability that MP(1) holds for the first x rounds: that some member has never lost the answer of
// some other: the paper's p(x). It is exact, for n members whose rounds have nothing to do with one another.
func survives(n, x int) *big.Rat {
	pp := allLost(n, x)
	all := new(big.Rat).SetInt64(1)
	for range n {
		all.Mul(all, pp)
	}
	return all.Sub(new(big.Rat).SetInt64(1), all)
}

// longest returns the largest x for which MP(1) survives x rounds with at least the given probability, which must be above
// zero.
func longest(n int, p *big.Rat) int {
	x := 0
	for survives(n, x+1).Cmp(p) >= 0 {
		x++
	}
	return x
}

package tenure

import "testing"

// moves plays a hunt whose walks prove what is given, one after the other, and lists its moves.
func movesOf(proofs ...Kind) (all []Move) {
	var h Hunt
	for range 100 {
		m := h.Next()
		all = append(all, m)
		switch m {
		case Walk:
			if len(proofs) == 0 {
				return all
			}
			h.Found(proofs[0], proofs[0] != Tick) // Tick stands for nothing
			proofs = proofs[1:]
		case Proven:
			return all
		}
	}
	return all
}

func TestAHuntStrikesBeforeItWalksAndEndsAtTheSecondProof(t *testing.T) {
	for _, c := range []struct {
		proofs []Kind
		want   string
	}{
		{[]Kind{TreeGone, TreeGone}, "Strike, Walk, Strike, Walk, Proven"},
		{[]Kind{Tick, TreeGone, TreeGone}, "Strike, Walk, Rest, Strike, Walk, Strike, Walk, Proven"},
		{[]Kind{TreeGone, TreeUnknown, TreeUnknown}, "Strike, Walk, Strike, Walk, Rest, Strike, Walk, Proven"},
		{[]Kind{TreeGone, Tick, TreeGone, TreeGone}, "Strike, Walk, Strike, Walk, Rest, Strike, Walk, Strike, Walk, Proven"},
	} {
		if got := list(movesOf(c.proofs...)); got != c.want {
			t.Errorf("walks that prove %v: %s, want %s", c.proofs, got, c.want)
		}
	}
}

func TestAHuntRestsLongerUpToABound(t *testing.T) {
	var h Hunt
	for _, want := range []int64{200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000} {
		for m := h.Next(); m != Walk; m = h.Next() {
		}
		h.Found(Tick, false)
		if got := h.Pause().Microseconds(); got != want {
			t.Errorf("rests for %d µs, want %d", got, want)
		}
	}
}

func TestAWalkMakesABreakAfterItsTurn(t *testing.T) {
	if Breaks(WalkTurn-1) || !Breaks(WalkTurn) {
		t.Error("a break comes after a turn")
	}
}

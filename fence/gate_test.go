package fence

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAGateAdmitsInOrderAndRefusesTheStale(t *testing.T) {
	for _, c := range []struct{ name, mark, stamp, want string }{
		{"anything first", "", first, first},
		{"a later order of the same leadership", first, second, second},
		{"the same again", first, first, first},
		{"a later leadership", second, third, third},
		{"a later epoch", third, otherEpoch, otherEpoch},
		{"a token of a later leadership", second, "6", "6"},
		{"a token of the same leadership leaves the fuller mark", second, "5", second},
		{"a full stamp under a token mark of the same leadership", "5", first, first},
		{"an earlier order of the same leadership", second, first, ""},
		{"an earlier leadership", third, second, ""},
		{"an earlier epoch", otherEpoch, third, ""},
		{"a token of an earlier leadership", third, "6", ""},
		{"a full stamp under a later token", "6", second, ""},
		{"a token under a later token", "6", "5", ""},
	} {
		var mark Stamp
		if c.mark != "" {
			mark = parse(t, c.mark)
		}
		g, s := NewGate(mark), parse(t, c.stamp)
		err := g.Admit(s)
		if c.want != "" {
			if err != nil || g.Mark().String() != c.want {
				t.Errorf("%s: %v, mark %v; want %s", c.name, err, g.Mark(), c.want)
			}
			continue
		}
		var stale *StaleError
		if !errors.As(err, &stale) || stale.Got.String() != c.stamp || stale.Seen.String() != c.mark {
			t.Errorf("%s: error %v", c.name, err)
		}
		if g.Mark().String() != c.mark {
			t.Errorf("%s: a refused stamp moved the mark to %v", c.name, g.Mark())
		}
	}
}

func TestAGateRefusesNoStampAndContradictions(t *testing.T) {
	var g Gate
	if err := g.Admit(Stamp{}); !errors.Is(err, ErrNoStamp) {
		t.Errorf("no stamp: %v", err)
	}
	if err := g.Admit(parse(t, third)); err != nil {
		t.Fatal(err)
	}
	if err := g.Admit(parse(t, contradicts)); !errors.Is(err, ErrInconsistent) || g.Mark().String() != third {
		t.Errorf("a contradiction: %v, mark %v", err, g.Mark())
	}
	if _, err := g.Enter(t.Context(), parse(t, contradicts)); !errors.Is(err, ErrInconsistent) {
		t.Errorf("a contradiction enters: %v", err)
	}
}

func TestOrdersOfOneLeadershipAreInsideTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		leave1, err := g.Enter(t.Context(), parse(t, first))
		if err != nil {
			t.Fatal(err)
		}
		leave2, err := g.Enter(t.Context(), parse(t, second))
		if err != nil {
			t.Fatal(err)
		}
		leave1()
		leave2()
	})
}

func TestALaterLeadershipWaitsForTheEarlierToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		leave1, err1 := g.Enter(t.Context(), parse(t, first))
		leave2, err2 := g.Enter(t.Context(), parse(t, second))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		entered := false
		go func() {
			leave, err := g.Enter(t.Context(), parse(t, third))
			if err != nil {
				t.Error(err)
				return
			}
			entered = true
			leave()
		}()
		synctest.Wait()
		if entered {
			t.Error("entered beside an earlier leadership")
		}
		if _, err := g.Enter(t.Context(), parse(t, second)); err == nil {
			t.Error("an earlier leadership entered while a later one waits")
		}
		leave1()
		leave1() // harmless
		synctest.Wait()
		if entered {
			t.Error("entered beside the rest of an earlier leadership")
		}
		leave2()
		synctest.Wait()
		if !entered {
			t.Error("did not enter when all had left")
		}
	})
}

func TestAWaitingOrderIsRefusedWhenAnEvenLaterOneComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		leave, _ := g.Enter(t.Context(), Token(1))
		var err2, err3 error
		go func() { _, err2 = g.Enter(t.Context(), Token(2)) }()
		synctest.Wait()
		go func() { _, err3 = g.Enter(t.Context(), Token(3)) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		var stale *StaleError
		if !errors.As(err2, &stale) || err3 != nil {
			t.Errorf("token 2: %v, token 3: %v", err2, err3)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		leave, _ := g.Enter(t.Context(), Token(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Enter(ctx, Token(2)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		leave()
		if _, err := g.Enter(t.Context(), Token(2)); err != nil {
			t.Errorf("after a wait that gave up: %v", err)
		}
	})
}

// Leaders of growing tokens write at random from many goroutines; what is written never goes back, though each looks at
// the resource twice.
func TestNothingStaleIsEverCarriedOut(t *testing.T) {
	var g Gate
	var mu sync.Mutex // of the resource, not held between the two looks
	var written uint64
	var done, stale int
	look := func(token uint64) {
		mu.Lock()
		defer mu.Unlock()
		if written > token {
			t.Errorf("token %d carried out after %d", token, written)
		}
		written = token
		done++
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for n := range 2000 {
				token := uint64(1 + n/10 + rnd.IntN(20))
				leave, err := g.Enter(context.Background(), Token(token))
				if err != nil {
					mu.Lock()
					stale++
					mu.Unlock()
					continue
				}
				look(token)
				runtime.Gosched()
				look(token)
				leave()
			}
		})
	}
	wg.Wait()
	if done == 0 || stale == 0 {
		t.Errorf("%d carried out, %d stale: nothing was shown", done, stale)
	}
}

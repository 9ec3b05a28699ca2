package session

import (
	"testing"
	"testing/synctest"

	"github.com/regentproject/regent/view"
)

// A reader that lags loses the agreement by which the agent asked. The program is asked by the next copy of it, once, and by one reader.
func TestOneReaderAsksForARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Lease{done: make(chan struct{}), agreements: agreements{changed: make(chan struct{})}}
		agreed := func(number uint64, recover bool) {
			l.agreements.add(view.View{Token: 7, Agreement: &view.Agreement{Number: number, Recover: recover}})
			synctest.Wait()
		}
		asked := make(map[string]int)
		missed := 0
		read := func(name string, next <-chan struct{}) {
			for v := range l.Views(t.Context()) {
				missed += v.Missed
				if v.Agreement.Recover {
					asked[name]++
				}
				if _, more := <-next; !more {
					return
				}
			}
		}
		slow, fast := make(chan struct{}), make(chan struct{})
		agreed(1, false)
		go read("slow", slow)
		synctest.Wait()
		agreed(2, true)
		for range 2 * watchDepth {
			agreed(2, false) // a link breaks, and is back
		}
		for range watchDepth + 1 {
			slow <- struct{}{}
		}
		synctest.Wait()
		if asked["slow"] != 1 || missed == 0 {
			t.Fatalf("it asks %d times, and has missed %d", asked["slow"], missed)
		}
		go read("fast", fast)
		synctest.Wait()
		if asked["fast"] != 0 {
			t.Error("two readers ask")
		}
		agreed(2, false)
		close(slow) // the program reads no more, and has not reported
		synctest.Wait()
		fast <- struct{}{}
		synctest.Wait()
		if asked["slow"] != 1 || asked["fast"] != 1 {
			t.Errorf("asked %v", asked)
		}
		close(fast)
		close(l.done)
	})
}

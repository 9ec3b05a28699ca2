package core

import (
	"slices"
	"testing"
	"testing/synctest"
)

// A machine has something to do after its tenure is over, such as to give back a lease that came too late.
func TestQueueDoesWhatComesAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		var done []int
		task := func(i int) func() { return func() { done = append(done, i) } }
		q.put(task(1))
		synctest.Wait()
		if done != nil {
			t.Error("something was done before the start")
		}
		q.start()
		q.put(task(2))
		q.wait()
		if !slices.Equal(done, []int{1, 2}) {
			t.Errorf("done %v when nothing was left to do", done)
		}
		q.put(task(3))
		q.put(task(4))
		synctest.Wait()
		if !slices.Equal(done, []int{1, 2, 3, 4}) {
			t.Errorf("done %v", done)
		}
	})
}

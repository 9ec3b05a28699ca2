package fault

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// A Schedule calls deliver for each thing that was added, when it is due: never earlier, in order of time, things of one
// instant in the order in which they were added. deliver is called on one goroutine and must not wait.
type Schedule[T any] struct {
	deliver func(T)
	waiter  waiter
	mu      sync.Mutex
	due     queue[T]
	seq     uint64
	stopped bool
	done    sync.WaitGroup
}

// NewSchedule returns a schedule that waits as exactly as the system can.
func NewSchedule[T any](deliver func(T)) *Schedule[T] { return newSchedule(deliver, newPrecise()) }

// NewVirtual returns a schedule on timers of package time, which testing/synctest can fake.
func NewVirtual[T any](deliver func(T)) *Schedule[T] { return newSchedule(deliver, newTimer()) }

func newSchedule[T any](deliver func(T), w waiter) *Schedule[T] {
	s := &Schedule[T]{deliver: deliver, waiter: w}
	s.done.Go(s.run)
	return s
}

// Add schedules x. It does nothing once the schedule was stopped.
func (s *Schedule[T]) Add(at time.Time, x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.seq++
	heap.Push(&s.due, entry[T]{at, s.seq, x})
	if s.due[0].seq == s.seq {
		s.waiter.wake() // under the lock, so that Stop has not closed it
	}
}

// Len returns how many things wait.
func (s *Schedule[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.due)
}

// Stop forgets what waits, and returns when deliver is not called any more.
func (s *Schedule[T]) Stop() {
	s.mu.Lock()
	first := !s.stopped
	s.stopped, s.due = true, nil
	if first {
		s.waiter.wake()
	}
	s.mu.Unlock()
	s.done.Wait()
	if first {
		s.waiter.close()
	}
}

// idle is how long the schedule waits when nothing is due.
const idle = time.Hour

func (s *Schedule[T]) run() {
	if s.waiter.locked() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and its settings with it
	}
	s.waiter.begin()
	for {
		x, wait, ok := s.next()
		switch {
		case ok:
			s.deliver(x)
		case wait < 0:
			return
		default:
			s.waiter.wait(wait)
		}
	}
}

// next takes what is due, or says how long to wait; less than nothing when the schedule was stopped.
func (s *Schedule[T]) next() (x T, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return x, -1, false
	}
	if len(s.due) == 0 {
		return x, idle, false
	}
	if wait := time.Until(s.due[0].at); wait > 0 {
		return x, wait, false
	}
	return heap.Pop(&s.due).(entry[T]).x, 0, true
}

type entry[T any] struct {
	at  time.Time
	seq uint64
	x   T
}

// queue is a heap by time, then by number.
type queue[T any] []entry[T]

func (q queue[T]) Len() int      { return len(q) }
func (q queue[T]) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue[T]) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].seq < q[j].seq
}
func (q *queue[T]) Push(x any) { *q = append(*q, x.(entry[T])) }
func (q *queue[T]) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = entry[T]{}
	*q = old[:len(old)-1]
	return x
}

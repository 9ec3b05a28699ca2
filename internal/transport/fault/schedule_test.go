package fault

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type arrival struct {
	x  int
	at time.Duration
}

func TestScheduleIsInOrderAndOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []arrival
		s := NewVirtual(func(x int) { got = append(got, arrival{x, time.Since(start)}) })
		for x, at := range []time.Duration{30, 10, 20, 10, 0, -5} {
			s.Add(start.Add(at*time.Millisecond), x)
		}
		time.Sleep(15 * time.Millisecond)
		s.Add(start.Add(16*time.Millisecond), 6) // earlier than what it waits for
		time.Sleep(time.Second)
		synctest.Wait()
		want := []int{5, 4, 1, 3, 6, 2, 0}
		var order []int
		for _, a := range got {
			order = append(order, a.x)
		}
		// The ones that were due at once came while others were being added.
		slices.Sort(order[:2])
		slices.Sort(want[:2])
		if !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		for i, at := range []time.Duration{10, 10, 16, 20, 30} {
			if a := got[i+2]; a.at != at*time.Millisecond {
				t.Errorf("%d came at %v, want %vms", a.x, a.at, int(at))
			}
		}
		s.Add(start.Add(time.Hour), 7)
		if s.Len() != 1 {
			t.Errorf("%d wait, want 1", s.Len())
		}
		s.Stop()
		s.Stop()
		s.Add(start, 8)
		time.Sleep(2 * time.Hour)
		if len(got) != 7 {
			t.Errorf("%d came after the stop", len(got)-7)
		}
	})
}

// On real time nothing comes early, and nothing is forgotten.
func TestPreciseScheduleIsNeverEarly(t *testing.T) {
	var mu sync.Mutex
	var early, came int
	done := make(chan struct{})
	const n = 200
	s := NewSchedule(func(at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(at) {
			early++
		}
		if came++; came == n {
			close(done)
		}
	})
	defer s.Stop()
	for i := range n {
		at := time.Now().Add(time.Duration(i*37%50) * 200 * time.Microsecond)
		s.Add(at, at)
	}
	<-done
	if early > 0 {
		t.Errorf("%d of %d came early", early, n)
	}
}

// BenchmarkSchedule measures by how much a delay of 2 ms is too long, with the precise waiter and with timers.
func BenchmarkSchedule(b *testing.B) {
	for name, start := range map[string]func(func(time.Time)) *Schedule[time.Time]{"precise": NewSchedule[time.Time], "timer": NewVirtual[time.Time]} {
		b.Run(name, func(b *testing.B) {
			var late []time.Duration
			done := make(chan struct{})
			s := start(func(at time.Time) {
				late = append(late, time.Since(at))
				done <- struct{}{}
			})
			defer s.Stop()
			for range b.N {
				at := time.Now().Add(2 * time.Millisecond)
				s.Add(at, at)
				<-done
			}
			slices.Sort(late)
			b.ReportMetric(float64(late[len(late)/2])/1e3, "late-p50-µs")
			b.ReportMetric(float64(late[len(late)*99/100])/1e3, "late-p99-µs")
		})
	}
}

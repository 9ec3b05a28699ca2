package runtime

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/runtime/thread"
)

// BenchmarkWait measures by how much a wait of 5 ms is too long: the choice between the waiters rests on it. Run it on
// an idle machine and on a busy one; the comment on pollWaiter has ours.
func BenchmarkWait(b *testing.B) {
	const length = 5 * time.Millisecond
	measure := func(b *testing.B, w Waiter, claim func() error) {
		defer w.Close()
		done := make(chan []time.Duration)
		b.ResetTimer()
		go func() {
			var late []time.Duration
			defer func() { done <- late }()
			if err := claim(); err != nil {
				b.Log(err)
				return
			}
			for range b.N {
				start := time.Now()
				w.Wait(length, 0)
				late = append(late, time.Since(start)-length)
			}
		}()
		late := <-done
		if len(late) == 0 {
			return
		}
		slices.Sort(late)
		at := func(share float64) float64 { return float64(late[int(share*float64(len(late)-1))]) / 1e3 }
		b.ReportMetric(at(0.5), "p50-µs")
		b.ReportMetric(at(0.99), "p99-µs")
		b.ReportMetric(at(1), "max-µs")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("timer", func(b *testing.B) { measure(b, NewChanWaiter(), func() error { return nil }) })
	b.Run("timer-locked", func(b *testing.B) {
		measure(b, NewChanWaiter(), func() error { runtime.LockOSThread(); return nil })
	})
	for _, realtime := range []bool{false, true} {
		name := map[bool]string{false: "poll", true: "poll-realtime"}[realtime]
		b.Run(name, func(b *testing.B) {
			w, err := NewPollWaiter()
			if err != nil {
				b.Skip(err)
			}
			measure(b, w, func() error { _, err := thread.Claim(realtime); return err })
		})
	}
}

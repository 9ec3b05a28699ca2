package stamp

import (
	"testing"
	"time"
)

// The clock of these benchmarks is the cheapest that there is; what Valid and Edict cost is what they add to it.
//
//	go test -run=^$ -bench=. -cpu=1,2,8 ./internal/stamp

func benchClock() func() int64 {
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) }
}

func BenchmarkClock(b *testing.B) {
	now := benchClock()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			now()
		}
	})
}

func BenchmarkValid(b *testing.B) {
	_, _, te := held(Never)
	now := benchClock()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !te.Valid(now) {
				b.Error("not valid")
			}
		}
	})
}

func BenchmarkEdict(b *testing.B) {
	_, _, te := held(Never)
	now := benchClock()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := te.Edict(now); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkEdictRenewed has a loop that renews a thousand times as often as one that leads for real.
func BenchmarkEdictRenewed(b *testing.B) {
	_, h, te := held(1 << 50)
	now := benchClock()
	stop := make(chan struct{})
	go func() {
		for i := int64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
				h.Extend(1<<50 + i)
				time.Sleep(20 * time.Microsecond)
			}
		}
	}()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := te.Edict(now); err != nil {
				b.Error(err)
			}
		}
	})
	close(stop)
}

func BenchmarkCompare(b *testing.B) {
	e := Edict{Token: 1, Quorum: Quorum{{0, 1, 10}, {1, 1, 20}, {2, 1, 30}}}
	f := Edict{Token: 2, Quorum: Quorum{{1, 1, 21}, {2, 1, 31}, {4, 1, 10}}}
	b.ReportAllocs()
	for b.Loop() {
		if o, err := e.Compare(f); o != -1 || err != nil {
			b.Fatal(o, err)
		}
	}
}

func BenchmarkMarshalBinary(b *testing.B) {
	e := Edict{Token: 1, Quorum: Quorum{{0, 1, 10}, {1, 1, 20}, {2, 1, 30}}}
	buf := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.AppendBinary(buf); err != nil {
			b.Fatal(err)
		}
	}
}

//go:build unix

package fuzz_test

import (
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

// BenchmarkSeeds measures how many events a second of processor time the simulator plays with every checker on, in random
// runs of five members: the same seeds each time, with the collector as regent-sim sets it.
func BenchmarkSeeds(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(fuzz.GCPercent))
	for _, name := range []string{"nerio", "stack"} {
		b.Run(name, func(b *testing.B) {
			p, err := suite.Lookup(name)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var events uint64
			began := used(b)
			for b.Loop() {
				for seed := range uint64(20) {
					_, run, err := fuzz.Seed(p, 5, seed+1, fuzz.DefaultFor)
					if err != nil {
						b.Fatal(err)
					}
					if run.Err != nil {
						b.Fatal(run.Err)
					}
					events += run.Stats.Events
				}
			}
			b.ReportMetric(float64(events)/(used(b)-began).Seconds(), "events/cpu-s")
		})
	}
}

// used returns the processor time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

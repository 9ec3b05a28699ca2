package clock

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// The heart of the matter. Anything may happen before any single reading of any clock: work, preemption, suspend,
// slewing at the kernel's limits, steps of the wall clock forwards, and backwards where no suspend can hide behind it.
func TestSuspendBetweenTwoReadsIsNeverMissed(t *testing.T) {
	for _, os := range []string{"linux", "darwin", "windows"} {
		t.Run(os, func(t *testing.T) {
			for seed := range uint64(300) {
				churn(t, os, seed)
			}
		})
	}
}

func churn(t *testing.T, os string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	k := newKernel()
	src := map[string]func() source{"linux": k.source, "darwin": k.continuous, "windows": k.coarse}[os]()
	c := newReal(src)
	offset := c.Now() - k.truth()
	stepsBack := seed%2 == 0 // a run has steps back or suspends, but not both: see the next test for both
	k.onRead = func() {
		k.run(between(r, 1, 200))
		switch r.IntN(60) {
		case 0:
			k.run(between(r, time.Microsecond, 3*time.Second))
		case 1, 2:
			if !stepsBack {
				k.suspend(between(r, 10*time.Microsecond, 10*time.Hour))
			}
		case 3:
			k.step(between(r, time.Microsecond, time.Hour))
		case 4:
			if stepsBack {
				k.step(-between(r, time.Microsecond, time.Hour))
			}
		case 5:
			if os == "linux" {
				k.slew = 0.226 * (2*r.Float64() - 1)
			}
		}
	}
	var before protocol.Time
	for i := range 3000 {
		k.run(between(r, 10, time.Millisecond))
		start := k.truth() + offset
		late := c.Late()
		if late < start {
			t.Fatalf("seed %d, reading %d: the clock stood at %v before the call and Late says %v", seed, i, start, late)
		}
		if late < before {
			t.Fatalf("seed %d, reading %d: Late says %v after Now said %v", seed, i, late, before)
		}
		if i%5 != 0 {
			continue
		}
		start = k.truth() + offset
		now := c.Now()
		end := k.truth() + offset
		// Less than a millisecond of suspend may stay unadopted, plus what the narrowest of 16 brackets missed.
		if now < start-protocol.Time(adoption+bracket) || now > end+1 {
			t.Fatalf("seed %d, reading %d: Now says %v, but the clock went from %v to %v in the call", seed, i, now, start, end)
		}
		if now <= before {
			t.Fatalf("seed %d, reading %d: Now says %v after %v", seed, i, now, before)
		}
		before = now
	}
}

// One thing is beyond a cheap reading: a wall clock that, within a millisecond of running time, is set back by what the machine had
// slept. The error is then at most what the clock was set back, and it ends with the next full reading.
func TestWallClockSetBackByTheSuspendHidesItForARefreshOnly(t *testing.T) {
	k := newKernel()
	c := newReal(k.source())
	k.run(refresh / 2)
	k.suspend(time.Hour)
	k.step(-time.Hour)
	if hidden := k.truth() - c.Late(); hidden > protocol.Time(time.Hour) {
		t.Fatalf("%v are hidden by a clock that was set back by an hour", hidden)
	}
	k.run(refresh/2 + 1)
	if late := c.Late(); late < k.truth() {
		t.Fatalf("more than %v after the last full reading Late says %v; the clock stands at %v", refresh, late, k.truth())
	}
	if got := c.Suspended(); got < time.Hour-bracket || got > time.Hour {
		t.Fatalf("suspended for %v, want an hour", got)
	}
}

func TestNowNoticesASuspendThatTheWallClockHides(t *testing.T) {
	k := newKernel()
	c := newReal(k.source())
	k.suspend(time.Minute)
	k.step(-time.Minute)
	if now := c.Now(); now < k.truth() {
		t.Fatalf("Now says %v; the clock stands at %v", now, k.truth())
	}
}

func TestLateIsLateByAtMostTheChargeOfARefresh(t *testing.T) {
	for _, slew := range []float64{-0.226, -0.0005, 0, 0.0005, 0.226} {
		k := newKernel()
		k.slew = slew
		c := newReal(k.source())
		worst := time.Duration(0)
		for range 10_000 {
			k.run(7 * time.Microsecond)
			worst = max(worst, c.Late().Sub(k.truth()))
		}
		if limit := time.Duration(float64(charge(refresh))*(1+slew)) - refresh + time.Duration(0.3*float64(refresh)); worst > limit {
			t.Errorf("slew %v: Late was late by %v, want at most %v", slew, worst, limit)
		}
	}
}

// Slewing must not reach the lease clock itself: two members whose clocks a time service pulls apart stay within ρ.
func TestNowDoesNotFollowTheTimeService(t *testing.T) {
	k := newKernel()
	k.slew = 0.08
	c := newReal(k.source())
	start, truth := c.Now(), k.truth()
	k.run(time.Minute)
	if got, want := c.Now()-start, k.truth()-truth; got != want {
		t.Fatalf("the clock advanced by %v in %v", got, want)
	}
}

func TestNoiseOfTheReadingsIsNoSuspend(t *testing.T) {
	k := newKernel()
	c := newReal(k.source())
	r := rand.New(rand.NewPCG(1, 1))
	k.onRead = func() { k.run(between(r, 100, 20*time.Microsecond)) }
	offset := c.Now() - k.truth()
	for range 1000 {
		now := c.Now()
		if ahead := now - k.truth() - offset; ahead > 0 {
			t.Fatalf("Now is %v ahead of the clock", ahead)
		}
	}
	if c.Suspended() != 0 {
		t.Fatalf("suspended for %v, though it never was", c.Suspended())
	}
}

func TestNowIsStrictlyIncreasingUnderConcurrency(t *testing.T) {
	sys, err := System()
	if err != nil {
		t.Fatal(err)
	}
	frozen := protocol.Time(5)
	for name, c := range map[string]Clock{"system": sys, "package": Package(), "frozen": Of(func() protocol.Time { return frozen })} {
		t.Run(name, func(t *testing.T) {
			const readers, samples = 8, 5000
			all := make([][]protocol.Time, readers)
			var wg sync.WaitGroup
			for i := range readers {
				wg.Go(func() {
					for range samples {
						all[i] = append(all[i], c.Now())
						if late := c.Late(); late < all[i][len(all[i])-1] {
							panic(fmt.Sprintf("Late %v after Now %v", late, all[i][len(all[i])-1]))
						}
					}
				})
			}
			wg.Wait()
			seen := make(map[protocol.Time]bool, readers*samples)
			for _, s := range all {
				for i, x := range s {
					if seen[x] {
						t.Fatalf("%v was given out twice", x)
					}
					if i > 0 && x <= s[i-1] {
						t.Fatalf("%v came after %v", x, s[i-1])
					}
					seen[x] = true
				}
			}
		})
	}
}

// The real clock, against another real clock: over a short while it advances as package time does, up to slewing.
func TestSystemClockAdvancesAsRealTimeDoes(t *testing.T) {
	c, err := System()
	if err != nil {
		t.Fatal(err)
	}
	start, now := time.Now(), c.Now()
	for time.Since(start) < 20*time.Millisecond {
		if late := c.Late(); late < now {
			t.Fatalf("Late %v after Now %v", late, now)
		}
		now = c.Now()
	}
	first, wall := c.Now(), time.Now()
	for time.Since(wall) < 20*time.Millisecond {
	}
	outer := time.Since(wall)
	got := c.Now().Sub(first)
	if got < 15*time.Millisecond || got > time.Since(wall)+outer/4+10*time.Millisecond {
		t.Fatalf("the lease clock advanced by %v in %v", got, outer)
	}
}

func BenchmarkLease(b *testing.B) {
	c, err := System()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Now()
		}
	})
	b.Run("cheap", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Late()
		}
	})
	b.Run("time.Now", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	})
	b.Run("cheap, concurrent", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Late()
			}
		})
	})
	b.Run("full, concurrent", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Now()
			}
		})
	})
}

package tests

import (
	"testing"
	"testing/synctest"
	"time"
	wall "time"
)

func TestSleeps(t *testing.T) {
	time.Sleep(1) // want "sleeps on the wall clock"
	f := wall.Sleep // want "sleeps on the wall clock"
	f(1)
	// wall clock: the kernel's timer is what is tested
	time.Sleep(1)
	synctest.Test(t, func(*testing.T) { time.Sleep(time.Hour) })
}

func TestMaySkip(t *testing.T) {
	if testing.Short() {
		t.Skip("slow") // want "can be skipped"
	}
	t.SkipNow() // want "can be skipped"
}

func BenchmarkMayDoBoth(b *testing.B) {
	time.Sleep(1)
	b.Skip("no such device")
}

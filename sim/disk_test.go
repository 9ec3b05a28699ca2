package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// writer makes member a write a record at each Unfit, with one note that waits for it and one that does not.
func writer() func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
	n := 0
	return func(p *probe, _ protocol.Time, ev protocol.Event) protocol.Effects {
		e := protocol.Effects{Wake: protocol.Never}
		if _, ok := ev.(protocol.Unfit); ok {
			n++
			e.Persist = []byte(fmt.Sprintf("r%d", n))
			e.Send = []protocol.Envelope{{To: 1, Message: &note{n}, Durable: true}, {To: 1, Message: &note{-n}}}
		}
		return e
	}
}

func slowDisk(seed uint64) sim.Config {
	return sim.Config{Seed: seed, Link: sim.Link{Delay: sim.Between(ms, ms), FIFO: true}, Disk: sim.Between(10*ms, 10*ms)}
}

func TestDurableMessagesWaitForTheirRecordAndOthersDoNot(t *testing.T) {
	b := newBench(t, slowDisk(1), writer())
	b.until(ms)
	b.Command(0, protocol.Unfit{})
	b.Command(0, protocol.Unfit{})
	b.until(5 * ms)
	if got := b.probes[1].notes(); !slices.Equal(got, []int{-1, -2}) {
		t.Fatalf("SIM-DISK: before the records are on disk b got %v, want those that do not wait", got)
	}
	b.until(15 * ms)
	if got := b.probes[1].notes(); !slices.Equal(got, []int{-1, -2, 1}) {
		t.Fatalf("SIM-DISK: after the first record b got %v", got)
	}
	b.until(30 * ms)
	if got := b.probes[1].notes(); !slices.Equal(got, []int{-1, -2, 1, 2}) {
		t.Fatalf("SIM-DISK: after the second record b got %v", got)
	}
	if d := b.probes[1].got[3].delay; d < 10*ms {
		t.Errorf("SIM-BOUND: a note held for 10ms has the bound %v", d)
	}
	persisted := 0
	for _, g := range b.probes[0].got {
		if _, ok := g.ev.(protocol.Persisted); ok {
			persisted++
		}
	}
	if persisted != 2 {
		t.Errorf("SIM-DISK: two records were confirmed %d times", persisted)
	}
}

func TestOneWriteMayServeSeveralRecords(t *testing.T) {
	writes := map[int]int{}
	for seed := range uint64(50) {
		b := newBench(t, slowDisk(seed), writer())
		c := count{}
		b.Observe(c)
		b.until(ms)
		for range 4 {
			b.Command(0, protocol.Unfit{})
		}
		b.until(time.Second)
		persisted := 0
		for _, g := range b.probes[0].got {
			if _, ok := g.ev.(protocol.Persisted); ok {
				persisted++
			}
		}
		if persisted != 4 || len(b.probes[1].notes()) != 8 {
			t.Fatalf("SIM-DISK: four records were confirmed %d times, and %d of 8 notes left", persisted, len(b.probes[1].notes()))
		}
		writes[c[sim.EvPersist]]++
	}
	if writes[2] < 10 || writes[3] < 5 || writes[4] < 5 || writes[2]+writes[3]+writes[4] != 50 {
		t.Errorf("SIM-DISK: four records took so many writes: %v, want 2, 3 or 4", writes)
	}
}

func TestPersistedAndWhatWaitedForItComeInEitherOrder(t *testing.T) {
	first := map[bool]int{}
	for seed := range uint64(50) {
		sent := false
		c := slowDisk(seed)
		c.Intercept = func(l sim.Intercepted) bool { sent = sent || l.Message.(*note).n == 1; return false }
		write := writer()
		b := newBench(t, c, func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
			if _, ok := ev.(protocol.Persisted); ok {
				first[sent]++
			}
			return write(p, now, ev)
		})
		b.until(ms)
		b.Command(0, protocol.Unfit{})
		b.until(time.Second)
	}
	if first[true] < 10 || first[false] < 10 {
		t.Errorf("SIM-DISK: the message had left before its Persisted: %v", first)
	}
}

func TestDurableMessageOfAnIdleDiskLeavesAtOnce(t *testing.T) {
	b := newBench(t, slowDisk(1), func(p *probe, _ protocol.Time, ev protocol.Event) protocol.Effects {
		e := protocol.Effects{Wake: protocol.Never}
		if _, ok := ev.(protocol.Start); ok && p.boot.Self == 0 {
			e.Send = []protocol.Envelope{{To: 1, Message: &note{1}, Durable: true}}
		}
		return e
	})
	b.until(2 * ms)
	if got := b.probes[1].notes(); !slices.Equal(got, []int{1}) {
		t.Errorf("SIM-DISK: b got %v, want the note at once", got)
	}
}

// afterCrash lets a write two records, one of them in flight at the crash, and returns what it finds afterwards.
func afterCrash(t *testing.T, seed uint64, disk sim.Disk) (*bench, string) {
	t.Helper()
	b := newBench(t, slowDisk(seed), writer())
	for i := range 3 {
		b.At(sim.Real(i)*sim.Real(20*ms)+1, func() { b.Command(0, protocol.Unfit{}) })
	}
	b.At(sim.Real(45*ms), func() { b.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: 5 * ms, Disk: disk, Amount: 1}) })
	b.until(time.Second)
	return b, string(b.probes[0].boot.Record)
}

func TestCrashKeepsWhatIsOnDiskAndPerhapsWhatWasBeingWritten(t *testing.T) {
	found := map[string]int{}
	for seed := range uint64(100) {
		b, record := afterCrash(t, seed, sim.Kept)
		found[record]++
		if slices.Contains(b.probes[1].notes(), 3) {
			t.Fatal("SIM-DISK: a message left whose record was not confirmed")
		}
	}
	if found["r2"]+found["r3"] != 100 || found["r2"] < 30 || found["r3"] < 30 {
		t.Errorf("SIM-DISK: after a crash the disk holds %v, want r2 or r3 about as often", found)
	}
}

func TestDiskMayBeLostOrOld(t *testing.T) {
	if _, record := afterCrash(t, 1, sim.Lost); record != "" {
		t.Errorf("SIM-DISK: a lost disk holds %q", record)
	}
	_, kept := afterCrash(t, 1, sim.Kept)
	if _, record := afterCrash(t, 1, sim.Backup); record >= kept || record == "" {
		t.Errorf("SIM-DISK: a backup holds %q, the disk %q", record, kept)
	}
}

func TestRebootSetsTheClockBack(t *testing.T) {
	c := slowDisk(1)
	c.Clocks = []sim.ClockSpec{{Offset: protocol.Time(time.Hour)}}
	b := newBench(t, c, writer())
	b.until(time.Second)
	b.Begin(sim.Fault{Kind: sim.Crash, A: 0, For: 10 * ms, Disk: sim.Reboot})
	b.until(2 * time.Second)
	if got := b.probes[0].got[0].now; got > protocol.Time(time.Second) {
		t.Errorf("SIM-CLOCK: after a reboot the clock shows %v", got)
	}
}

func TestSlowDiskIsSlowWhileItLasts(t *testing.T) {
	b := newBench(t, slowDisk(1), writer())
	b.until(ms)
	b.Begin(sim.Fault{Kind: sim.SlowDisk, A: 0, For: 50 * ms, Amount: int64(100 * ms)})
	b.Command(0, protocol.Unfit{})
	b.until(110 * ms)
	if got := b.probes[1].notes(); slices.Contains(got, 1) {
		t.Fatalf("SIM-DISK: a record was on a slow disk too soon")
	}
	b.until(113 * ms)
	if got := b.probes[1].notes(); !slices.Contains(got, 1) {
		t.Fatalf("SIM-DISK: a record did not reach a slow disk")
	}
	b.Command(0, protocol.Unfit{})
	b.until(125 * ms)
	if got := b.probes[1].notes(); !slices.Contains(got, 2) {
		t.Errorf("SIM-DISK: the disk is still slow")
	}
}

func TestBoot(t *testing.T) {
	b := newBench(t, sim.Config{Members: 3, Seed: 1}, nil)
	b.until(ms)
	for r, p := range b.probes {
		if got := p.boot; got.Self != protocol.Rank(r) || got.Members != 3 || got.Inc != 1 || got.Record != nil || got.Seed == 0 {
			t.Errorf("member %d was made from %+v", r, got)
		}
	}
}

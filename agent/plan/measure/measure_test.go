package measure

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/agent/plan"
)

const ms = time.Millisecond

// A thread that is paused sees the part of the pause that it should have been awake in.
func TestAWatchSeesPauses(t *testing.T) {
	w := newWatch(plan.MemberThread, plan.AsIs, 10*ms)
	ctx, cancel := context.WithCancel(t.Context())
	now, waits := time.Unix(0, 0), 0
	w.loop(ctx, func(d time.Duration) {
		waits++
		now = now.Add(d)
		switch waits {
		case 5:
			now = now.Add(54 * ms)
		case 7:
			now = now.Add(-3 * ms) // woken early
		case 100:
			cancel()
		}
	}, func() time.Time { return now })
	p := w.pauses()
	if p.Longest != 54*ms || p.For != 1051*ms || p.Step != 10*ms || p.Thread != plan.MemberThread {
		t.Errorf("%+v", p)
	}
	var n uint64
	for _, b := range p.Buckets {
		n += b.Count
	}
	if n != 100 {
		t.Errorf("%d waits were counted", n)
	}
}

func TestThePhasesTakeTheTimeThatTheyAreGiven(t *testing.T) {
	busy := func(context.Context) (func(), error) { return func() {}, nil }
	for _, c := range []struct {
		o    Options
		hold bool
		want []phase
	}{
		{Options{For: 60 * time.Second, Step: 5 * ms}, false, []phase{{plan.AsIs, 5 * ms, 60 * time.Second}}},
		{Options{For: 60 * time.Second, Step: 5 * ms}, true, []phase{{plan.AsIs, 5 * ms, 40 * time.Second}, {plan.Awake, 5 * ms, 20 * time.Second}}},
		{Options{For: 60 * time.Second, Step: 5 * ms, Busy: busy}, true, []phase{{plan.AsIs, 5 * ms, 20 * time.Second}, {plan.Awake, 5 * ms, 10 * time.Second}, {plan.Busy, ms, 30 * time.Second}}},
	} {
		got := phases(&c.o, c.hold)
		var sum time.Duration
		for i := range got {
			sum += got[i].share
			if i >= len(c.want) || got[i] != c.want[i] {
				t.Errorf("%v, want %v", got, c.want)
			}
		}
		if sum != c.o.For {
			t.Errorf("they take %v of %v", sum, c.o.For)
		}
	}
}

// All parts measure something, and nothing is left behind.
func TestAMeasurementOfEverything(t *testing.T) {
	dir := t.TempDir()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan uint64)
	go func() {
		n, err := Echo(ctx, conn)
		if err != nil {
			t.Error(err)
		}
		answered <- n
	}()
	seen := 0
	stopped := false
	m, err := Run(t.Context(), Options{For: 2 * time.Second, Step: ms, Realtime: true, Dir: dir, Peers: []string{conn.LocalAddr().String()},
		Busy:     func(context.Context) (func(), error) { return func() { stopped = true }, nil },
		Trips:    func(context.Context) map[string]time.Duration { return map[string]time.Duration{"b": ms} },
		Progress: func(Progress) { seen++ }})
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if n := <-answered; n == 0 || !stopped || seen == 0 {
		t.Errorf("%d probes answered, busy stopped %v, progress %d times", n, stopped, seen)
	}
	if len(m.Pauses) < 4 || len(m.Trips) != 2 || m.Trips[0].Count == 0 || m.Trips[0].Smoothed || m.Trips[1].Peer != "b" || !m.Trips[1].Smoothed {
		t.Errorf("%+v", m)
	}
	for _, p := range m.Pauses {
		if p.For == 0 || len(p.Buckets) == 0 {
			t.Errorf("%+v", p)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// A measurement that is cut short returns what it has.
func TestAnInterruptedMeasurementCounts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m, err := Run(ctx, Options{For: time.Hour, Step: ms, Progress: func(p Progress) {
		if p.Elapsed > 0 {
			cancel()
		}
	}})
	if err != nil || len(m.Pauses) != 2 || m.Pauses[0].For == 0 || m.Pauses[0].For > time.Minute {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestMeasurementsThatCannotBeMade(t *testing.T) {
	for want, o := range map[string]Options{
		"must be host:port": {For: time.Second, Step: ms, Peers: []string{"nowhere"}},
		"--dir":             {For: time.Second, Step: ms, Dir: filepath.Join(t.TempDir(), "missing")},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An echo server sends nothing to those that do not ask properly.
func TestTheEchoServerAnswersProbesOnly(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan uint64)
	go func() {
		n, _ := Echo(ctx, conn)
		done <- n
	}()
	p, err := dialPeer(conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 7, probeSize, probeSize + 1, 1400} { // without the magic
		if _, err := p.conn.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	asking, stop := context.WithCancel(t.Context())
	got := newTrips()
	ended := make(chan struct{})
	go func() { p.run(asking, got); close(ended) }()
	for {
		if all := got.all(); len(all) == 1 && all[0].Count > 0 {
			break
		}
		<-time.After(ms)
	}
	stop()
	<-ended
	cancel()
	if n := <-done; n > uint64(got.all()[0].Count)+1 {
		t.Errorf("%d answers to %d probes", n, got.all()[0].Count)
	}
}

func TestStealIsTheShareSinceTheLastReading(t *testing.T) {
	before, after := parseSteal("cpu  100 0 100 700 0 0 0 100 5 5\ncpu0 1\n"), parseSteal("cpu  150 0 150 770 0 0 0 130 5 5\n")
	if share, ok := after.since(before); !ok || share != 0.15 {
		t.Errorf("%v %v", share, ok)
	}
	for _, bad := range []string{"", "cpu", "cpu a b c d e f g h i j", "intr 1 2 3 4 5 6 7 8 9 10"} {
		if _, ok := after.since(parseSteal(bad)); ok {
			t.Errorf("%q counts", bad)
		}
	}
}

func TestHintsNameWhatThisKernelHas(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := hints(root); got != nil {
		t.Errorf("%q", got)
	}
	put("proc/cpuinfo", "flags : fpu hypervisor\n")
	if got := hints(root); len(got) != 1 || !strings.Contains(got[0], "cpuidle_haltpoll") {
		t.Errorf("%q", got)
	}
	put("sys/devices/system/cpu/cpuidle/current_governor", "haltpoll\n")
	put("sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000\n")
	if got := hints(root); len(got) != 1 || !strings.Contains(got[0], "200000 ns") {
		t.Errorf("%q", got)
	}
}

// Round trips of the agent are asked for until the end.
func TestTheAgentIsAskedEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*ms)
		defer cancel()
		got := newTrips()
		askTrips(ctx, func(context.Context) map[string]time.Duration { return map[string]time.Duration{"b": ms, "c": 0} }, got)
		if all := got.all(); len(all) != 1 || all[0].Count != 4 {
			t.Errorf("%+v", all)
		}
	})
}

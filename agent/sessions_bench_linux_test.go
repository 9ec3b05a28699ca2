package agent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// The number of sessions, and for how long the agent is watched.
const (
	benchSessions = 1000
	benchWindow   = 60 * time.Second
)

// BenchmarkThousandSessions is what part of a core an agent uses whose programs lead a thousand groups, each through a connection of
// its own, while nothing happens. It also reports the share while nothing is led, and while one group is.
func BenchmarkThousandSessions(b *testing.B) {
	for range b.N {
		v := start(b, cluster.Options{Names: hosts(3), Timing: regent.LAN})
		idle := cpuShare(b, v.Pid("a"), benchWindow/6)
		var clients []*regent.Client
		var leases []*regent.Lease
		var mu sync.Mutex
		var all sync.WaitGroup
		begin := make(chan struct{}, 16)
		lead := func(group int) {
			begin <- struct{}{}
			defer func() { <-begin }()
			c, err := regent.Dial(context.Background(), v.Socket("a"))
			if err != nil {
				b.Error(err)
				return
			}
			l, err := must(c.Group(fmt.Sprintf("group-%d", group))).Campaign(context.Background())
			if err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			clients, leases = append(clients, c), append(leases, l)
		}
		lead(0)
		one := cpuShare(b, v.Pid("a"), benchWindow/3)
		for i := range benchSessions - 1 {
			all.Go(func() { lead(i + 1) })
		}
		all.Wait()
		b.ReportMetric(idle, "idle-%")
		b.ReportMetric(one, "one-%")
		b.ReportMetric(cpuShare(b, v.Pid("a"), benchWindow), "leading-%")
		b.ReportMetric(residentMemory(b, v.Pid("a")), "leading-MiB")
		b.ReportMetric(float64(lost(leases)), "lost")
		b.ReportMetric(0, "ns/op")
		v.must(v.CrashAll())
		for _, c := range clients {
			all.Go(func() { _ = c.Close() })
		}
		all.Wait()
	}
}

// lost returns how many programs were asked to stop.
func lost(leases []*regent.Lease) (n int) {
	for _, l := range leases {
		select {
		case <-l.Done():
			n++
		default:
		}
	}
	return n
}

// cpuShare returns what part of a core a process uses for a while, in percent.
func cpuShare(b *testing.B, pid int, window time.Duration) float64 {
	b.Helper()
	start := time.Now()
	before := cpuTime(b, pid)
	time.Sleep(window) // wall clock: what is measured is what the process does meanwhile
	return 100 * float64(cpuTime(b, pid)-before) / float64(time.Since(start))
}

// cpuTime returns how much processor time a process has used.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	const ticksPerSecond = 100                    // USER_HZ, on all architectures that Go runs on
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold anything
	var user, system int64                        // the 14th and 15th field of the file
	if _, err := fmt.Sscan(strings.Join(strings.Fields(rest)[11:13], " "), &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
	"golang.org/x/sys/unix"
)

// A sample is lengths of time that were measured.
type sample []time.Duration

// at returns a quantile.
func (s sample) at(q float64) time.Duration {
	slices.Sort(s)
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// report reports the median and the 99th percentile, in milliseconds.
func (s sample) report(b *testing.B, name string) {
	b.Helper()
	if len(s) == 0 {
		b.Fatalf("no %s was measured", name)
	}
	b.ReportMetric(float64(s.at(0.5))/1e6, name+"-p50-ms")
	b.ReportMetric(float64(s.at(0.99))/1e6, name+"-p99-ms")
}

// roundTrips measures round trips of a packet between two processes of this host.
func roundTrips(b *testing.B, v *agentProcesses) sample {
	b.Helper()
	other := v.spawn("echo", "a", part(partEcho))
	defer func() { _ = other.Kill() }()
	c, err := net.Dial("udp", v.await(other, "echoes").Text)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var all sample
	p := make([]byte, 64)
	for range 200 {
		start := time.Now()
		if _, err := c.Write(p[:48]); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(p); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(start))
		time.Sleep(time.Millisecond) // wall clock: both go to sleep in between, as members do
	}
	return all
}

// death returns the instant at which the kernel says that a process is dead, to a thread that is blocked until then.
// Nobody can know it sooner.
func death(b *testing.B, pid int) <-chan cluster.Time {
	b.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		b.Fatal(err)
	}
	seen := make(chan cluster.Time, 1)
	go func() {
		defer unix.Close(fd)
		for n := 0; n == 0; {
			n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
		}
		seen <- cluster.Now()
	}()
	return seen
}

// idleDeaths measures how long after kill -9 a process can know that a program is dead which holds a connection and so much
// memory, while nothing else goes on: the connection closes, and its process handle says so.
func idleDeaths(b *testing.B, v *agentProcesses, memory, trials int) sample {
	b.Helper()
	path := v.Dir + "/death.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var all sample
	for range trials {
		encoded, _ := json.Marshal(task{Socket: path, Group: "g", Memory: memory, Journals: v.JournalDir()})
		p := v.spawn("program", "a", part(partProgram, taskVar+"="+string(encoded)))
		c, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		_, _ = c.Read(make([]byte, 64)) // its greeting
		dies := death(b, p.Pid())
		start := cluster.Now()
		v.must(p.Signal(syscall.SIGKILL))
		_, _ = io.Copy(io.Discard, c)
		all = append(all, (<-dies).Sub(start))
		_ = c.Close()
		<-p.Gone()
	}
	return all
}

// BenchmarkProgramKilled is the time from kill -9 of the leading program, whose agent lives on, to the next program being
// elected, on another host: against what no agent could beat, which is that the death is seen, and two round trips. There are
// two such floors. One has the very death that the agent saw, trial by trial; so it is as late as the host was busy. The
// other has deaths of programs that nobody else watches.
func BenchmarkProgramKilled(b *testing.B) {
	for _, memory := range []int{10 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%dMiB", memory>>20), func(b *testing.B) {
			v := start(b, cluster.Options{Names: hosts(3)})
			leader := v.startProgram("p0", "a", task{Memory: memory})
			v.await(leader, "leads")
			var elected, deaths sample
			for i := range b.N {
				next := v.startProgram(fmt.Sprintf("p%d", i+1), []string{"b", "a"}[i%2], task{Memory: memory})
				v.await(next, "waits")
				dies := death(b, leader.Pid())
				// wall clock: the campaign has to reach its agent, and the council has to settle.
				time.Sleep(100 * time.Millisecond)
				start := cluster.Now()
				v.must(leader.Signal(syscall.SIGKILL))
				elected = append(elected, v.await(next, "leads").At.Sub(start))
				deaths = append(deaths, (<-dies).Sub(start))
				<-leader.Gone()
				leader = next
			}
			v.judge(b.N)
			trips, idle := roundTrips(b, v), idleDeaths(b, v, memory, min(b.N, 50))
			two := 2 * trips.at(0.5)
			var ratios []float64
			for i := range elected {
				ratios = append(ratios, float64(elected[i])/float64(deaths[i]+two))
			}
			slices.Sort(ratios)
			for _, q := range []struct {
				name string
				at   float64
			}{{"p50", 0.5}, {"p99", 0.99}} {
				b.ReportMetric(ratios[min(len(ratios)-1, int(q.at*float64(len(ratios))))], "times-the-floor-"+q.name)
				b.ReportMetric(float64(slices.Clone(elected).at(q.at))/float64(idle.at(q.at)+two), "times-the-idle-floor-"+q.name)
			}
			elected.report(b, "elected")
			deaths.report(b, "death")
			idle.report(b, "idle-death")
			trips.report(b, "round-trip")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkProgramResigns is the time from a program saying that it has stopped until the next one, on another host, receives that it
// leads: how much longer an orderly change takes than the program's own stopping.
func BenchmarkProgramResigns(b *testing.B) {
	v := start(b, cluster.Options{Names: hosts(3)})
	ctx := context.Background()
	var ends [2]*session.Conn
	for i, name := range []string{"a", "b"} {
		c, err := session.Dial(ctx, v.Socket(name))
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		ends[i] = c
	}
	l, err := ends[0].Campaign(ctx, session.Candidate{Group: "g"})
	if err != nil {
		b.Fatal(err)
	}
	var all sample
	for i := range b.N {
		type result struct {
			l  *session.Lease
			at time.Time
		}
		next := make(chan result)
		go func() {
			m, err := ends[(i+1)%2].Campaign(ctx, session.Candidate{Group: "g"})
			at := time.Now()
			if err != nil {
				panic(err)
			}
			next <- result{m, at}
		}()
		time.Sleep(50 * time.Millisecond) // wall clock: the council has to know that it waits
		start := time.Now()
		go func(old *session.Lease) { _ = old.Resign(ctx) }(l)
		r := <-next
		all = append(all, r.at.Sub(start))
		l = r.l
	}
	all.report(b, "after-stopping")
	roundTrips(b, v).report(b, "round-trip")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkWhoLeads asks who leads, over HTTP and on the socket, by eight clients at once.
func BenchmarkWhoLeads(b *testing.B) {
	v := start(b, cluster.Options{Names: hosts(3)})
	ctx := context.Background()
	c, err := session.Dial(ctx, v.Socket("a"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Campaign(ctx, session.Candidate{Group: "g"}); err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	for name, ask := range map[string]func() error{
		"http": func() error {
			answer, err := client.Get("http://" + v.address("a") + "/v1/groups/g")
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			_, err = io.Copy(io.Discard, answer.Body)
			return err
		},
		"socket": func() error { _, err := c.View(ctx, "g"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			var mu sync.Mutex
			var all sample
			work := make(chan struct{})
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() {
					var own []time.Duration
					for range work {
						start := time.Now()
						if err := ask(); err != nil {
							b.Error(err)
						}
						own = append(own, time.Since(start))
					}
					mu.Lock()
					all = append(all, own...)
					mu.Unlock()
				})
			}
			start := time.Now()
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			clients.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "requests/s")
			all.report(b, "answer")
		})
	}
}

// BenchmarkThousandGroups is the memory of an agent whose program leads a thousand groups.
func BenchmarkThousandGroups(b *testing.B) {
	for range b.N {
		v := start(b, cluster.Options{Names: hosts(3)})
		before := residentMemory(b, v.Pid("a"))
		c, err := session.Dial(context.Background(), v.Socket("a"))
		if err != nil {
			b.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				if _, err := c.Campaign(context.Background(), session.Candidate{Group: fmt.Sprintf("group-%d", i)}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		time.Sleep(2 * time.Second) // wall clock: memory settles
		b.ReportMetric(before, "idle-MiB")
		b.ReportMetric(residentMemory(b, v.Pid("a")), "leading-MiB")
		b.ReportMetric(0, "ns/op")
		_ = c.Close()
		v.must(v.CrashAll())
	}
}

// residentMemory returns the memory of a process, in MiB.
func residentMemory(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	b.Fatal("no VmRSS")
	return 0
}

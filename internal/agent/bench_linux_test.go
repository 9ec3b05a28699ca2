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

	"github.com/regentproject/regent/internal/session"
)

// report reports the median and the 99th percentile of lengths of time, in milliseconds.
func report(b *testing.B, name string, all []time.Duration) (median time.Duration) {
	b.Helper()
	if len(all) == 0 {
		b.Fatalf("no %s was measured", name)
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[min(len(all)-1, int(q*float64(len(all))))] }
	b.ReportMetric(float64(at(0.5))/1e6, name+"-p50-ms")
	b.ReportMetric(float64(at(0.99))/1e6, name+"-p99-ms")
	return at(0.5)
}

// roundTrip measures a round trip of a packet between two processes of this host.
func roundTrip(b *testing.B, v *village) time.Duration {
	b.Helper()
	other := v.spawn("echo", "REGENT_TEST_ECHO=1", task{Name: "echo"})
	defer other.kill()
	c, err := net.Dial("udp", v.await(other, "echoes").Text)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var all []time.Duration
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
	slices.Sort(all)
	return all[len(all)/2]
}

// deathSeen measures how long after kill -9 anybody can know that a program is dead which holds a connection and so
// much memory: the connection closes, and its process handle says so.
func deathSeen(b *testing.B, v *village, memory, trials int) (all []time.Duration) {
	b.Helper()
	path := v.dir + "/death.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for range trials {
		encoded, _ := json.Marshal(task{Socket: path, Group: "g", Memory: memory, Diary: os.DevNull})
		p := v.spawn("program", "REGENT_TEST_TASK="+string(encoded), task{})
		c, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		who, err := whoIs(c)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = c.Read(make([]byte, 64)) // its greeting
		start := time.Now()
		p.signal(syscall.SIGKILL)
		_, _ = io.Copy(io.Discard, c)
		if !who.dies(context.Background()) {
			b.Fatal("its death was not seen")
		}
		all = append(all, time.Since(start))
		who.close()
		_ = c.Close()
		<-p.gone
	}
	return all
}

// BenchmarkProgramKilled is the time from kill -9 of the leading program, whose agent lives on, to the next program being
// told, on another host: against what no agent could beat.
func BenchmarkProgramKilled(b *testing.B) {
	for _, memory := range []int{10 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%dMiB", memory>>20), func(b *testing.B) {
			v := foundVillage(b, 3, "", false)
			leader := v.startProgram("p0", "a", task{Memory: memory})
			v.await(leader, "leads")
			var all []time.Duration
			for i := range b.N {
				next := v.startProgram(fmt.Sprintf("p%d", i+1), []string{"b", "a"}[i%2], task{Memory: memory})
				v.await(next, "waits")
				// wall clock: the campaign has to reach its agent, and the council has to settle.
				time.Sleep(100 * time.Millisecond)
				start := shared()
				leader.signal(syscall.SIGKILL)
				told := v.await(next, "leads")
				all = append(all, time.Duration(told.At-start))
				<-leader.gone
				leader = next
			}
			v.judge(b.N)
			median := report(b, "told", all)
			floor := report(b, "death", deathSeen(b, v, memory, min(b.N, 50)))
			trip := roundTrip(b, v)
			b.ReportMetric(float64(trip)/1e6, "round-trip-ms")
			b.ReportMetric(float64(median)/float64(floor+2*trip), "times-the-floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkProgramResigns is the time from a program saying that it has stopped to the next one, on another host, being
// told.
func BenchmarkProgramResigns(b *testing.B) {
	v := foundVillage(b, 3, "", false)
	ctx := context.Background()
	var ends [2]*session.Conn
	for i, name := range []string{"a", "b"} {
		c, err := session.Dial(ctx, v.socket(name))
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
	var all []time.Duration
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
	report(b, "told", all)
	b.ReportMetric(float64(roundTrip(b, v))/1e6, "round-trip-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkWhoLeads asks who leads, over HTTP and on the socket, by eight clients at once.
func BenchmarkWhoLeads(b *testing.B) {
	v := foundVillage(b, 3, "", false)
	ctx := context.Background()
	c, err := session.Dial(ctx, v.socket("a"))
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
			answer, err := client.Get("http://" + v.http["a"] + "/v1/groups/g")
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
			var all []time.Duration
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
			report(b, "answer", all)
		})
	}
}

// BenchmarkThousandGroups is the memory of an agent whose program leads a thousand groups.
func BenchmarkThousandGroups(b *testing.B) {
	for range b.N {
		v := foundVillage(b, 3, "", false)
		before := resident64(b, v.agents["a"].cmd.Process.Pid)
		c, err := session.Dial(context.Background(), v.socket("a"))
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
		b.ReportMetric(resident64(b, v.agents["a"].cmd.Process.Pid), "leading-MiB")
		b.ReportMetric(0, "ns/op")
		_ = c.Close()
		v.close()
	}
}

// resident64 returns the memory of a process, in MiB.
func resident64(b *testing.B, pid int) float64 {
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

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// startDefaults starts three agents with a configuration that says nothing of timing but what more does.
func startDefaults(t testing.TB, more string) *runCluster {
	t.Helper()
	h := &runCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Config: more, Regent: command})}
	for _, name := range h.Names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	return h
}

// sleeper starts a runner whose program notes that it runs, with its token.
func (h *runCluster) sleeper(host, group string, flags ...string) *cluster.Process {
	h.t.Helper()
	const program = `echo $$ > "$1/$REGENT_GROUP.$REGENT_TOKEN.draft" && mv "$1/$REGENT_GROUP.$REGENT_TOKEN.draft" "$1/$REGENT_GROUP.$REGENT_TOKEN" && exec sleep 600`
	p, err := h.Run(group+"-"+host, host, group, flags, "/bin/sh", "-c", program, "sh", h.Dir)
	h.check(err)
	return p
}

// runs waits for the program of a group with a higher token, and returns its process.
func (h *runCluster) runs(group string, above uint64) (pid int, token uint64) {
	h.t.Helper()
	cluster.Eventually(h.t, "a program of "+group+" runs", func() bool {
		names, err := filepath.Glob(filepath.Join(h.Dir, group+".*"))
		h.check(err)
		for _, name := range names {
			n, err := strconv.ParseUint(strings.TrimPrefix(filepath.Ext(name), "."), 10, 64)
			if err != nil || n <= above {
				continue
			}
			text, err := os.ReadFile(name)
			h.check(err)
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
			h.check(err)
			token = n
			return true
		}
		return false
	})
	return pid, token
}

// waits waits until a runner waits for a leader elsewhere.
func (h *runCluster) waits(p *cluster.Process) {
	h.t.Helper()
	cluster.Eventually(h.t, "the runner waits", func() bool { return strings.Contains(p.Log(), "waits to lead") })
}

// However long leases are, a program or a runner that dies is replaced when its processes are gone. The bound is far above what that takes and far
// below the lease: BenchmarkReplaced measures it.
func TestProgramsThatDieAreReplacedLongBeforeTheirLeaseEnds(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	h := startDefaults(t, "lease: "+lease.String()+"\n")
	first := h.sleeper("a", "g")
	pid, token := h.runs("g", 0)
	if want := "leases of g last 30s: a program or runner that dies is replaced within about 50ms and its lost hooks, a host or agent after about 30s"; !strings.Contains(first.Log(), want) {
		t.Errorf("the runner does not say how soon it is replaced:\n%s", first.Log())
	}
	for _, c := range []struct {
		what, host string
		kill       func()
	}{
		{"the program", "b", func() { h.check(syscall.Kill(pid, syscall.SIGKILL)) }},
		{"the runner", "c", func() { h.check(h.Process("g-b").Signal(syscall.SIGKILL)) }},
	} {
		h.waits(h.sleeper(c.host, "g"))
		begin := time.Now()
		c.kill()
		pid, token = h.runs("g", token)
		if took := time.Since(begin); took > lease/3 {
			t.Errorf("%s died, and was replaced after %v", c.what, took)
		}
	}
	h.waits(h.sleeper("a", "g", "--lease", "10s"))
	cluster.Eventually(t, "explain names the other length", func() bool { // which the agent knows once it has accepted the campaign
		said := h.output("explain", "g", "--socket", h.Socket("a"))
		return strings.Contains(said, "the group has the leases of its leader c, 30s; here ") && strings.Contains(said, " wants 10s")
	})
}

// BenchmarkReplaced is the time from kill -9 of a leading program, or of its runner, to the start of the next program, on another host, with the
// default lease. The start is when the program has noted that it runs, by the clock of the file system: up to 4 ms early.
func BenchmarkReplaced(b *testing.B) {
	for _, what := range []string{"program", "runner"} {
		b.Run(what, func(b *testing.B) {
			h := startDefaults(b, "")
			leader := h.sleeper("a", "g")
			pid, token := h.runs("g", 0)
			var took []time.Duration
			for i := range b.N {
				next := h.sleeper([]string{"b", "a"}[i%2], "g")
				h.waits(next)
				victim := pid
				if what == "runner" {
					victim = leader.Pid()
				}
				begin := time.Now()
				h.check(syscall.Kill(victim, syscall.SIGKILL))
				pid, token = h.runs("g", token)
				info, err := os.Stat(filepath.Join(h.Dir, "g."+strconv.FormatUint(token, 10)))
				h.check(err)
				took = append(took, info.ModTime().Sub(begin))
				<-leader.Gone()
				leader = next
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
			b.ReportMetric(float64(took[len(took)*9/10])/1e6, "p90-ms")
			b.ReportMetric(float64(took[len(took)-1])/1e6, "max-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// family returns a process and all that descend from it.
func family(pid int) []int {
	out := []int{pid}
	names, _ := filepath.Glob("/proc/[0-9]*")
	for i := 0; i < len(out); i++ {
		for _, name := range names {
			if child, _ := strconv.Atoi(filepath.Base(name)); parentOf(child) == out[i] {
				out = append(out, child)
			}
		}
	}
	return out
}

// suspend stops all processes of a host for a while, as its hypervisor would, and returns for how long they were stopped.
func (h *runCluster) suspend(d time.Duration, processes ...*cluster.Process) time.Duration {
	h.t.Helper()
	var all []int
	for _, p := range processes {
		all = append(all, family(p.Pid())...)
	}
	return h.pause(d, all...)
}

// pause stops processes for a while, and returns for how long they were stopped. A process may end meanwhile, or may have ended since it
// was listed; none stays stopped.
func (h *runCluster) pause(d time.Duration, all ...int) time.Duration {
	h.t.Helper()
	begin := time.Now()
	signal := func(s syscall.Signal) {
		for _, pid := range all {
			if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
				h.t.Error(err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	time.Sleep(d) // wall clock: for so long they do not run
	signal(syscall.SIGCONT)
	return time.Since(begin)
}

// A pause of 2 s of agent, runners and programs costs the program with leases of 200 ms its leadership, and the one with those of the default
// nothing.
func TestPauseCostsShortLeasesOnly(t *testing.T) {
	t.Parallel()
	const pause, tolerated, tries = 2 * time.Second, 3500 * time.Millisecond, 10
	h := startDefaults(t, "")
	quick, slow := h.sleeper("a", "quick", "--lease", "200ms", "--restart"), h.sleeper("a", "slow", "--restart")
	h.runs("slow", 0)
	h.runs("quick", 0)
	h.sleeper("b", "slow", "--restart")
	h.sleeper("b", "quick", "--lease", "200ms", "--restart")
	c, err := regent.Dial(t.Context(), h.Socket("b"))
	h.check(err)
	defer c.Close()
	g, err := c.Group("quick")
	h.check(err)
	of, err := c.Group("slow")
	h.check(err)
	var before, kept regent.View
	// A busy host may stretch a pause beyond what leases of 5 s survive. Such a pause proves nothing, and there is another one.
	for try := 1; ; try++ {
		before, kept = h.ledBy(g, "a"), h.ledBy(of, "a")
		took := h.suspend(pause, h.Process("a"), quick, slow)
		if took <= tolerated {
			break
		}
		if try == tries {
			t.Fatalf("this host is too busy: the last of %d pauses of %v took %v", tries, pause, took)
		}
	}
	cluster.Eventually(t, "quick is led anew", func() bool {
		v, err := g.View(t.Context())
		h.check(err)
		return v.Leader != "" && v.Token > before.Token
	})
	if p, err := of.Verify(t.Context()); err != nil || p.Leader != "a" || p.Token != kept.Token {
		t.Errorf("slow was led by a with token %d: now %+v, %v\n%s", kept.Token, p, err, slow.Log())
	}
	if strings.Contains(slow.Log(), "stopped leading") && kept.Token == 1 {
		t.Errorf("the program of slow was stopped:\n%s", slow.Log())
	}
}

// ledBy waits until a member leads the group, and hands it over to that member where another leads it.
func (h *runCluster) ledBy(g *regent.Group, member string) (v regent.View) {
	h.t.Helper()
	cluster.Eventually(h.t, member+" leads "+g.Name(), func() bool {
		var err error
		v, err = g.View(h.t.Context())
		h.check(err)
		if v.Leader != "" && v.Leader != member {
			_ = h.regent("transfer", g.Name(), member, "--socket", h.Socket(v.Leader)) // refused until a program campaigns there
		}
		return v.Leader == member
	})
	return v
}

package main

import (
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

// startedAt returns when the program of a leadership began, by the clock of the file system.
func (h *runCluster) startedAt(group string, token uint64) time.Time {
	h.t.Helper()
	info, err := os.Stat(filepath.Join(h.Dir, group+"."+strconv.FormatUint(token, 10)))
	h.check(err)
	return info.ModTime()
}

// killHost kills the agent of a host and all that its runners started, at once, and returns when that began.
func (h *runCluster) killHost(host string, groups []string) time.Time {
	h.t.Helper()
	all := []int{h.Process(host).Pid()}
	for _, g := range groups {
		all = append(all, family(h.Process(g+"-"+host).Pid())...)
	}
	begin := time.Now()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL) // some of them kill one another
	}
	for _, g := range append([]string{""}, groups...) {
		<-h.Process(strings.TrimPrefix(g+"-"+host, "-")).Gone()
	}
	return begin
}

// BenchmarkHostKilled is the time from the death of a host, agent and programs, to the start of the program with leases of 200 ms on another host:
// with no other group, and where the host leads a group with the default leases as well. Of the second group it reports by how much the next
// start came after the end of the lease, which must not be negative.
func BenchmarkHostKilled(b *testing.B) {
	for name, groups := range map[string][]string{"short": {"quick"}, "short-beside-long": {"quick", "slow"}} {
		b.Run(name, func(b *testing.B) {
			h := startDefaults(b, "")
			flags := map[string][]string{"quick": {"--lease", "200ms", "--restart"}, "slow": {"--restart"}}
			for _, host := range h.Names {
				for _, g := range groups {
					h.sleeper(host, g, flags[g]...)
				}
			}
			var quick, slow []time.Duration
			for i := range b.N {
				host, asked := h.Names[i%3], h.Names[(i+1)%3]
				c, err := regent.Dial(b.Context(), h.Socket(asked))
				h.check(err)
				tokens, left := make(map[string]uint64), time.Duration(0)
				for _, g := range slices.Backward(groups) { // that with short leases last, for it may go by itself
					group, err := c.Group(g)
					h.check(err)
					tokens[g] = h.ledBy(group, host).Token
				}
				if len(groups) > 1 {
					of := regent.LAN.ForLease(5 * time.Second)
					left = of.Lease - of.Renew - of.RoundTrip // it was renewed at most so long ago
				}
				begin := h.killHost(host, groups)
				_, token := h.runs("quick", tokens["quick"])
				quick = append(quick, h.startedAt("quick", token).Sub(begin))
				if len(groups) > 1 {
					_, token = h.runs("slow", tokens["slow"])
					slow = append(slow, h.startedAt("slow", token).Sub(begin)-left)
				}
				_ = c.Close()
				h.startAgent(host)
				h.check(h.AwaitAgents(host))
				for _, g := range groups {
					h.sleeper(host, g, flags[g]...)
				}
				cluster.Eventually(b, host+" campaigns again", func() bool { return strings.Contains(h.Process("quick-"+host).Log(), "leases of quick last") })
				time.Sleep(regent.LAN.ForLease(5 * time.Second).Restart()) // wall clock: it votes after that, and two of three must
			}
			slices.Sort(quick)
			b.ReportMetric(float64(quick[len(quick)/2])/1e6, "quick-p50-ms")
			b.ReportMetric(float64(quick[len(quick)-1])/1e6, "quick-max-ms")
			if len(slow) > 0 {
				b.ReportMetric(float64(slices.Min(slow))/1e6, "slow-after-its-shortest-lease-ms")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

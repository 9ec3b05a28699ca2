package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
)

// A vipFault is what happens to the host that has the address, and how that is undone once another host has it.
type vipFault struct {
	name     string
	do, undo func(v *vipCluster, host string)
}

// family returns the processes of a host that end a leadership or hold an address, by what they call themselves: the runner, its keeper, the process that holds
// the addresses, and the agent.
func (v *vipCluster) family(host string) map[string]int {
	out := map[string]int{"agent": v.Process(host).Pid(), "runner": v.Process(runnerOf(host)).Pid()}
	if v.byAgent {
		out["command"], out["runner"] = out["runner"], children(out["agent"])["regent"]
	}
	for name, pid := range children(out["runner"]) {
		out[strings.TrimPrefix(name, "regent-")] = pid
	}
	return out
}

// children returns the children of a process by what they call themselves.
func children(of int) map[string]int {
	out := make(map[string]int)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, path := range lists {
		b, _ := os.ReadFile(path)
		for word := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(word)
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if name, _, _ := strings.Cut(string(text), "\x00"); err == nil {
				out[name] = pid
			}
		}
	}
	return out
}

// signal sends a signal to processes of a host, one right after the other. Those that are gone by then do not matter.
func (v *vipCluster) signal(pids map[string]int, s syscall.Signal, names ...string) {
	for _, name := range names {
		if pid := pids[name]; pid > 0 {
			_ = syscall.Kill(pid, s)
		}
	}
}

// paused is a fault in which processes stop for longer than a lease.
func paused(names ...string) vipFault {
	var pids map[string]int
	return vipFault{name: strings.Join(names, ", ") + " paused",
		do: func(v *vipCluster, host string) {
			pids = v.family(host)
			v.signal(pids, syscall.SIGSTOP, names...)
		},
		undo: func(v *vipCluster, host string) { v.signal(pids, syscall.SIGCONT, names...) }}
}

// killed is a fault in which processes are killed, and started again.
func killed(names ...string) vipFault {
	return vipFault{name: strings.Join(names, ", ") + " killed",
		do: func(v *vipCluster, host string) { v.signal(v.family(host), syscall.SIGKILL, names...) },
		undo: func(v *vipCluster, host string) {
			if slices.Contains(names, "agent") {
				v.ended(host)
				v.check2(v.StartAgent(host))
				v.check(v.AwaitAgents(host))
			}
			if slices.Contains(names, "runner") && !v.byAgent || slices.Contains(names, "command") {
				v.ended(runnerOf(host))
				v.startVIP(host)
			}
		}}
}

var (
	nothing   = func(*vipCluster, string) {}
	vipFaults = []vipFault{
		{"resigned", func(v *vipCluster, host string) { _ = v.regentAt(host, "resign", "web") }, nothing},
		{"asked to stop", func(v *vipCluster, host string) { v.Finish(v.t, runnerOf(host)) }, func(v *vipCluster, host string) { v.startVIP(host) }},
		killed("runner"), killed("address"), killed("runner", "keep"),
	}
	// vipPauses take as long as a lease, each.
	vipPauses = []vipFault{
		paused("runner"), paused("agent"), paused("runner", "keep"), paused("runner", "keep", "address"), paused("runner", "keep", "agent"),
		paused("runner", "keep", "agent", "address"), killed("agent"), killed("runner", "keep", "agent"),
		{"cut off", func(v *vipCluster, host string) { v.check(v.Unplug(host)) }, func(v *vipCluster, host string) { v.check(v.Plug(host)) }},
	}
)

// vipRounds returns faults in the order in which a test applies them: one of each quick kind, and in a long run 200 of all kinds. Of addresses that agents add
// there are fewer: all but their parent is the same.
func vipRounds(byAgent bool) []vipFault {
	quick, rounds := vipFaults, 200
	if byAgent {
		quick, rounds = append(slices.Clone(vipFaults), killed("command")), 40
	}
	switch {
	case os.Getenv("REGENT_TEST") == "long":
	case byAgent:
		return []vipFault{killed("command"), killed("runner", "keep")}
	default:
		return append(slices.Clone(vipFaults), paused("runner", "keep", "agent", "address"))
	}
	const inTen, pauses = 10, 4
	random := rand.New(rand.NewPCG(1, 2))
	var out []vipFault
	for range rounds {
		from := quick
		if random.IntN(inTen) < pauses {
			from = vipPauses
		}
		out = append(out, from[random.IntN(len(from))])
	}
	return out
}

// An address is on one host at a time, whatever is killed, paused or cut off, and neighbours send to that host at once.
func TestAnAddressMovesAndIsNeverOnTwoHosts(t *testing.T) {
	if err := cluster.CanNamespaces(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return // there are no hosts to move it between
	}
	t.Parallel()
	for _, byAgent := range []bool{false, true} {
		t.Run(map[bool]string{false: "by the command", true: "by the agent"}[byAgent], func(t *testing.T) {
			if os.Getenv("REGENT_TEST") != "long" { // which measures
				t.Parallel()
			}
			moveVIP(t, byAgent)
		})
	}
}

func moveVIP(t *testing.T, byAgent bool) {
	v := startVIP(t, byAgent)
	host := v.holder("")
	outages := make(map[string][]time.Duration)
	for i, fault := range vipRounds(byAgent) {
		v.rivals(host)
		begun := time.Now()
		fault.do(v, host)
		next := v.holder(host)
		outage := v.outage(begun)
		outages[fault.name] = append(outages[fault.name], outage)
		entry, hardware, err := v.Neighbour(vip4, next)
		if err != nil || entry != hardware {
			t.Errorf("%d: %s: the switch sends to %s, %s has %s: %v", i, fault.name, entry, next, hardware, err)
		}
		fault.undo(v, host)
		v.ready(host)
		host = next
	}
	for _, name := range v.Names {
		v.Finish(t, runnerOf(name))
	}
	if left, err := v.HasAddress(vip4); err != nil || len(left) != 0 {
		t.Errorf("%v have the address after all have stopped: %v", left, err)
	}
	v.judge()
	var all []time.Duration
	for name, some := range outages {
		all = append(all, some...)
		t.Logf("%-40s %s", name, quantiles(some))
	}
	t.Logf("%-40s %s", "all", quantiles(all))
}

// ended waits until a process that was killed has ended.
func (v *vipCluster) ended(name string) {
	v.t.Helper()
	cluster.Eventually(v.t, name+" has ended", v.Process(name).Ended)
}

// ready waits until the agent of a host knows who leads.
func (v *vipCluster) ready(host string) {
	v.t.Helper()
	cluster.Eventually(v.t, "the agent of "+host+" knows the leader", func() bool {
		return v.regentAt(host, "who", "web") == nil
	})
}

// rivals waits until all other hosts campaign. One whose address was taken away by a fault pauses before it does, and without a rival who resigns is elected again.
func (v *vipCluster) rivals(host string) {
	v.t.Helper()
	for _, name := range v.Names {
		cluster.Eventually(v.t, name+" campaigns", func() bool {
			var all api.SessionList
			err := newClient(v.Socket(name)).get(v.t.Context(), "/v1/sessions?group=web", &all)
			return name == host || err == nil && slices.ContainsFunc(all.Sessions, func(s api.SessionInfo) bool { return s.Group == "web" && s.State == "waiting" })
		})
	}
}

// outage returns the longest time without an answer of the address since a fault.
func (v *vipCluster) outage(since time.Time) (longest time.Duration) {
	answers := v.ping.Answers()
	for i := len(answers) - 1; i > 0 && !answers[i].Before(since); i-- {
		longest = max(longest, answers[i].Sub(answers[i-1]))
	}
	return longest
}

// quantiles describes lengths of time.
func quantiles(all []time.Duration) string {
	slices.Sort(all)
	at := func(part int) time.Duration { return all[min(len(all)-1, len(all)*part/100)].Round(time.Millisecond) }
	return fmt.Sprintf("%3d times: no answer for p50 %v, p90 %v, at most %v", len(all), at(50), at(90), at(100))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A usage is what all processes of a system have used so far.
type usage struct {
	cpu      time.Duration
	memory   uint64
	switches uint64
	// packets and bytes left the hosts; inside are those between processes of one host. Hosts that are not network namespaces count none.
	packets, bytes, inside uint64
}

// cost is what a system uses while nothing happens, of all three hosts together, per second where that makes sense.
type cost struct {
	Seconds  float64 `json:"seconds"`
	Cores    float64 `json:"cpu_percent_of_a_core"`
	Memory   float64 `json:"memory_mb"`
	Switches float64 `json:"context_switches_per_second"`
	// Packets, Bytes and Inside are missing where hosts have no networks of their own, and Calls where perf cannot count.
	Packets *float64 `json:"packets_per_second"`
	Bytes   *float64 `json:"bytes_per_second"`
	Inside  *float64 `json:"packets_inside_hosts_per_second"`
	Calls   *float64 `json:"system_calls_per_second"`
	// Changes came without a cause.
	Changes int `json:"changes"`
}

// pids returns the processes of all hosts.
func (r *rig) pids() (all []int) {
	for _, host := range hosts {
		for _, name := range r.processes(host) {
			if p := r.c.Process(name); p != nil && !p.Ended() {
				all = append(append(all, p.Pid()), children(p.Pid())...)
			}
		}
	}
	return all
}

// usage asks the kernel.
func (r *rig) usage() (usage, error) {
	var u usage
	for _, pid := range r.pids() {
		if err := u.add(pid); err != nil {
			return u, err
		}
	}
	if !r.apart {
		return u, nil
	}
	for _, host := range hosts {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", r.c.Process("candidate-"+host).Pid()))
		if err != nil {
			return u, err
		}
		out, inside := devices(string(b))
		u.packets, u.bytes, u.inside = u.packets+out[0], u.bytes+out[1], u.inside+inside[0]
	}
	return u, nil
}

// add adds what a process has used.
func (u *usage) add(pid int) error {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return err
	}
	for _, dir := range tasks {
		if b, err := os.ReadFile(filepath.Join(dir, "schedstat")); err == nil { // otherwise the thread has just ended
			ns, _ := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
			u.cpu += time.Duration(ns)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "status")); err == nil {
			u.switches += field(string(b), "voluntary_ctxt_switches:") + field(string(b), "nonvoluntary_ctxt_switches:")
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err
	}
	u.memory += field(string(status), "VmRSS:") << 10
	return nil
}

// field finds a number in a file of /proc.
func field(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				n, _ := strconv.ParseUint(words[0], 10, 64)
				return n
			}
		}
	}
	return 0
}

// devices reads /proc/net/dev: packets and bytes that were sent, by all interfaces but the loopback, and by that.
func devices(text string) (out, inside [2]uint64) {
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		words := strings.Fields(rest)
		if !ok || len(words) < 10 {
			continue
		}
		bytes, _ := strconv.ParseUint(words[8], 10, 64)
		packets, _ := strconv.ParseUint(words[9], 10, 64)
		to := &out
		if name == "lo" {
			to = &inside
		}
		to[0], to[1] = to[0]+packets, to[1]+bytes
	}
	return out, inside
}

// idle measures what it costs to do nothing, and counts changes that nothing caused. Candidates do not look at whether they lead meanwhile.
func (r *rig) idle(ctx context.Context, length time.Duration) (cost, error) {
	if err := r.sleep(ctx, time.Second); err != nil {
		return cost{}, err
	}
	changes := r.changes
	before, err := r.usage()
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	if err := r.sleep(ctx, length); err != nil {
		return cost{}, err
	}
	after, err := r.usage()
	if err != nil {
		return cost{}, err
	}
	c := between(before, after, time.Since(begin), r.apart)
	c.Changes = r.changes - changes
	c.Calls = r.calls(ctx, min(length/4, 5*time.Second))
	return c, nil
}

// between returns what was used between two readings.
func between(before, after usage, length time.Duration, packets bool) cost {
	s := length.Seconds()
	per := func(a, b uint64) *float64 {
		if !packets {
			return nil
		}
		x := float64(b-a) / s
		return &x
	}
	return cost{Seconds: s, Cores: 100 * (after.cpu - before.cpu).Seconds() / s, Memory: float64(after.memory) / 1e6, Switches: float64(after.switches-before.switches) / s,
		Packets: per(before.packets, after.packets), Bytes: per(before.bytes, after.bytes), Inside: per(before.inside, after.inside)}
}

// calls counts the system calls of all processes for a while, with perf: after the rest was measured, because counting costs something itself.
func (r *rig) calls(ctx context.Context, length time.Duration) *float64 {
	var pids []string
	for _, pid := range r.pids() {
		pids = append(pids, strconv.Itoa(pid))
	}
	c := exec.CommandContext(ctx, "perf", "stat", "-x", ";", "-e", "raw_syscalls:sys_enter", "-p", strings.Join(pids, ","), "--", "sleep", fmt.Sprintf("%.3f", length.Seconds()))
	var text strings.Builder
	c.Stderr = &text
	done := make(chan error, 1)
	go func() { done <- c.Run() }()
	for {
		select {
		case e := <-r.events:
			r.record(e)
		case err := <-done:
			n, counted := perfCount(text.String())
			if err != nil || !counted || length <= 0 {
				return nil
			}
			x := n / length.Seconds()
			return &x
		}
	}
}

// perfCount reads what perf stat printed.
func perfCount(text string) (float64, bool) {
	for line := range strings.Lines(text) {
		words := strings.Split(line, ";")
		if len(words) > 2 && strings.HasPrefix(words[2], "raw_syscalls:sys_enter") {
			n, err := strconv.ParseFloat(words[0], 64)
			return n, err == nil
		}
	}
	return 0, false
}

// burn keeps processors busy with ordinary processes while something is done. They end with their input, so also with this process.
func burn(n int, during func() error) error {
	var ends []func() error
	var failed error
	for range n {
		c := exec.Command("sh", "-c", "yes >/dev/null & cat >/dev/null; kill $!")
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			failed = fmt.Errorf("a busy process: %w", err)
			break
		}
		ends = append(ends, func() error { return errors.Join(in.Close(), c.Wait()) })
	}
	if failed == nil {
		failed = during()
	}
	for _, end := range ends {
		failed = errors.Join(failed, end())
	}
	return failed
}

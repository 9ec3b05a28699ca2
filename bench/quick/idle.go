package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// usage is what processes have used so far.
type usage struct {
	cpu            time.Duration
	packets, bytes uint64
	memory         uint64
}

// idle measures what a council of three costs when nothing happens, with many groups, and how soon all groups of a
// member that dies are led again: also if their leaders announce values.
func idle(ctx context.Context, s settings, groups int, realtime, values bool, out io.Writer) error {
	if s.idle == 0 {
		return nil
	}
	with := ""
	if values {
		with = ", with values"
	}
	c, err := openMany(ctx, s, groups, realtime, values)
	if err != nil {
		return err
	}
	before, err := c.usage(ctx)
	if err != nil {
		return errors.Join(err, c.close())
	}
	if err := c.sleep(ctx, s.idle); err != nil {
		return errors.Join(err, c.close())
	}
	after, err := c.usage(ctx)
	if err != nil {
		return errors.Join(err, c.close())
	}
	seconds := s.idle.Seconds()
	fmt.Fprintf(out, "idle, %5d groups%s, 3 members, %-8s %5.2f %% of a core  %6.1f packets/s  %7.0f bytes/s  %5.1f MB each", groups, with, named(realtime),
		100*(after.cpu-before.cpu).Seconds()/seconds, float64(after.packets-before.packets)/seconds,
		float64(after.bytes-before.bytes)/seconds, float64(after.memory)/3/1e6)
	if groups > 1 {
		took, cpu, err := c.burst(ctx, groups)
		if err != nil {
			return errors.Join(err, c.close())
		}
		fmt.Fprintf(out, "  all led again %s after kill -9, with %s of processor time", ms(took), ms(cpu))
	}
	fmt.Fprintln(out)
	return c.close()
}

// openMany starts a council of three in which one member leads all of many groups, and the others campaign for them.
func openMany(ctx context.Context, s settings, groups int, realtime, values bool) (*experiment, error) {
	led := cluster.QuietGroups(groups)
	for i := range led {
		if values {
			led[i].Value = fmt.Sprintf("http://10.0.0.1:8080/%s/", led[i].Name)
		}
	}
	c, err := open(ctx, s, cluster.Options{NoRealtime: !realtime, Groups: led, Hold: true}, 3)
	if err != nil {
		return nil, err
	}
	for _, name := range c.cluster.Names {
		if err := c.cluster.Say(name, "campaign"); err != nil {
			return nil, errors.Join(err, c.close())
		}
		err := c.await(ctx, time.Minute, func(*cluster.Event) bool { return c.ledGroups() == groups })
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%d of %d groups are led: %w", c.ledGroups(), groups, err), c.close())
		}
	}
	if err := c.sleep(ctx, 2*time.Second); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// ledGroups is how many groups are led, as the members count.
func (c *experiment) ledGroups() int {
	sum := 0
	for _, n := range c.counted {
		sum += n
	}
	return sum
}

// burst kills the member that leads most groups, and measures how long it takes until all are led again, and how much processor time
// the others use for that.
func (c *experiment) burst(ctx context.Context, groups int) (took, cpu time.Duration, err error) {
	most := ""
	for name, n := range c.counted {
		if most == "" || n > c.counted[most] {
			most = name
		}
	}
	before, err := c.survivors(most)
	if err != nil {
		return 0, 0, err
	}
	begin := cluster.Now()
	if err := c.cluster.Crash(most); err != nil {
		return 0, 0, err
	}
	delete(c.counted, most)
	var last cluster.Time
	err = c.await(ctx, time.Minute, func(e *cluster.Event) bool { last = e.At; return c.ledGroups() == groups })
	if err != nil {
		return 0, 0, fmt.Errorf("%d of %d groups are led again: %w", c.ledGroups(), groups, err)
	}
	after, err := c.survivors(most)
	return last.Sub(begin), after - before, err
}

// survivors returns the processor time that all but one member have used.
func (c *experiment) survivors(but string) (sum time.Duration, err error) {
	for _, name := range c.cluster.Names {
		if name == but {
			continue
		}
		cpu, _, err := process(c.cluster.Pid(name))
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// usage asks all members what they have sent, and the system what they have used.
func (c *experiment) usage(ctx context.Context) (usage, error) {
	var u usage
	c.statuses = make(map[string]cluster.Event)
	for _, name := range c.cluster.Names {
		if err := c.cluster.Say(name, "status"); err != nil {
			return u, err
		}
	}
	if err := c.await(ctx, 10*time.Second, func(*cluster.Event) bool { return len(c.statuses) == len(c.cluster.Names) }); err != nil {
		return u, err
	}
	for _, name := range c.cluster.Names {
		s := c.statuses[name].Status
		u.packets, u.bytes = u.packets+s.PacketsOut, u.bytes+s.BytesOut
		cpu, memory, err := process(c.cluster.Pid(name))
		if err != nil {
			return u, err
		}
		u.cpu, u.memory = u.cpu+cpu, u.memory+memory
	}
	return u, nil
}

// process reads what Linux knows of a process.
func process(pid int) (cpu time.Duration, memory uint64, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, 0, err
	}
	for _, t := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
		if err != nil {
			continue // the thread has just ended
		}
		ns, _ := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		cpu += time.Duration(ns)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			memory = kb << 10
		}
	}
	return cpu, memory, nil
}

// spontaneous counts changes of leader that nobody caused, on an idle host or on one that is busy with other things.
func spontaneous(ctx context.Context, s settings, calm, realtime bool, out io.Writer) error {
	length, what := s.calm, "calm"
	if !calm {
		length, what = s.busy, "busy"
	}
	if length == 0 {
		return nil
	}
	c, err := open(ctx, s, cluster.Options{NoRealtime: !realtime, Poll: pollEvery, Groups: cluster.OneGroup}, 3)
	if err != nil {
		return err
	}
	if !calm {
		stop, err := burnAll(ctx)
		if err != nil {
			return errors.Join(err, c.close())
		}
		defer stop()
	}
	if err := c.sleep(ctx, 2*time.Second); err != nil {
		return errors.Join(err, c.close())
	}
	c.changes, c.causes = 0, make(map[string]int)
	if err := c.sleep(ctx, length); err != nil {
		return errors.Join(err, c.close())
	}
	changes := c.changes
	if _, err := c.usage(ctx); err != nil {
		return errors.Join(err, c.close())
	}
	var pauses []string
	for _, name := range c.cluster.Names {
		p := c.statuses[name].Status
		pauses = append(pauses, fmt.Sprintf("%s/%s/%s", ms(p.PauseMedian), ms(p.PauseP99), ms(p.PauseLongest)))
	}
	fmt.Fprintf(out, "%s for %v, 3 members, %-8s %d changes without a cause; pauses p50/p99/max %s; %v\n", what, length, named(realtime),
		changes, strings.Join(pauses, " "), c.causes)
	_, wrong := c.cluster.Check(cluster.Rules{})
	return errors.Join(wrong, c.close())
}

// burnAll keeps all processors busy until it is stopped.
func burnAll(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*exec.Cmd
	stop = func() {
		cancel()
		for _, c := range all {
			_ = c.Wait()
		}
	}
	path, err := os.Executable()
	if err != nil {
		return stop, err
	}
	for range runtime.NumCPU() {
		c := exec.CommandContext(ctx, path, "burn")
		if err := c.Start(); err != nil {
			stop()
			return stop, err
		}
		all = append(all, c)
	}
	return stop, nil
}

// burn is a process that keeps one processor busy.
func burn() {
	runtime.GOMAXPROCS(1)
	parent := os.Getppid()
	for n := 0; ; n++ {
		if n%(1<<28) == 0 && os.Getppid() != parent {
			return
		}
	}
}

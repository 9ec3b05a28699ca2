//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// lateness is how long processes ran after an instant.
type lateness []time.Duration

// quantile returns the smallest that is not below a share of all.
func (l lateness) quantile(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(l))
	return s[min(len(s)-1, int(share*float64(len(s))))]
}

func (l lateness) String() string {
	if len(l) == 0 {
		return "none"
	}
	r := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d, p50 %v, p99 %v, max %v", len(l), r(l.quantile(0.5)), r(l.quantile(0.99)), r(slices.Max(l)))
}

// late returns for hosts of a kind how long processes ran after they had to be killed, a guard time before their deadline, and after
// the deadline itself. Exceptions are not among them.
func (r *record) late(cgroup bool) (kill, deadline lateness) {
	for i, t := range r.tenures {
		if t.cgroup != cgroup || t.runner == 0 || t.deadline == 0 {
			continue
		}
		for _, p := range t.all {
			end := p.seen
			if i+1 < len(r.tenures) && r.tenures[i+1].group == t.group {
				end = max(end, r.tenures[i+1].begin())
			}
			if p.seen <= t.deadline.Add(-guard) || r.excuse(t, p, end) != noException {
				continue
			}
			kill = append(kill, p.seen.Sub(t.deadline.Add(-guard)))
			if p.seen > t.deadline {
				deadline = append(deadline, p.seen.Sub(t.deadline))
			}
		}
	}
	return kill, deadline
}

// exceptions counts processes that ran beside their successors, by exception, and returns for how long.
func (r *record) exceptions() map[exception]lateness {
	all := make(map[exception]lateness)
	for i, t := range r.tenures {
		if i+1 == len(r.tenures) || r.tenures[i+1].group != t.group {
			continue
		}
		next := r.tenures[i+1].begin()
		for _, p := range t.all {
			if p.seen > next {
				why := r.excuse(t, p, next)
				all[why] = append(all[why], p.seen.Sub(next))
			}
		}
	}
	return all
}

// report prints what happened.
func (a *arena) report(r *record) {
	where, lost := make(map[string]int), 0
	for _, t := range r.tenures {
		where[t.host]++
		if t.runner != 0 && len(t.lost) > 0 {
			lost++
		}
	}
	seen, all := r.announced()
	load, _ := os.ReadFile("/proc/loadavg")
	out := func(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }
	out("\n%d faults in %v, load %s: %s", a.struck, time.Since(a.begin).Round(time.Second), strings.TrimSpace(string(load)), counts(a.done))
	out("%d leaderships: %s; of %d no deadline was seen; %d with lost hooks; %d runners ended by themselves %v", len(r.tenures), counts(where), all-seen, lost, len(a.ended), a.ended)
	for _, k := range []struct {
		name   string
		cgroup bool
	}{{"with cgroups", true}, {"without cgroups", false}} {
		kill, deadline := r.late(k.cgroup)
		out("hosts %s: processes that had to be killed, after that instant: %v; after the deadline, %v later: %v", k.name, kill, guard, deadline)
	}
	for why, l := range r.exceptions() {
		if why == noException {
			why = "NO EXCEPTION"
		}
		out("beside their successor (%s): %v", why, l)
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	out("the store carried out %d writes, and refused %d of stale programs", a.store.writes, a.store.stale)
}

// counts lists what was counted, by name.
func counts(m map[string]int) string {
	var all []string
	for name, n := range m {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

//go:build linux

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regentproject/regent/agent/cluster"
)

// A record is what happened in a run, as far as the judge needs it. All times are of one clock.
type record struct {
	tenures []*tenure // of each group in the order of their tokens
	downs   []down
	older   []string  // writes that the store should have refused
	left    []tenured // processes that outlived all guardians
	// bare are runners that had no keeper.
	bare map[int]bool
}

// down is that a process of a runner, or an agent, was killed or did not run for a while.
type down struct {
	host, group string
	part        part
	runner      int // its number
	killed      bool
	from, to    cluster.Time // to is zero if it did not run again
}

// tenure is one leadership.
type tenure struct {
	tenureKey
	host   string
	cgroup bool
	// runner is the number of the runner; zero for members by the library.
	runner int
	// elected and lost are the runs of hooks.
	elected, lost []hookRun
	// deadline is the highest that was seen announced; zero: none was seen.
	deadline cluster.Time
	all      []acted
}

// acted is a process of a tenure, from its first sign to its last.
type acted struct {
	role        role
	pid         int
	since, seen cluster.Time
}

// tenured is a process with its tenure.
type tenured struct {
	tenure *tenure
	acted
}

// hookRun is one run of a hook; end is zero if it was killed.
type hookRun struct {
	begin, end cluster.Time
	parent     int
}

// begin is the first sign of a tenure: of its elected hook, or of its program.
func (t *tenure) begin() (at cluster.Time) {
	for _, h := range t.elected {
		if at == 0 || h.begin < at {
			at = h.begin
		}
	}
	for _, p := range t.all {
		if at == 0 || p.since < at {
			at = p.since
		}
	}
	return at
}

// last is the last sign of the processes of a tenure.
func (t *tenure) last() (at cluster.Time) {
	for _, p := range t.all {
		at = max(at, p.seen)
	}
	return at
}

func (t *tenure) String() string { return fmt.Sprintf("%s with token %d", t.host, t.token) }

// book collects tenures.
type book map[tenureKey]*tenure

func (b book) of(group string, token uint64, host string) *tenure {
	k := tenureKey{group, token}
	if b[k] == nil {
		b[k] = &tenure{tenureKey: k, host: host}
	}
	return b[k]
}

// record reads what was written down.
func (a *arena) record() (*record, error) {
	spans, err := a.Spans()
	if err != nil {
		return nil, err
	}
	b := make(book)
	r := &record{downs: a.downs, bare: make(map[int]bool)}
	for _, s := range spans {
		host, kind, _ := strings.Cut(s.Holder, "/")
		t := b.of(s.Group, s.Token, host)
		if t.host != host {
			return nil, fmt.Errorf("group %s: %s and %s both have token %d", s.Group, t.host, host, s.Token)
		}
		t.all = append(t.all, acted{role(kind), s.Pid, s.Since, s.Seen})
	}
	text, err := os.ReadFile(filepath.Join(a.Dir, hooksName))
	if err != nil {
		return nil, err
	}
	if err := b.hooks(string(text)); err != nil {
		return nil, err
	}
	a.tap.mu.Lock()
	for k, t := range b {
		t.deadline = a.tap.deadlines[k]
		if pid := a.tap.runners[k]; pid != 0 {
			t.runner = pid
		}
	}
	a.tap.mu.Unlock()
	a.store.mu.Lock()
	r.older = slices.Clone(a.store.older)
	a.store.mu.Unlock()
	for _, t := range b {
		if t.begin() == 0 {
			continue // nothing of it ran: its lost hooks are all there was
		}
		t.cgroup = slices.ContainsFunc(a.hosts, func(h *host) bool { return h.name == t.host && h.cgroup })
		r.tenures = append(r.tenures, t)
	}
	for _, p := range a.store.left() {
		if t := b[tenureKey{p.group, p.token}]; t != nil {
			r.left = append(r.left, tenured{t, acted{role: p.role, pid: p.pid, seen: cluster.Now()}})
		}
	}
	for name, pid := range a.runners {
		if strings.Contains(a.Process(name).Log(), noKeeper) {
			r.bare[pid] = true
		}
	}
	r.sort()
	return r, nil
}

// noKeeper is what a runner logs that has none.
const noKeeper = "no keeper:"

func (r *record) sort() {
	slices.SortFunc(r.tenures, func(a, b *tenure) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.token, b.token)) })
}

// hooks reads what hooks wrote: a line when one begins, and one when it ends.
func (b book) hooks(text string) error {
	for line := range strings.Lines(text) {
		var name, host, group string
		var end bool
		var token uint64
		var parent int
		var at int64
		if _, err := fmt.Sscan(line, &name, &end, &host, &group, &token, &parent, &at); err != nil {
			return fmt.Errorf("hooks: %w in %q", err, line)
		}
		t := b.of(group, token, host)
		runs := &t.elected
		if name == hookLost {
			runs = &t.lost
		}
		switch i := slices.IndexFunc(*runs, func(h hookRun) bool { return h.parent == parent && h.end == 0 }); {
		case !end:
			*runs = append(*runs, hookRun{begin: cluster.Time(at), parent: parent})
		case i >= 0:
			(*runs)[i].end = cluster.Time(at)
		}
		if name == hookElected && t.runner == 0 {
			t.runner = parent
		}
	}
	return nil
}

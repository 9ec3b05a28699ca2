//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// at returns an instant of a made-up run.
func at(d time.Duration) cluster.Time { return cluster.Time(time.Hour + d) }

// The numbers of the runners of the two leaderships.
const (
	firstRunner  = 101
	secondRunner = 102
)

// two returns a run in which one leadership follows another as it should: the first on a host without cgroups, its deadline at 3 s, and
// its program killed a guard time before that.
func two() *record {
	a := &tenure{tenureKey: tenureKey{"g", 1}, host: "b", runner: firstRunner, deadline: at(3 * time.Second),
		elected: []hookRun{{begin: at(0), end: at(10 * time.Millisecond), parent: firstRunner}},
		lost:    []hookRun{{begin: at(2010 * time.Millisecond), end: at(2020 * time.Millisecond), parent: firstRunner}},
		all:     []acted{{role: roleMain, pid: 1, since: at(20 * time.Millisecond), seen: at(2 * time.Second)}}}
	b := &tenure{tenureKey: tenureKey{"g", 2}, host: "a", cgroup: true, runner: secondRunner, deadline: at(9 * time.Second),
		elected: []hookRun{{begin: at(3100 * time.Millisecond), end: at(3110 * time.Millisecond), parent: secondRunner}},
		lost:    []hookRun{{begin: at(8 * time.Second), end: at(8010 * time.Millisecond), parent: secondRunner}},
		all:     []acted{{role: roleMain, pid: 2, since: at(3120 * time.Millisecond), seen: at(7 * time.Second)}}}
	return &record{tenures: []*tenure{a, b}, bare: make(map[int]bool)}
}

// stopped returns that guardians of the first leadership did not run between two instants; a zero length: they were killed.
func stopped(from, length time.Duration, all ...part) (downs []down) {
	for _, p := range all {
		d := down{host: "b", group: "g", part: p, runner: firstRunner, from: at(from), killed: length == 0}
		if length > 0 {
			d.to = at(from + length)
		}
		downs = append(downs, d)
	}
	return downs
}

func TestJudge(t *testing.T) {
	guardians := []part{partRunner, partKeeper, partAgent}
	for _, c := range []struct {
		name string
		rule string // that is broken; empty: none is
		do   func(r *record, a, b *tenure)
	}{
		{"all is well", "", func(r *record, a, b *tenure) {}},
		{"no deadline was seen", ruleSeen, func(r *record, a, b *tenure) { a.deadline, b.deadline = 0, 0 }},
		{"a program runs beside its successor", ruleAlone, func(r *record, a, b *tenure) { a.all[0].seen = at(3200 * time.Millisecond) }},
		{"a program runs beside the elected hook of its successor", ruleAlone, func(r *record, a, b *tenure) { a.all[0].seen = at(3105 * time.Millisecond) }},
		{"a daemon runs beside its successor", ruleAlone, func(r *record, a, b *tenure) {
			a.all = append(a.all, acted{role: roleDaemon, since: at(time.Second), seen: at(4 * time.Second)})
		}},
		{"no guardian ran", "", func(r *record, a, b *tenure) {
			a.all[0].seen = at(3200 * time.Millisecond)
			r.downs = stopped(time.Second, 2150*time.Millisecond, guardians...)
		}},
		{"the keeper ran", ruleAlone, func(r *record, a, b *tenure) {
			a.all[0].seen = at(3200 * time.Millisecond)
			r.downs = stopped(time.Second, 2150*time.Millisecond, partRunner, partAgent)
		}},
		{"all guardians ran again in time", ruleAlone, func(r *record, a, b *tenure) {
			a.all[0].seen = at(3200 * time.Millisecond)
			r.downs = stopped(time.Second, 900*time.Millisecond, guardians...)
		}},
		{"all guardians were killed", "", func(r *record, a, b *tenure) {
			a.all[0].seen = at(3200 * time.Millisecond)
			r.downs = stopped(time.Second, 0, guardians...)
		}},
		{"the guardians of another runner were killed", ruleAlone, func(r *record, a, b *tenure) {
			a.all[0].seen = at(3200 * time.Millisecond)
			a.runner = secondRunner
			r.downs = stopped(time.Second, 0, guardians...)
		}},
		{"a setuid child outside a cgroup", "", func(r *record, a, b *tenure) { a.all[0].role, a.all[0].seen = roleSetuid, at(4*time.Second) }},
		{"a setuid child in a cgroup", ruleAlone, func(r *record, a, b *tenure) {
			a.cgroup, a.all[0].role, a.all[0].seen = true, roleSetuid, at(4*time.Second)
		}},
		{"a hidden child whose runner was killed", "", func(r *record, a, b *tenure) {
			a.all[0].role, a.all[0].seen = roleHidden, at(4*time.Second)
			r.downs = stopped(time.Second, 0, partRunner)
		}},
		{"a hidden child whose runner lives", ruleAlone, func(r *record, a, b *tenure) { a.all[0].role, a.all[0].seen = roleHidden, at(4*time.Second) }},
		{"another is elected under a setuid child", ruleEarly, func(r *record, a, b *tenure) {
			a.all[0].role, a.all[0].seen, a.deadline = roleSetuid, at(4*time.Second), at(3500*time.Millisecond)
		}},
		{"a lower token later", ruleTokens, func(r *record, a, b *tenure) { a.token, b.token = 2, 1; r.sort() }},
		{"a stale write", ruleFence, func(r *record, a, b *tenure) { r.older = []string{"a write"} }},
		{"a lost hook during the next leadership", ruleHooks, func(r *record, a, b *tenure) {
			a.lost[0].end, a.deadline = at(3200*time.Millisecond), at(3500*time.Millisecond)
		}},
		{"a lost hook after the deadline", "", func(r *record, a, b *tenure) { a.lost[0].end = at(3200 * time.Millisecond) }},
		{"no lost hook", ruleMissed, func(r *record, a, b *tenure) { a.lost = nil }},
		{"no lost hook, and the keeper lives", ruleMissed, func(r *record, a, b *tenure) { a.lost = nil; r.downs = stopped(time.Second, 0, partRunner) }},
		{"no lost hook, and the keeper was stopped", ruleMissed, func(r *record, a, b *tenure) {
			a.lost = nil
			r.downs = append(stopped(time.Second, 0, partRunner), stopped(time.Second, time.Second, partKeeper)...)
		}},
		{"no lost hook, and runner and keeper were killed", "", func(r *record, a, b *tenure) {
			a.lost = nil
			r.downs = stopped(time.Second, 0, partRunner, partKeeper)
		}},
		{"a process is left", ruleLeft, func(r *record, a, b *tenure) { r.left = []tenured{{b, b.all[0]}} }},
		{"a setuid child is left", "", func(r *record, a, b *tenure) { r.left = []tenured{{a, acted{role: roleSetuid, seen: at(time.Minute)}}} }},
	} {
		r := two()
		c.do(r, r.tenures[0], r.tenures[1])
		found := r.judge()
		switch {
		case c.rule == "" && len(found) > 0:
			t.Errorf("%s: %v", c.name, found)
		case c.rule != "" && (len(found) != 1 || !strings.HasPrefix(found[0].Error(), c.rule)):
			t.Errorf("%s: found %v, want one failure of %s", c.name, found, c.rule)
		}
	}
}

func TestHooksAreReadAsTheyWereWritten(t *testing.T) {
	b := make(book)
	text := "elected false b g 7 101 5\nelected true b g 7 101 6\nlost false b g 7 101 8\nlost false b g 7 103 9\nlost true b g 7 103 10\n"
	if err := b.hooks(text); err != nil {
		t.Fatal(err)
	}
	got := b[tenureKey{"g", 7}]
	if got == nil || got.runner != 101 || len(got.elected) != 1 || got.elected[0].end != 6 || len(got.lost) != 2 || got.lost[0].end != 0 || got.lost[1].end != 10 {
		t.Errorf("%+v", got)
	}
	if err := b.hooks("elected false b g"); err == nil {
		t.Error("half a line was taken")
	}
}

func TestLatenessIsOfProcessesThatHadToBeKilled(t *testing.T) {
	r := two()
	r.tenures[0].all[0].seen = at(2300 * time.Millisecond)
	r.tenures[0].all = append(r.tenures[0].all, acted{role: roleFork, seen: at(3050 * time.Millisecond)}, acted{role: roleFork, seen: at(time.Second)})
	kill, deadline := r.late(false)
	if got := kill.String(); got != "2, p50 1.05s, p99 1.05s, max 1.05s" || deadline.String() != "1, p50 50ms, p99 50ms, max 50ms" {
		t.Errorf("after they had to be killed: %v; after the deadline: %v", kill, deadline)
	}
	if kill, _ := r.late(true); len(kill) > 0 {
		t.Errorf("with cgroups: %v", kill)
	}
}

// The store itself: a write with an older token is refused, and the twin sees one that is not.
func TestStoreRefusesStalePrograms(t *testing.T) {
	s, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.listener.Close()
	old, next := &process{group: "g", token: 1}, &process{group: "g", token: 2}
	for _, w := range []struct {
		p    *process
		want string
	}{{old, wordDone}, {next, wordDone}, {old, wordStale}, {next, wordDone}} {
		if got := s.write(w.p); got != w.want {
			t.Errorf("token %d: %s, want %s", w.p.token, got, w.want)
		}
	}
	if s.stale != 1 || s.writes != 3 || len(s.older) > 0 || old.refused == 0 {
		t.Errorf("%+v", s)
	}
	delete(s.gates, "g") // a gate that forgets
	if s.write(old); len(s.older) != 1 {
		t.Error("a stale write that was carried out was not seen")
	}
}

//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/regentproject/regent/agent/cluster"
)

// The rules. Each failure begins with the name of one.
const (
	ruleAlone  = "TwoAtOnce: no process of a program runs beside its successor, but for the documented exceptions"
	ruleTokens = "TokensGrow: a later leadership has a higher token"
	ruleEarly  = "ReleasedEarly: no other host is elected before the announced deadline of what may still act"
	ruleFence  = "Fence: the store carries out no write of a stale program"
	ruleHooks  = "HookOrder: lost hooks end before the next leadership begins, or that begins after the announced deadline"
	ruleMissed = "HookMissed: lost hooks run, but for those of a runner that was killed with its keeper"
	ruleSeen   = "DeadlinesSeen: of most leaderships the announced deadline is known, without which other rules judge nothing"
	ruleLeft   = "LeftBehind: no process is left, but for the documented exceptions"
)

// An exception is why a process may run beside its successor. The fence holds it off.
type exception string

const (
	noException exception = ""
	// unguarded: neither runner nor keeper nor agent ran when the program had to be killed.
	unguarded exception = "no guardian ran"
	// setuidChild: outside a cgroup the runner's user may not kill it.
	setuidChild exception = "setuid outside a cgroup"
	// escaped: outside a cgroup, after the runner's death, nothing shows which runner it belongs to.
	escaped exception = "hidden outside a cgroup, runner killed"
)

// judge returns what breaks a rule.
func (r *record) judge() (found []error) {
	fail := func(rule, format string, args ...any) {
		found = append(found, fmt.Errorf("%s\n    %s", rule, fmt.Sprintf(format, args...)))
	}
	for i, a := range r.tenures {
		for _, b := range r.tenures[i+1:] {
			if b.group != a.group {
				break
			}
			if b.begin() < a.begin() {
				fail(ruleTokens, "group %s: %v began %v before %v", a.group, b, a.begin().Sub(b.begin()), a)
				continue
			}
			r.judgePair(a, b, fail)
		}
		r.judgeHooks(a, fail)
	}
	if seen, all := r.announced(); 2*seen < all {
		fail(ruleSeen, "of %d of %d", seen, all)
	}
	for _, w := range r.older {
		fail(ruleFence, "%s", w)
	}
	for _, p := range r.left {
		if r.excuse(p.tenure, p.acted, p.seen) == noException {
			fail(ruleLeft, "group %s: process %d (%s) of %v", p.tenure.group, p.pid, p.role, p.tenure)
		}
	}
	return found
}

// announced counts the leaderships of runners, and those of them whose deadline was seen.
func (r *record) announced() (seen, all int) {
	for _, t := range r.tenures {
		if t.runner == 0 {
			continue
		}
		all++
		if t.deadline != 0 {
			seen++
		}
	}
	return seen, all
}

// judgePair compares two leaderships of a group.
func (r *record) judgePair(a, b *tenure, fail func(rule, format string, args ...any)) {
	next := b.begin()
	for _, p := range a.all {
		if p.seen <= next {
			continue
		}
		why := r.excuse(a, p, next)
		switch {
		case why == noException:
			fail(ruleAlone, "group %s: process %d (%s) of %v ran until %v after %v began%s", a.group, p.pid, p.role, a, p.seen.Sub(next), b, r.history(a, next))
		case a.deadline > next:
			fail(ruleEarly, "group %s: %v began %v before the deadline of %v, whose process %d (%s) ran", a.group, b, a.deadline.Sub(next), a, p.pid, p.role)
		}
	}
	if a.runner == 0 {
		return
	}
	for _, h := range a.lost {
		if (h.end > next || h.begin > next) && next < a.deadline {
			fail(ruleHooks, "group %s: %v began %v before the deadline of %v, whose lost hook ran from %v to %v%s", a.group, b, a.deadline.Sub(next), a,
				h.begin.Sub(next), h.end.Sub(next), r.history(a, next))
		}
	}
}

// judgeHooks looks for lost hooks that did not run.
func (r *record) judgeHooks(t *tenure, fail func(rule, format string, args ...any)) {
	if len(t.elected) == 0 || len(t.lost) > 0 {
		return
	}
	killed := func(p part) bool {
		return slices.ContainsFunc(r.downsOf(t, p), func(d down) bool { return d.killed })
	}
	if !killed(partRunner) || !killed(partKeeper) && !r.bare[t.runner] {
		fail(ruleMissed, "group %s: those of %v did not run%s", t.group, t, r.history(t, t.begin()))
	}
}

// excuse returns the exception under which a process may run when its successor begins.
func (r *record) excuse(t *tenure, p acted, next cluster.Time) exception {
	switch {
	case t.runner == 0:
		return noException
	case p.role == roleSetuid && !t.cgroup:
		return setuidChild
	case p.role == roleHidden && !t.cgroup && slices.ContainsFunc(r.downsOf(t, partRunner), func(d down) bool { return d.killed && d.from <= p.seen }):
		return escaped
	case r.unguarded(t, next):
		return unguarded
	}
	return noException
}

// unguarded says whether there was an instant, from when the program had to be killed until its successor began, at which none of its
// guardians ran.
func (r *record) unguarded(t *tenure, next cluster.Time) bool {
	from := next.Add(-lease - guard) // the deadline was not seen
	if t.deadline != 0 {
		from = t.deadline.Add(-guard)
	}
	free := []down{{from: from, to: next}}
	for _, p := range []part{partRunner, partKeeper, partAgent} {
		downs := r.downsOf(t, p)
		if p == partKeeper && r.bare[t.runner] {
			continue
		}
		var both []down
		for _, f := range free {
			for _, d := range downs {
				if x := (down{from: max(f.from, d.from), to: min(f.to, d.until())}); x.from <= x.to {
					both = append(both, x)
				}
			}
		}
		free = both
	}
	return len(free) > 0
}

// until is when it ran again: never, if it did not.
func (d down) until() cluster.Time {
	if d.to == 0 {
		return math.MaxInt64
	}
	return d.to
}

// downsOf returns when a guardian of a tenure did not run. An agent or a keeper that is started later is none of it.
func (r *record) downsOf(t *tenure, p part) (all []down) {
	for _, d := range r.downs {
		if d.part != p {
			continue
		}
		switch p {
		case partAgent:
			if d.host == t.host && (!d.killed || d.from >= t.begin().Add(-lease)) {
				all = append(all, d)
			}
		case partKeeper:
			// After a keeper was killed the runner has another one for its next candidacy.
			if d.runner == t.runner && (!d.killed || d.from >= r.before(t)) {
				all = append(all, d)
			}
		default:
			if d.runner == t.runner {
				all = append(all, d)
			}
		}
	}
	return all
}

// before returns the last sign of the tenure of the same runner before this one.
func (r *record) before(t *tenure) (at cluster.Time) {
	for _, o := range r.tenures {
		if o.group == t.group && o.runner == t.runner && o.token < t.token {
			at = max(at, o.begin())
			for _, p := range o.all {
				if p.role == roleMain {
					at = max(at, p.seen)
				}
			}
		}
	}
	return at
}

// history tells what happened to the guardians of a tenure, relative to an instant, for people.
func (r *record) history(t *tenure, at cluster.Time) (text string) {
	text = fmt.Sprintf("; began %v, deadline %v, last sign %v", t.begin().Sub(at), t.deadline.Sub(at), t.last().Sub(at))
	for _, p := range parts {
		for _, d := range r.downsOf(t, p) {
			if d.until() < t.begin() || d.from > at.Add(2*lease) {
				continue
			}
			verb := "stopped"
			if d.killed {
				verb = "killed"
			}
			text += fmt.Sprintf("; %s %s %v", p, verb, d.from.Sub(at))
			if d.to != 0 {
				text += fmt.Sprintf(" until %v", d.to.Sub(at))
			}
		}
	}
	return text
}

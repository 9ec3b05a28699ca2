package main

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// fault is something that happens to a host. It returns how it is undone; nil: it is over at once.
type fault struct {
	name string
	fits func(a *arena, h *host) bool
	do   func(a *arena, h *host) (undo func() error, err error)
}

func anywhere(*arena, *host) bool       { return true }
func withAgent(_ *arena, h *host) bool  { return h.agent }
func withMember(_ *arena, h *host) bool { return !h.agent }
func withCable(a *arena, h *host) bool  { return a.Hosts == cluster.Namespaces }

// faults are all that can happen. Of the runner and the agent of a host only one is paused or killed at a time: they vouch for one
// another, and a program whose both guardians sleep is protected by its token only.
var faults = []fault{
	{"kill member", withMember, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Start(h.name) }, a.Crash(h.name)
	}},
	{"pause member", withMember, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Resume(h.name) }, a.Pause(h.name)
	}},
	{"resign", withMember, func(a *arena, h *host) (func() error, error) { return nil, a.Say(h.name, "resign "+group) }},
	{"kill agent", withAgent, func(a *arena, h *host) (func() error, error) {
		return func() error { _, err := a.StartAgent(h.name); return err }, a.Crash(h.name)
	}},
	{"pause agent", withAgent, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Resume(h.name) }, a.Pause(h.name)
	}},
	{"kill runner", withAgent, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.startRunner(h) }, a.Crash(h.runner())
	}},
	{"pause runner", withAgent, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Resume(h.runner()) }, a.Pause(h.runner())
	}},
	{"stop runner", withAgent, func(a *arena, h *host) (func() error, error) {
		return func() error { a.Stop(h.runner(), cluster.Patience); return a.startRunner(h) }, a.Process(h.runner()).Signal(syscall.SIGTERM)
	}},
	{"cut", anywhere, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Heal(h.name) }, a.Cut(h.name)
	}},
	{"cut one way", anywhere, func(a *arena, h *host) (func() error, error) {
		line := fmt.Sprintf("link %s * cut=", h.name)
		if a.rand.IntN(2) == 0 {
			line = fmt.Sprintf("link * %s cut=", h.name)
		}
		return func() error { return a.Link(line + "false") }, a.Link(line + "true")
	}},
	{"cut with another", anywhere, func(a *arena, h *host) (func() error, error) {
		return a.HealAll, a.Part(h.name, a.hosts[a.rand.IntN(len(a.hosts))].name)
	}},
	{"bad links", anywhere, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Link("link " + h.name + " * perfect both") },
			a.Link("link " + h.name + " * delay=5ms jitter=30ms drop=0.2 duplicate=0.2 late=3s reorder=0.2 both")
	}},
	{"unplug", withCable, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Plug(h.name) }, a.Unplug(h.name)
	}},
}

// longest is how long a fault lasts at most.
const longest = 2 * lease

// strike applies a fault to a host to which nothing was done, or whose fault is over. The journals tell which host leads: it is
// struck half of the time.
func (a *arena) strike() {
	var free []*host
	for _, h := range a.hosts {
		if h.undo == nil {
			free = append(free, h)
		}
	}
	if len(free) == 0 {
		return
	}
	h := free[a.rand.IntN(len(free))]
	leader := a.leader()
	if i := slices.IndexFunc(free, func(h *host) bool { return h.name == leader }); i >= 0 && a.rand.IntN(2) == 0 {
		h = free[i]
	}
	var fit []fault
	for _, f := range faults {
		if f.fits(a, h) {
			fit = append(fit, f)
		}
	}
	f := fit[a.rand.IntN(len(fit))]
	last := time.Duration(a.rand.Int64N(int64(longest)))
	mark := ""
	if h.name == leader {
		mark = " (leads)"
	}
	undo, err := f.do(a, h)
	fmt.Fprintf(a.out, "%8.3fs  %s: %s%s\n", time.Since(a.begin).Seconds(), h.name, f.name, mark)
	a.try(f.name+" "+h.name, err)
	a.done[f.name]++
	if err == nil && undo != nil {
		h.undo, h.busy = undo, time.Now().Add(last)
	}
}

// leader returns the host that led last, by the journals.
func (a *arena) leader() string {
	spans, err := a.Spans()
	a.try("journals", err)
	var last cluster.Span
	for _, s := range spans {
		if s.Seen > last.Seen {
			last = s
		}
	}
	return last.Holder
}

// mend undoes what has lasted long enough: everything if there is no time.
func (a *arena) mend(now time.Time) {
	for _, h := range a.hosts {
		if h.undo != nil && (now.IsZero() || now.After(h.busy)) {
			undo := h.undo
			h.undo = nil
			a.try("mend "+h.name, undo())
		}
	}
}

// try keeps what could not be done: the run is worth nothing then.
func (a *arena) try(what string, err error) {
	if err != nil {
		a.wrong = append(a.wrong, fmt.Errorf("%s: %w", what, err))
	}
}

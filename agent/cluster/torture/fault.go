//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// hostFault is something that happens to a host, beside its runners. It returns how it is undone.
type hostFault struct {
	name string
	fits func(a *arena, h *host) bool
	do   func(a *arena, h *host) (undo func() error, err error)
}

func anywhere(*arena, *host) bool       { return true }
func withMember(a *arena, h *host) bool { return !h.agent && h.runs && !a.Process(h.name).Ended() } // it ends once it has left the council
func withCable(a *arena, h *host) bool  { return a.Hosts == cluster.Namespaces }

// hostFaults are those of links and of members by the library.
var hostFaults = []hostFault{
	{"kill member", withMember, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.startMember(h) }, a.Crash(h.name)
	}},
	{"stop member", withMember, func(a *arena, h *host) (func() error, error) {
		return func() error { return a.Resume(h.name) }, a.Pause(h.name)
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

// A part is a process that a fault stops or kills.
type part string

const (
	partProgram part = "program"
	partRunner  part = "runner"
	partKeeper  part = "keeper"
	partAgent   part = "agent"
)

var parts = []part{partProgram, partRunner, partKeeper, partAgent}

// longest is how long a fault lasts at most.
const longest = 2 * lease

// maxHosts is on how many hosts an agent or member may be broken or cut off at a time: a majority of five is left, so that there are
// leaders to suffer.
const maxHosts = 2

// Of a hundred faults so many stop or kill processes of a runner, and so many are orders; the rest happen to hosts.
const (
	percentProcesses = 70
	percentOrders    = 10
	percentLeader    = 70 // a runner is the leading one
	percentAlike     = 80 // all parts are stopped, or all are killed
)

func (a *arena) percent(n int) bool { return a.rand.IntN(100) < n }

// strike applies a fault to what has none.
func (a *arena) strike() {
	what, where := "", ""
	switch n := a.rand.IntN(100); {
	case n < percentProcesses:
		what, where = a.strikeSeat()
	case n < percentProcesses+percentOrders:
		what, where = a.order()
	default:
		what, where = a.strikeHost()
	}
	if what == "" {
		return // nothing is left to break: the next one may find something
	}
	a.struck++
	a.done[what]++
	fmt.Fprintf(a.out, "%8.3fs  %d %s: %s\n", time.Since(a.begin).Seconds(), a.struck, where, what)
}

// seatToStrike returns a runner without a fault; nil: there is none. It prefers those that lead.
func (a *arena) seatToStrike() (s *seat, leads bool) {
	var free, leading []*seat
	for _, h := range a.hosts {
		for _, s := range h.seats {
			if len(s.repairs) > 0 || dead(s.runner.Pid()) {
				continue
			}
			free = append(free, s)
			if a.tap.leader(s.group) == h.name {
				leading = append(leading, s)
			}
		}
	}
	switch {
	case len(free) == 0:
		return nil, false
	case len(leading) > 0 && a.percent(percentLeader):
		return leading[a.rand.IntN(len(leading))], true
	}
	s = free[a.rand.IntN(len(free))]
	return s, slices.Contains(leading, s)
}

// dueAfter draws when a fault ends.
func (a *arena) dueAfter() time.Time {
	return time.Now().Add(time.Duration(a.rand.Int64N(int64(longest))))
}

// strikeSeat stops or kills one or more of the program, the runner, its keeper and its agent.
func (a *arena) strikeSeat() (what, where string) {
	s, leads := a.seatToStrike()
	if s == nil {
		return "", ""
	}
	chosen := slices.DeleteFunc(slices.Clone(parts), func(part) bool { return a.rand.IntN(2) == 0 })
	if !a.mayBreak(s.host) {
		chosen = slices.DeleteFunc(chosen, func(p part) bool { return p == partAgent })
	}
	a.rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	kill, alike := a.rand.IntN(2) == 0, a.percent(percentAlike)
	hits := make(map[part][]signaller)
	for _, p := range chosen {
		hits[p] = a.find(s, p)
	}
	var words []string
	for _, p := range chosen {
		if len(hits[p]) == 0 {
			continue
		}
		killed := kill
		if !alike {
			killed = a.rand.IntN(2) == 0
		}
		a.hit(s, p, killed, hits[p])
		verb := "stop"
		if killed {
			verb = "kill"
		}
		words = append(words, verb+" "+string(p))
	}
	slices.Sort(words)
	where = s.host.name + " " + s.group
	if leads {
		where += " (leads)"
	}
	return strings.Join(words, ", "), where
}

// signaller is a process that can be signalled.
type signaller interface{ Signal(os.Signal) error }

// find returns the processes of a part.
func (a *arena) find(s *seat, p part) (all []signaller) {
	switch p {
	case partProgram:
		for _, q := range a.store.of(s.host.name, s.group) {
			if q.handle != nil {
				all = append(all, q.handle)
			}
		}
	case partRunner:
		all = append(all, s.runner)
	case partKeeper:
		for _, k := range keepers(s.runner.Pid()) {
			all = append(all, k)
		}
	case partAgent:
		if q := a.Process(s.host.name); q != nil && !q.Ended() {
			all = append(all, q)
		}
	}
	return all
}

// hit stops or kills the processes of a part, and has that undone later.
func (a *arena) hit(s *seat, p part, kill bool, all []signaller) {
	d := down{host: s.host.name, group: s.group, part: p, runner: s.runner.Pid(), killed: kill, from: cluster.Now()}
	signal := func(sig syscall.Signal) {
		for _, q := range all {
			_ = q.Signal(sig) // it may have ended by now
		}
	}
	fix := repair{due: a.dueAfter()}
	if kill {
		signal(syscall.SIGKILL)
		fix.undo = func() error { return nil } // what is missing is started again by revive
	} else {
		signal(syscall.SIGSTOP)
		i := len(a.downs)
		fix.undo = func() error {
			signal(syscall.SIGCONT)
			a.downs[i].to = cluster.Now()
			return nil
		}
	}
	a.downs = append(a.downs, d)
	if p == partAgent {
		s.host.fault = fix
	} else {
		s.repairs = append(s.repairs, fix)
	}
	if p == partRunner && kill {
		s.asked = true
	}
}

// mayBreak says whether the agent or the links of a host may be broken.
func (a *arena) mayBreak(h *host) bool {
	broken := 0
	for _, h := range a.hosts {
		if h.fault.undo != nil {
			broken++
		}
	}
	return h.fault.undo == nil && broken < maxHosts
}

// strikeHost breaks the links of a host, or a member by the library.
func (a *arena) strikeHost() (what, where string) {
	h := a.hosts[a.rand.IntN(len(a.hosts))]
	if leader := a.tap.leader(groups[a.rand.IntN(len(groups))]); a.rand.IntN(2) == 0 {
		if i := slices.IndexFunc(a.hosts, func(h *host) bool { return h.name == leader }); i >= 0 {
			h = a.hosts[i]
		}
	}
	if !a.mayBreak(h) {
		return "", ""
	}
	fit := slices.DeleteFunc(slices.Clone(hostFaults), func(f hostFault) bool { return !f.fits(a, h) })
	f := fit[a.rand.IntN(len(fit))]
	undo, err := f.do(a, h)
	a.try(f.name+" "+h.name, err)
	if err == nil && undo != nil {
		h.fault = repair{undo, a.dueAfter()}
	}
	return f.name, h.name
}

// order has a runner or a program stop in good order.
func (a *arena) order() (what, where string) {
	s, _ := a.seatToStrike()
	if s == nil {
		return "", ""
	}
	socket, group := a.Socket(s.host.name), s.group
	switch a.rand.IntN(3) {
	case 0:
		what = "resign"
		go func() { _ = order(socket, group, "resign", "{}") }()
	case 1:
		what = "transfer"
		to := a.hosts[a.rand.IntN(len(a.hosts))].name
		go func() { _ = order(socket, group, "transfer", fmt.Sprintf(`{"to":%q}`, to)) }()
	default:
		what = "stop runner in good order"
		_ = s.runner.Signal(syscall.SIGTERM)
		s.asked = true
		s.repairs = append(s.repairs, repair{func() error { return nil }, a.dueAfter()})
	}
	return what, s.host.name + " " + s.group
}

// mend undoes what has lasted long enough: everything if there is no time.
func (a *arena) mend(now time.Time) {
	over := func(r repair) bool { return now.IsZero() || now.After(r.due) }
	for _, h := range a.hosts {
		if h.fault.undo != nil && over(h.fault) {
			undo := h.fault.undo
			h.fault = repair{}
			a.try("mend "+h.name, undo())
		}
		for _, s := range h.seats {
			s.repairs = slices.DeleteFunc(s.repairs, func(r repair) bool {
				if over(r) {
					a.try("mend "+h.name, r.undo())
				}
				return over(r)
			})
		}
	}
	if now.IsZero() {
		a.try("mend", cluster.Wait(cluster.Patience, "all agents and runners run", a.revive))
		return
	}
	a.revive()
}

// revive starts agents and runners that do not run, where nothing is to be undone. It returns whether all run.
func (a *arena) revive() (all bool) {
	all = true
	for _, h := range a.hosts {
		if !h.agent {
			continue
		}
		if h.fault.undo != nil {
			all = false
			continue
		}
		if a.Process(h.name).Ended() {
			_, err := a.StartAgent(h.name)
			a.try("start agent "+h.name, err)
			all = false
			continue
		}
		for _, s := range h.seats {
			if !dead(s.runner.Pid()) {
				continue
			}
			all = false
			if !s.asked {
				s.asked = true
				a.ended = append(a.ended, s.runner.Name)
			}
			if len(s.repairs) == 0 && listens(a.Socket(h.name)) {
				a.try("start runner", a.startRunner(s))
			}
		}
	}
	return all
}

// listens says whether an agent takes connections.
func listens(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

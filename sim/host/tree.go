package host

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/tenure"
)

// doTree carries out what a runner or a keeper asks for.
func (a *party) doTree(e tenure.Effect) {
	w, s := a.h.w, a.candidacy
	switch e.Kind {
	case tenure.Release:
		a.up(tenure.Event{Kind: tenure.ProgramStopped, Cause: e.Cause})
		a.reported, a.said = true, e.Cause
	case tenure.Ask:
		if a.role == keeperRole {
			s.runner.side(tenure.Event{Kind: tenure.Freeze, Cause: e.Cause}, w.latency())
		} else {
			a.forward()
		}
	case tenure.RunElected:
		a.forks++
		w.after(w.held(), func() { a.threads = append(a.threads, a.runElected); a.poke() })
		a.heldUp()
	case tenure.RunLost:
		a.runLost()
	case tenure.StopHook:
		a.killHook()
	case tenure.Kill:
		a.killHook()
	case tenure.Start:
		a.forks++
		a.task(w.held(), a.fork)
	case tenure.Abort:
		if p := a.h.find(a.ref.First); p != nil {
			a.h.kill(p, a.ref.life)
		}
	case tenure.Exec:
		a.exec()
	case tenure.End:
		if a.role == runnerRole {
			a.ended(e)
		}
	case tenure.Forget:
		if a.role == runnerRole {
			s.keeper.side(tenure.Event{Kind: tenure.ProgramStopped, Cause: a.m.Cause()}, 0)
		}
		if a.role == runnerRole || a.h.find(a.ref.Runner) == nil {
			a.h.remove(a.ref.cgroup)
		}
	}
}

// up tells the agent something, if it is the one that gave the lease.
func (a *party) up(ev tenure.Event) {
	if top := a.candidacy.top; !top.p.dead && (a.role == keeperRole || !a.candidacy.hungUp) {
		top.side(ev, a.h.w.latency())
	}
}

// ended tells the agent of an end without a release, and of a cause that was corrected after the end.
func (a *party) ended(e tenure.Effect) {
	if (!a.reported || a.over) && a.m.Token() != 0 {
		a.up(tenure.Event{Kind: tenure.Freeze, Cause: e.Cause})
	}
	a.over = true
}

// forward sends SIGTERM to the process group of the first process. If that is dead, it looks for what is left of the tree.
func (a *party) forward() {
	first := a.h.find(a.ref.First)
	if a.ref.First.Pid == 0 || first != nil && first.waits {
		return // it does not run yet
	}
	if first == nil {
		k := a.h.newWalk(a.p, a.ref)
		k.readAll()
		for _, p := range k.pick() {
			a.h.term(p)
		}
		return
	}
	for _, p := range slices.Clone(a.h.all) {
		if p.group == a.ref.First {
			a.h.term(p)
		}
	}
}

// runElected runs elected hooks, unless a last look ends the tenure. They are part of the tree, beside the program.
func (a *party) runElected() {
	w, l, shape := a.h.w, a.candidacy.life, a.candidacy.shape
	a.forks--
	a.look()
	if a.hooksOver {
		a.side(tenure.Event{Kind: tenure.ElectedDone}, w.latency())
		return
	}
	l.electedAt = w.now
	w.check.elects(l)
	w.check.starts(a, l)
	p := a.newHook()
	p.life, p.mark, p.cgroup = l, a.ref.mark, a.ref.cgroup
	if shape.hookLeaves {
		w.after(w.between(0, 30), func() { w.whenRunning(a.h, p, func() { shape.child(a.h, p) }) })
	}
	a.endsHook(p, func() { a.side(tenure.Event{Kind: tenure.ElectedDone}, w.latency()) })
}

// runLost runs lost hooks, which are part of nothing.
func (a *party) runLost() {
	w, l := a.h.w, a.candidacy.life
	p := a.newHook()
	p.life, p.hook, p.helper, p.mark, p.cgroup = l, true, true, nobodyID, nobodyID
	w.check.loses(a, l)
	a.endsHook(p, func() {
		if !a.p.dead {
			l.lostRan = true
			if a.role == runnerRole {
				a.candidacy.keeper.side(tenure.Event{Kind: tenure.LostDone}, 0)
			}
		}
		a.side(tenure.Event{Kind: tenure.LostDone}, w.latency())
	})
}

// newHook forks a hook, which has a process group of its own and dies with its parent.
func (a *party) newHook() *process {
	p := a.h.fork(a.p, a.p.uid)
	p.bound = true
	p.setpgid()
	a.hook = p
	return p
}

// endsHook has a hook end after a while. Some are slow, and some hang.
func (a *party) endsHook(p *process, done func()) {
	w := a.h.w
	p.exit = append(p.exit, func() {
		if a.hook == p {
			a.hook = nil
		}
		done()
	})
	took := w.between(1, 60)
	if w.one(6) {
		took = w.between(100, 1000)
	}
	w.after(took, func() { w.whenRunning(a.h, p, func() { a.h.kill(p, nil) }) })
}

// whenRunning does something once a process is scheduled.
func (w *World) whenRunning(h *host, p *process, f func()) {
	switch {
	case p.dead:
	case h.runs(p):
		f()
	default:
		w.after(5*ms, func() { w.whenRunning(h, p, f) })
	}
}

// killHook kills a hook with its process group.
func (a *party) killHook() {
	a.hooksOver = true
	if a.hook == nil {
		return
	}
	group := a.hook.Identity
	for _, p := range slices.Clone(a.h.all) {
		if p.group == group {
			a.h.kill(p, a.ref.life)
		}
	}
}

// fork makes the first process of the program, which waits for permission to exec.
func (a *party) fork() {
	l := a.candidacy.life
	a.forks--
	p := a.h.fork(a.p, a.p.uid)
	p.life, p.mark, p.cgroup, p.waits, p.bound = l, a.ref.mark, a.ref.cgroup, true, true
	p.setsid()
	l.first, a.ref.First, a.ref.kept = p.Identity, p.Identity, true
	a.candidacy.keeper.task(a.h.w.latency(), func() { a.candidacy.keeper.ref.First = p.Identity })
	if top := a.candidacy.top; a.h.learns && !a.candidacy.hungUp {
		top.task(a.h.w.latency(), func() { top.learn(p) })
	}
	p.exit = append(p.exit, func() { a.side(tenure.Event{Kind: tenure.ProgramDied}, a.h.w.latency()) })
	a.side(tenure.Event{Kind: tenure.Forked}, a.h.w.held())
	a.heldUp()
}

// learn takes note of the first process, if that lives.
func (a *party) learn(p *process) {
	if p.dead {
		return
	}
	a.ref.First, a.ref.Seen, a.ref.kept = p.Identity, a.h.born, true
	if a.line != nil && a.h.w.one(2) {
		a.line.ref.First, a.line.ref.Seen = a.ref.First, a.ref.Seen
	}
}

// heldUp holds the party up now and then, with or without the others, while something that it has begun goes on.
func (a *party) heldUp() {
	if w := a.h.w; !w.calm && w.one(12) {
		others := a.h.selection([]int{0, theAgent, theAgent | theKeeper}[w.N(3)])
		a.h.pause(w.between(50, 700), append(others, a.p)...)
	}
}

// held is how long something takes that may be held up.
func (w *World) held() time.Duration {
	if w.one(5) {
		return w.between(1, 400)
	}
	return w.between(0, 3)
}

// exec runs the program, which behaves as its shape says.
func (a *party) exec() {
	w, h, shape := a.h.w, a.h, a.candidacy.shape
	p := h.find(a.ref.First)
	if p == nil {
		return
	}
	w.check.starts(a, p.life)
	p.ignores, p.waits = shape.deaf, false
	for range shape.children {
		w.after(w.between(1, 80), func() { w.whenRunning(h, p, func() { shape.child(h, p) }) })
	}
	if shape.ends {
		w.after(w.between(20, 800), func() { w.whenRunning(h, p, func() { h.kill(p, nil) }) })
	}
}

// A shape is how a candidate of a host is, and how its program behaves.
type shape struct {
	// hooks says that it has hooks, heartbeat that a client is watched.
	hooks, heartbeat bool
	// deaf says that the program ignores being asked to stop, ends that it ends early.
	deaf, ends bool
	children   int
	// daemons says that children leave session and parent, jobs that they have process groups of their own, clean that they clear their
	// environment, setuid that they change the user, breed that they have a child as well.
	daemons, jobs, clean, setuid, breed bool
	// hops says that children fork once more and exit, so that a walk may pass both by.
	hops bool
	// hookLeaves says that elected hooks start a child, which may outlive them.
	hookLeaves bool
}

// shape draws one.
func (w *World) shape() shape {
	s := shape{hooks: w.one(2), heartbeat: w.one(2)}
	s.deaf, s.ends = w.one(4), w.one(4)
	s.children = w.N(3)
	s.daemons, s.jobs, s.clean, s.setuid, s.breed = w.one(3), w.one(3), w.one(3), w.one(12), w.one(3)
	s.hookLeaves, s.hops = w.one(3), w.one(3)
	return s
}

// child forks a child of a program.
func (s shape) child(h *host, p *process) {
	w := h.w
	c := h.fork(p, p.uid)
	c.ignores = s.deaf && w.one(2)
	if s.clean {
		c.mark = nobodyID
	}
	switch {
	case s.daemons:
		c.setsid()
		c.parent = c.adopter()
	case s.jobs:
		c.setpgid()
	}
	if s.setuid {
		c.uid = root
	}
	if s.hops {
		s.hops = false
		w.after(w.between(1, 500), func() { w.whenRunning(h, c, func() { s.child(h, c); h.kill(c, nil) }) })
	}
	if s.breed {
		s.breed = false
		w.after(w.between(1, 200), func() { w.whenRunning(h, c, func() { s.child(h, c) }) })
	}
}

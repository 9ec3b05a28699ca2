package host

import (
	"time"

	"github.com/regentproject/regent/internal/tenure"
)

// doTree carries out what a runner or a keeper asks for.
func (a *party) doTree(e tenure.Effect) {
	w, s := a.h.w, a.candidacy
	switch e.Kind {
	case tenure.Release:
		a.up(tenure.Event{Kind: tenure.ProgramStopped, Cause: e.Cause})
		a.reported = true
	case tenure.Ask:
		if a.role == keeperRole {
			s.runner.side(tenure.Event{Kind: tenure.Freeze, Cause: e.Cause}, w.latency())
		} else if p := a.h.find(a.ref.First); p != nil {
			a.h.term(p)
		}
	case tenure.RunElected:
		s.life.electedAt = w.now
		w.check.elects(s.life)
		a.runHook(false)
	case tenure.RunLost:
		a.runHook(true)
	case tenure.StopHook:
		a.killHook()
	case tenure.Kill:
		a.killHook()
	case tenure.Start:
		a.task(w.held(), a.fork)
	case tenure.Abort:
		if p := a.h.find(a.ref.First); p != nil {
			a.h.kill(p, a.ref.life)
		}
	case tenure.Exec:
		a.exec()
	case tenure.End:
		if a.role == runnerRole {
			s.keeper.side(tenure.Event{Kind: tenure.ProgramStopped, Cause: e.Cause}, 0)
			a.ended(e)
		}
	case tenure.Forget:
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

// runHook runs elected or lost hooks. Some are slow, and some hang.
func (a *party) runHook(lost bool) {
	w, l := a.h.w, a.candidacy.life
	p := a.h.fork(a.p, a.p.uid)
	p.life, p.hook, p.helper, p.cgroup, p.mark, p.session = l, true, true, nobodyID, nobodyID, p.Pid
	a.hook = p
	if lost {
		w.check.loses(a, l)
	}
	p.exit = append(p.exit, func() {
		if a.hook == p {
			a.hook = nil
		}
		if lost && !a.p.dead {
			l.lostRan = true
		}
		if a.role == runnerRole && lost && !a.p.dead {
			a.candidacy.keeper.side(tenure.Event{Kind: tenure.LostDone}, 0)
		}
		kind := tenure.ElectedDone
		if lost {
			kind = tenure.LostDone
		}
		a.side(tenure.Event{Kind: kind}, w.latency())
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

func (a *party) killHook() {
	if a.hook != nil {
		a.h.kill(a.hook, a.ref.life)
	}
}

// fork makes the first process of the program, which waits for permission to exec.
func (a *party) fork() {
	l := a.candidacy.life
	p := a.h.fork(a.p, a.p.uid)
	p.life, p.session, p.mark, p.cgroup, p.waits = l, p.Pid, a.ref.mark, a.ref.cgroup, true
	l.first, a.ref.First, a.candidacy.keeper.ref.First = p.Identity, p.Identity, p.Identity
	if !a.candidacy.hungUp && !a.candidacy.top.p.dead {
		a.candidacy.top.ref.First = p.Identity
	}
	p.exit = append(p.exit, func() { a.side(tenure.Event{Kind: tenure.ProgramDied}, a.h.w.latency()) })
	a.side(tenure.Event{Kind: tenure.Forked}, a.h.w.held())
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
	w.check.execs(a, p)
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
	kind role // runnerRole, clientRole or memberRole
	// hooks says that it has hooks, heartbeat that a client is watched.
	hooks, heartbeat bool
	// deaf says that the program ignores being asked to stop, ends that it ends early.
	deaf, ends bool
	children   int
	// daemons says that children leave session and parent, clean that they clear their environment, setuid that they change the user.
	daemons, clean, setuid bool
}

// draw draws a shape.
func (w *World) shape() shape {
	s := shape{kind: []role{runnerRole, runnerRole, runnerRole, clientRole, memberRole}[w.N(5)]}
	s.hooks, s.heartbeat = w.one(2), w.one(2)
	s.deaf, s.ends = w.one(4), w.one(4)
	s.children = w.N(3)
	s.daemons, s.clean, s.setuid = w.one(3), w.one(3), w.one(12)
	return s
}

// child forks a child of a program.
func (s shape) child(h *host, p *process) {
	c := h.fork(p, p.uid)
	if s.clean {
		c.mark = nobodyID
	}
	if s.daemons {
		c.session, c.parent = c.Pid, initPid
		if h.runner != nil && !h.runner.dead {
			c.parent = h.runner.Pid
		}
	}
	if s.setuid {
		c.uid = root
	}
}

// beginSearch kills and looks until a search proves something, twice.
func (a *party) beginSearch() {
	a.search++
	if a.ref != nil {
		number := a.search
		a.task(a.h.w.latency(), func() { a.look(number, tenure.Tick, 0) })
	}
}

func (a *party) look(number int, before tenure.Kind, times int) {
	if number != a.search {
		return
	}
	verdict, ok := a.h.walk(a.p, a.ref).Verdict()
	switch {
	case !ok || verdict != before:
		times = 0
	default:
		times++
	}
	if ok && times == 1 {
		a.search++
		a.step(tenure.Event{Kind: verdict})
		return
	}
	pause := a.h.w.between(1, 3)
	if !ok {
		pause = a.h.w.between(1, 20)
	}
	a.task(pause, func() { a.look(number, verdict, times) })
}

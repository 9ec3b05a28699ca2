package host

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// pids is how many process numbers a host has. Few, so that numbers are soon used again.
const pids = 48

// The users of a host.
const (
	root     = 0
	alice    = 1000 // runners
	carol    = 1001 // agents that are neither root nor the runner's user
	mallory  = 2000 // campaigns with what it has seen of others
	initPid  = 100_000
	nobodyID = 0 // of no session, mark or cgroup
)

// A process is one of a host's. What it belongs to in truth is in life and hook; the rest is what the kernel shows.
type process struct {
	tenure.Identity
	parent, session, uid int
	// group is the process that founded its process group.
	group        tenure.Identity
	cgroup, mark uint64
	// helper says that it is marked as a helper of a runner, bound that it dies with its parent.
	helper, bound bool
	// adopts says that it adopts what loses its parent below it, reaper who does that for it; nil: init does.
	adopts       bool
	reaper       *process
	paused, dead bool
	realtime     bool
	// life is the tenure that it acts for, nil of parties and bystanders; hook says that it is a lost hook of that.
	life *life
	hook bool
	// waits says that it waits for permission to exec, and does nothing before that.
	waits bool
	// ignores says that SIGTERM does nothing.
	ignores bool
	// awake is since when it has been scheduled without a break.
	awake protocol.Time
	// party is what runs in it; exit is called when it has ended.
	party []*party
	exit  []func()
}

// A host is one machine with its kernel, and the parties on it.
type host struct {
	w    *World
	rank protocol.Rank
	all  []*process
	next int
	// freed are the last numbers that became free, wanted is one that the next process shall have.
	freed  []int
	wanted int
	born   uint64
	// cgroups says that runners may make them; made are those that exist, and whose. hides says that processes of other users cannot be seen.
	cgroups bool
	made    []made
	hides   bool
	// ready says that runner and keeper are scheduled in real time, learns that runners name the first process to the agent.
	ready, learns bool
	agentUID      int
	// crowd is how many milliseconds a walk takes for processes that have nothing to do with anything.
	crowd int
	// suspended and starved say what the host suffers from; suspends counts, and woke is when the last one ended.
	suspended, starved, cut bool
	suspends                int
	woke                    protocol.Time
	sleptFor                time.Duration
	// agent, runner and keeper are the processes; nil: none.
	agent, runner, keeper, client *process
	// candidacy is the candidacy under way, nil: none. old are machines of the agent that outlive a candidacy.
	candidacy *candidacy
	old       []*party
	notes     []*note
	kind      role // of its candidates
}

// made is a cgroup, and for which candidacy it was made.
type made struct {
	cgroup    uint64
	candidacy *candidacy
}

// fork makes a process.
func (h *host) fork(parent *process, uid int) *process {
	h.born++
	p := &process{uid: uid, parent: initPid, awake: h.w.now}
	p.Identity = tenure.Identity{Pid: h.number(), Started: h.born}
	p.session, p.group = p.Pid, p.Identity
	if parent != nil {
		p.parent, p.session, p.group, p.cgroup, p.mark, p.life = parent.Pid, parent.session, parent.group, parent.cgroup, parent.mark, parent.life
		p.helper, p.reaper = parent.helper, parent.reaper
		if parent.adopts {
			p.reaper = parent
		}
	}
	h.all = append(h.all, p)
	h.w.check.ran(h, p)
	return p
}

// setsid makes the process the leader of a session of its own, and setpgid that of a process group.
func (p *process) setsid()  { p.session, p.group = p.Pid, p.Identity }
func (p *process) setpgid() { p.group = p.Identity }

// number returns a number that is free: often that of a process that has just ended. Those of living sessions and groups are not.
func (h *host) number() int {
	free := func(n int) bool {
		return n != 0 && !slices.ContainsFunc(h.all, func(q *process) bool { return q.Pid == n || q.session == n || q.group.Pid == n })
	}
	if wanted := h.wanted; wanted != 0 && free(wanted) {
		h.wanted = 0
		return wanted
	}
	if len(h.freed) > 0 {
		if n := h.freed[h.w.N(len(h.freed))]; h.w.one(2) && free(n) {
			return n
		}
	}
	for h.next = h.next%(pids+len(h.all)) + 1; !free(h.next); {
		h.next = h.next%(pids+len(h.all)) + 1
	}
	return h.next
}

// kill ends a process at once. by is the tenure for which that is done; nil: a fault, or the process itself.
func (h *host) kill(p *process, by *life) {
	if p.dead {
		return
	}
	if by != nil {
		h.w.check.killed(h, p, by)
	}
	p.dead = true
	h.freed = append(h.freed[max(0, len(h.freed)-7):], p.Pid)
	h.all = slices.DeleteFunc(h.all, func(q *process) bool { return q == p })
	for _, c := range slices.Clone(h.all) {
		if c.parent != p.Pid {
			continue
		}
		if c.bound {
			h.kill(c, nil)
			continue
		}
		c.parent = c.adopter()
	}
	h.died(p)
	for _, f := range p.exit {
		f()
	}
}

// adopter returns the parent of a process that has lost its own.
func (p *process) adopter() int {
	for r := p.reaper; r != nil; r = r.reaper {
		if !r.dead {
			return r.Pid
		}
	}
	return initPid
}

// runs says whether a process is scheduled now.
func (h *host) runs(p *process) bool {
	return p != nil && !p.dead && !p.paused && !h.suspended && (!h.starved || p.realtime)
}

// slept returns for how long the host has been suspended so far.
func (h *host) slept() time.Duration { return h.sleptFor }

// term sends SIGTERM.
func (h *host) term(p *process) {
	if p.dead || p.ignores {
		return
	}
	h.w.after(h.w.between(1, 40), func() {
		if h.runs(p) && !p.ignores {
			h.kill(p, nil)
			return
		}
		h.term(p) // it is handled when it runs
	})
}

// find returns the process with the identity, or nil.
func (h *host) find(id tenure.Identity) *process {
	for _, p := range h.all {
		if p.Identity == id {
			return p
		}
	}
	return nil
}

// remove removes a cgroup.
func (h *host) remove(cgroup uint64) {
	h.made = slices.DeleteFunc(h.made, func(m made) bool { return m.cgroup == cgroup })
}

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
	cgroup, mark         uint64
	helper               bool
	paused, dead         bool
	realtime             bool
	// life is the tenure that it acts for, nil of parties and bystanders; hook says that it is a hook of that.
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
	// freed are the last numbers that became free.
	freed []int
	born  uint64
	// cgroups says that runners may make them; made are those that exist, and whose. hides says that processes of other users cannot be seen.
	cgroups bool
	made    []made
	hides   bool
	// ready says that runner and keeper are scheduled in real time.
	ready    bool
	agentUID int
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
	if parent != nil {
		p.parent, p.session, p.cgroup, p.mark, p.life = parent.Pid, parent.session, parent.cgroup, parent.mark, parent.life
	}
	p.Identity = tenure.Identity{Pid: h.number(), Started: h.born}
	h.all = append(h.all, p)
	h.w.check.ran(h, p)
	return p
}

// number returns a number that is free: often that of a process that has just ended.
func (h *host) number() int {
	free := func(n int) bool {
		return n != 0 && !slices.ContainsFunc(h.all, func(q *process) bool { return q.Pid == n || q.session == n })
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
		if c.hook || p == h.runner && c.life != nil && c.life.first == c.Identity {
			h.kill(c, nil) // it asked the kernel to die with its parent
			continue
		}
		c.parent = initPid
		if r := h.runner; r != nil && !r.dead && c.life != nil && p != r {
			c.parent = r.Pid // the runner adopts
		}
	}
	h.died(p)
	for _, f := range p.exit {
		f()
	}
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

// sees says whether one process may look at another: at all, and at its environment.
func (h *host) sees(viewer *process, uid int) (there, environ bool) {
	mine := viewer.uid == root || viewer.uid == uid
	return mine || !h.hides, mine
}

// walk looks for the processes of a tree once, kills whom it may, and says what it found.
func (h *host) walk(viewer *process, ref *reference) tenure.Search {
	var rows []tenure.Process
	var who []*process
	there, environ := h.sees(viewer, ref.UID)
	s := tenure.Search{Hidden: !there || !environ || h.hides && viewer.uid != root && viewer.Identity != ref.Runner, Adopter: h.find(ref.Runner) != nil}
	unseen := 0 // children of the runner that it cannot see and can count
	for _, p := range h.all {
		if there, environ := h.sees(viewer, p.uid); !there {
			if p.parent == viewer.Pid && viewer.Identity == ref.Runner {
				unseen++
			}
		} else {
			rows = append(rows, tenure.Process{Identity: p.Identity, Parent: p.parent, Session: p.session, UID: p.uid,
				Inside: ref.cgroup != nobodyID && p.cgroup == ref.cgroup, Marked: environ && p.mark == ref.mark, Helper: environ && p.helper})
			who = append(who, p)
		}
	}
	mine, foreign, _ := ref.Pick(rows, nil, nil)
	s.Left, s.Foreign = len(mine), foreign+unseen
	for _, i := range mine {
		if p := who[i]; viewer.uid == root || viewer.uid == p.uid || rows[i].Inside && viewer.uid == ref.UID {
			h.kill(p, ref.life)
		}
	}
	if ref.cgroup != nobodyID && (viewer.uid == root || viewer.uid == ref.UID) {
		s.Cgroup = tenure.Empty
		for _, p := range slices.Clone(h.all) {
			if p.cgroup == ref.cgroup {
				s.Cgroup = tenure.Occupied
				h.kill(p, ref.life)
			}
		}
	}
	return s
}

// remove removes a cgroup.
func (h *host) remove(cgroup uint64) {
	h.made = slices.DeleteFunc(h.made, func(m made) bool { return m.cgroup == cgroup })
}

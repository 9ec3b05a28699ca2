package host

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/tenure"
)

// How long walks take: readTime for each process, and up to longestWalk milliseconds for a crowd of others.
const (
	readTime    = 20 * time.Microsecond
	longestWalk = 300
)

// sees says whether one process may look at another: at all, and at its environment.
func (h *host) sees(viewer *process, uid int) (there, environ bool) {
	mine := viewer.uid == root || viewer.uid == uid
	return mine || !h.hides, mine
}

// strike kills at once the processes that a killer knows: all in the cgroup, the first process, and its process group.
func (h *host) strike(killer *process, ref *reference) {
	first := h.find(ref.First)
	if first != nil {
		ref.Seen = h.born
	}
	for _, p := range slices.Clone(h.all) {
		inside := ref.cgroup != nobodyID && p.cgroup == ref.cgroup && (killer.uid == root || killer.uid == ref.UID)
		// The group is signalled as one, through the first process, by those of its user.
		grouped := killer.uid == ref.UID && p.uid == killer.uid && p.group == ref.First && (ref.kept || first != nil)
		if inside || grouped || p == first && may(killer, p, ref) {
			h.kill(p, ref.life)
		}
	}
}

// may says that a killer may signal a process outside the cgroup, and that the rules let it.
func may(killer, p *process, ref *reference) bool {
	return p.uid == ref.UID && (killer.uid == root || killer.uid == p.uid)
}

// A walk looks at all processes of a host, one after the other. Processes begin and end meanwhile.
type walk struct {
	h      *host
	viewer *process
	ref    *reference
	// list are those that were there when it began; nil stands for a millisecond of others.
	list []*process
	rows []tenure.Process
	who  []*process
	// seen is until when those that were born into the session of the first process belong to the tree.
	seen uint64
	// lived says that the runner lived before, unseen counts children of the runner that it cannot see.
	lived  bool
	unseen int
}

func (h *host) newWalk(viewer *process, ref *reference) *walk {
	k := &walk{h: h, viewer: viewer, ref: ref, lived: !ref.orphan && h.find(ref.Runner) != nil, seen: ref.Seen}
	if h.find(ref.First) != nil {
		k.seen = h.born
	}
	half := len(h.all) / 2
	k.list = append(append(append(k.list, h.all[:half]...), make([]*process, h.crowd)...), h.all[half:]...)
	return k
}

// turn reads until it has to make a break, and returns how much of the processor it used; false: all are read.
func (k *walk) turn() (used time.Duration, more bool) {
	for len(k.list) > 0 {
		p := k.list[0]
		k.list = k.list[1:]
		if p == nil {
			used += ms
		} else {
			used += readTime
			k.read(p)
		}
		if tenure.Breaks(used) {
			return used, true
		}
	}
	return used, false
}

func (k *walk) readAll() {
	for _, p := range k.list {
		if p != nil {
			k.read(p)
		}
	}
}

// read reads the state of a process. Those of the session of the first one are killed on sight.
func (k *walk) read(p *process) {
	h, ref := k.h, k.ref
	if p.dead {
		return
	}
	if there, _ := h.sees(k.viewer, p.uid); !there {
		return
	}
	k.rows = append(k.rows, tenure.Process{Identity: p.Identity, Parent: p.parent, Session: p.session})
	k.who = append(k.who, p)
	if ref.First.Pid != 0 && p.session == ref.First.Pid && p.Started >= ref.First.Started && p.Started <= k.seen && may(k.viewer, p, ref) {
		h.kill(p, ref.life)
	}
}

// pick reads the environments, and returns those that belong to the tree and may be killed. The search counts the others.
func (k *walk) pick() (mine []*process) {
	mine, _ = k.found()
	return mine
}

func (k *walk) found() (mine []*process, foreign int) {
	ref := k.ref.Ref
	if k.ref.orphan {
		ref.Runner.Pid = 0
	}
	var rows []tenure.Process
	var who []*process
	for i, p := range k.who {
		if p.dead {
			continue
		}
		_, environ := k.h.sees(k.viewer, p.uid)
		row := k.rows[i]
		row.UID, row.Inside = p.uid, k.ref.cgroup != nobodyID && p.cgroup == k.ref.cgroup
		row.Marked, row.Helper = environ && p.mark == k.ref.mark, environ && p.helper
		rows, who = append(rows, row), append(who, p)
	}
	picked, foreign, _ := ref.Pick(rows, nil, nil)
	for _, i := range picked {
		mine = append(mine, who[i])
	}
	return mine, foreign
}

// finish kills the processes that it may, and says what the walk has found.
func (k *walk) finish() tenure.Search {
	h, viewer, ref := k.h, k.viewer, k.ref
	there, environ := h.sees(viewer, ref.UID)
	runner := viewer.Identity == ref.Runner
	s := tenure.Search{Hidden: !there || !environ || h.hides && viewer.uid != root && !runner, Adopter: k.lived && h.find(ref.Runner) != nil}
	if ref.cgroup != nobodyID {
		s.Cgroup = tenure.Empty
		if slices.ContainsFunc(h.all, func(p *process) bool { return p.cgroup == ref.cgroup }) {
			s.Cgroup = tenure.Occupied
		}
	}
	mine, foreign := k.found()
	for _, p := range h.all {
		if there, _ := h.sees(viewer, p.uid); !there && runner && p.parent == viewer.Pid {
			foreign++ // it can count its children
		}
	}
	s.Left, s.Foreign = len(mine), foreign
	for _, p := range mine {
		if viewer.uid == root || viewer.uid == p.uid { // the kernel lets it
			h.kill(p, ref.life)
		}
	}
	return s
}

// childless says that a runner sees at a glance that nothing is left: it has no children but helpers, and nobody is in the cgroup.
func (h *host) childless(runner *process, ref *reference) bool {
	return !slices.ContainsFunc(h.all, func(p *process) bool {
		return p.parent == runner.Pid && !(p.helper && p.mark == nobodyID) || ref.cgroup != nobodyID && p.cgroup == ref.cgroup
	})
}

// beginSearch kills in the order of a hunt. What a runner finds while it forks proves nothing: it begins anew then.
func (a *party) beginSearch() {
	a.search++
	if a.ref != nil {
		a.beginHunt(a.h.w.latency())
	}
}

func (a *party) beginHunt(d time.Duration) {
	number := a.search
	a.task(d, func() {
		if number == a.search {
			a.early = a.forks > 0
			a.hunt(number, new(tenure.Hunt))
		}
	})
}

// hunt goes on with a search.
func (a *party) hunt(number int, hunt *tenure.Hunt) {
	if number != a.search {
		return
	}
	switch hunt.Next() {
	case tenure.Strike:
		if a.role == runnerRole && a.h.childless(a.p, a.ref) {
			a.prove(tenure.TreeGone)
			return
		}
		a.h.strike(a.p, a.ref)
		a.hunt(number, hunt)
	case tenure.Walk:
		a.walk(number, hunt, a.h.newWalk(a.p, a.ref))
	case tenure.Rest:
		a.task(hunt.Pause(), func() { a.hunt(number, hunt) })
	case tenure.Proven:
		a.prove(a.verdict)
	}
}

// walk goes on with a walk.
func (a *party) walk(number int, hunt *tenure.Hunt, k *walk) {
	if number != a.search {
		return
	}
	used, more := k.turn()
	a.h.w.check.walked(a, used)
	if more {
		a.task(used+tenure.WalkBreak, func() { a.walk(number, hunt, k) })
		return
	}
	a.task(used, func() {
		if number != a.search {
			return
		}
		verdict, ok := k.finish().Verdict()
		a.verdict = verdict
		hunt.Found(verdict, ok)
		a.hunt(number, hunt)
	})
}

// prove reports what a search has proven.
func (a *party) prove(verdict tenure.Kind) {
	if a.early {
		a.beginHunt(ms)
		return
	}
	a.search++
	a.step(tenure.Event{Kind: verdict})
}

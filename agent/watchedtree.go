package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// A watchedTree is what a runner starts. The agent kills it when the runner does not: it may be stopped, or dead.
type watchedTree struct {
	agent *Agent
	group string
	// guard is how long before the end that the runner was told its tree is killed.
	guard time.Duration
	// look kills them and returns what that proves. It is that of the tree.
	look func(ctx context.Context) tree.Result
	// found gets what a search has proven. That counts only if the search is valid when the machine takes it.
	found func(valid func() bool, k tenure.Kind)
	// left gets what a search could not prove gone, for people; nil: nobody wants to know.
	left func(text string)

	mu       sync.Mutex
	tree     tree.Ref
	cancel   context.CancelFunc // of the search under way
	searches sync.WaitGroup
}

// killAttempt is how long one attempt to kill a tree may take before it is reported and repeated.
const killAttempt = time.Second

// watchTree has the processes of a runner looked after. It says why that cannot be done.
func (a *Agent) watchTree(r *session.Request, asker *peer) (*watchedTree, error) {
	if r.Tree == nil {
		return nil, nil
	}
	runner, err := asker.identity()
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	t, err := tree.Claim(*r.Tree).Verify(runner, asker.uid)
	if err != nil {
		return nil, err
	}
	w := newWatchedTree(a, r.Group, t, max(r.Guard, a.timing.Guard))
	if err := t.MayKill(); err != nil {
		// The runner still does. That there is no second to do it is worth a word.
		a.log.Warn("the agent may not kill what a runner starts, should the runner be stopped: run it as root, or as the user of the runner",
			"group", r.Group, "runner", runner.Pid, "err", err)
	}
	return w, nil
}

func newWatchedTree(a *Agent, group string, t tree.Ref, guard time.Duration) *watchedTree {
	w := &watchedTree{agent: a, group: group, tree: t, guard: guard}
	w.look = func(ctx context.Context) tree.Result { ref := w.ref(); return ref.End(ctx) }
	return w
}

// ref returns what is known of the tree.
func (w *watchedTree) ref() tree.Ref {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tree
}

// change changes what is known of the tree.
func (w *watchedTree) change(f func(*tree.Ref)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.tree)
}

// begin begins a search. What an earlier one finds does not count any more.
func (w *watchedTree) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop()
	w.mu.Lock()
	w.cancel = cancel
	w.mu.Unlock()
	w.searches.Go(func() {
		for said := false; ; said = true {
			var found tree.Result
			thread.Run(!w.agent.ordinary, func() {
				within, done := context.WithTimeout(ctx, killAttempt)
				defer done()
				found = w.look(within)
			})
			verdict, ok := found.Verdict()
			valid := func() bool { return ctx.Err() == nil }
			switch {
			case !valid():
				return
			case ok:
				if verdict == tenure.TreeUnknown {
					w.report(&found)
					w.agent.log.Warn("what is left of what a runner started cannot be told: its lease is left to run out", "group", w.group, "found", found.String())
				}
				w.found(valid, verdict)
				return
			case !said:
				w.report(&found)
				w.agent.log.Error("processes of a runner cannot be killed: run the agent as root, or as the user of the runner", "group", w.group, "left", found.String())
			}
		}
	})
}

// report passes on what a search has left.
func (w *watchedTree) report(found *tree.Result) {
	if w.left != nil {
		w.left(found.String())
	}
}

// stop ends a search that is under way.
func (w *watchedTree) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
}

// save writes the tree down before anything of it runs.
func (w *watchedTree) save(group string) {
	ref := w.ref()
	if err := w.agent.orphans.save(group, &ref); err != nil {
		w.agent.log.Warn("should the agent and a runner be killed together, what the runner started will not be found: it could not be written down",
			"group", group, "err", err)
	}
}

// learn takes note of the first process, by a pidfd: its process group and session are found after the death of the runner, too. A tenure
// has one first process. So a runner has its tree saved once, however often it reports one.
func (c *candidate) learn(first int) (err error) {
	if c.tree == nil {
		return errors.New("started: the candidacy is of no runner")
	}
	c.tree.change(func(r *tree.Ref) {
		if r.First.Pid != 0 {
			err = errors.New("started: the first process is known already")
			return
		}
		err = r.Learn(first)
	})
	if err == nil {
		c.work.put(func() {
			if c.life.State() != tenure.Over { // whose note is removed
				c.tree.save(c.group)
			}
		})
	}
	return err
}

// forget removes the note, and what a dead runner had prepared. It returns when nothing is looked for any more: what the runner starts
// next looks like what it started last.
func (w *watchedTree) forget() {
	w.stop()
	w.searches.Wait()
	ref := w.ref()
	w.agent.orphans.remove(&ref)
	if ref.Orphaned() {
		ref.Forget()
	}
}

// runners finds the last candidate of each runner. A runner that was cut off comes back on another connection.
type runners struct {
	mu   sync.Mutex
	last map[tenure.Identity]*candidate
}

// add has a candidate of a runner wait for the one before it.
func (r *runners) add(c *candidate) {
	if c.tree == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	runner := c.tree.ref().Runner
	c.after = r.last[runner]
	r.last[runner] = c
}

// remove forgets a candidate under which nothing is left.
func (r *runners) remove(c *candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if runner := c.tree.ref().Runner; r.last[runner] == c {
		delete(r.last, runner)
	}
}

// priority returns that of the member, for hooks in the manner of keepalived.
func (a *Agent) priority() int {
	return max(lowestPriority, a.file.Load().Self().Priority)
}

// lowestPriority is the lowest that keepalived knows of.
const lowestPriority = 1

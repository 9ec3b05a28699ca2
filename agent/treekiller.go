package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// A treeKiller kills the processes that a runner started, when the runner does not: it may be stopped, or dead.
type treeKiller struct {
	agent *Agent
	group string
	tree  tree.Ref
	// killAll kills them and returns what that proves. It is that of the tree.
	killAll func(ctx context.Context) tree.Result
	// guard is how long before the end that the runner was told they are killed.
	guard   time.Duration
	killNow chan struct{} // closed when they are to be killed at once
	once    sync.Once
	gone    chan struct{} // closed when none is left, or is to be looked for

	mu sync.Mutex
	// killing says that it has begun to kill, disarmed that it must not any more; then search has ended.
	killing, disarmed bool
	search            context.Context
	cancelSearch      context.CancelFunc
}

// killAttempt is how long one attempt to kill a tree may take before it is reported and repeated.
const killAttempt = time.Second

// watchTree has the processes of a runner looked after. It says why that cannot be done.
func (a *Agent) watchTree(r *session.Request, asker *peer) (*treeKiller, error) {
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
	if err := t.MayKill(); err != nil {
		// The runner still does. That there is no second to do it is worth a word.
		a.log.Warn("the agent may not kill what a runner starts, should the runner be stopped: run it as root, or as the user of the runner",
			"group", r.Group, "runner", runner.Pid, "err", err)
	}
	if err := a.orphans.save(r.Group, &t); err != nil {
		a.log.Warn("should the agent and a runner be killed together, what the runner started will not be found: it could not be written down",
			"group", r.Group, "err", err)
	}
	return newTreeKiller(a, r.Group, t, max(r.Guard, a.timing.Guard)), nil
}

// forgetRecord takes note that nobody is left of the tree. A treeKiller that is nil has none.
func (k *treeKiller) forgetRecord() {
	if k != nil {
		k.agent.orphans.remove(&k.tree)
	}
}

func newTreeKiller(a *Agent, group string, t tree.Ref, guard time.Duration) *treeKiller {
	k := &treeKiller{agent: a, group: group, tree: t, guard: guard, killNow: make(chan struct{}), gone: make(chan struct{})}
	k.killAll = k.tree.End
	k.search, k.cancelSearch = context.WithCancel(context.Background())
	return k
}

// run kills the processes a guard time before the last end that their runner was told, or when it is asked to. It
// gives up when done is closed.
func (k *treeKiller) run(c *candidate, done <-chan struct{}) {
	for {
		left := c.untilKill(k.guard)
		if left <= 0 {
			break
		}
		timer := time.NewTimer(left) // it may have been told of a later one by then
		select {
		case <-timer.C:
			continue
		case <-k.killNow:
		case <-done:
			timer.Stop()
			return
		}
		break
	}
	defer close(k.gone)
	if !k.beginKill() {
		return
	}
	thread.Run(func() { k.killUntilProven(c) })
}

// killUntilProven kills until nothing is left. What cannot be proven gone may still act: then the end that was announced to it is
// waited for.
func (k *treeKiller) killUntilProven(c *candidate) {
	for said := false; ; said = true {
		ctx, cancel := context.WithTimeout(k.search, killAttempt)
		found := k.killAll(ctx)
		cancel()
		kind, ok := found.Verdict()
		if k.search.Err() != nil {
			return
		}
		if ok && (kind == tenure.TreeGone || c.untilKill(0) <= 0) {
			k.tree.Forget()
			return
		}
		if !said {
			k.agent.log.Error("processes of a runner may still act: its group is not given up before the end that it knows", "group", k.group, "left", found.String())
		}
		if ok { // nothing more can be found
			select {
			case <-time.After(min(killAttempt, max(0, c.untilKill(0)))):
			case <-k.search.Done():
			}
		}
	}
}

// beginKill says whether to kill.
func (k *treeKiller) beginKill() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killing = !k.disarmed
	return k.killing
}

// disarm lets nothing be killed from now on: the runner says that nobody is left, and may start others, which belong to the next
// leadership. They would be taken for those that are looked for, so that a search that is under way is ended first.
func (k *treeKiller) disarm() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.disarmed = true
	killing := k.killing
	k.mu.Unlock()
	k.cancelSearch()
	if killing {
		<-k.gone
	}
}

// kill has the processes killed, and returns at once. A treeKiller that is nil has none.
func (k *treeKiller) kill() {
	if k != nil {
		k.once.Do(func() { close(k.killNow) })
	}
}

// discard removes what a runner prepared that never led, should it be dead.
func (k *treeKiller) discard() {
	if k != nil {
		k.tree.Forget()
	}
}

// killAndWait kills the processes and returns when none is left.
func (k *treeKiller) killAndWait() {
	if k != nil {
		k.kill()
		<-k.gone
	}
}

// priority returns that of the member, for hooks that want to know: the lowest if it has none.
func (a *Agent) priority() int {
	if p := a.file.Load().Self().Priority; p != nil {
		return *p
	}
	return lowestPriority
}

// lowestPriority is the lowest that keepalived knows of.
const lowestPriority = 1

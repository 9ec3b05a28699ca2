package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// reason is why a leadership ended.
type reason int

const (
	programExited reason = iota // the program ended
	stopRequested               // the runner or the leadership was asked to end, and the program had its grace
	unhealthy                   // the program was not healthy
	leaseLost                   // the lease was not renewed
)

// ending is how a leadership ended.
type ending struct {
	why    reason
	status int    // of the program
	cause  string // for people
}

// lead runs the program for as long as the lease lasts.
func (r *runner) lead(ctx context.Context, l Lease, t *tree.Tree) (ending, error) {
	r.Log("leads %s with token %d", r.Group, l.Token())
	w := watch(l, t, r.Guard)
	defer w.end()
	env := r.programEnv(l)
	r.Hooks.elected(env, r.Group, w.over)
	how := ending{why: leaseLost, cause: "the lease ended before the program was started"}
	if !w.isOver() {
		err := t.Start(tree.Options{Path: r.path, Args: r.Command, Env: env, Files: r.Files})
		if err == nil {
			err = r.exec(t, w)
		}
		switch {
		case err == nil:
			how = r.follow(ctx, l, t, w)
		case !w.isOver(): // otherwise what was prepared is gone, and that is why
			r.release(l, t)
			return ending{}, cannotStart(err)
		}
	}
	// Whatever the reason was: nobody is left of the tree before the group is given up.
	r.release(l, t)
	if how.why == programExited {
		how.status = t.Status()
	}
	r.Log("stopped leading %s: %s", r.Group, how.cause)
	r.healedHooks.wait() // what is told comes in order
	r.Hooks.lost(env, r.Group, how.why)
	return how, nil
}

// exec lets the first process become the program, if the lease has not ended since it was forked.
func (r *runner) exec(t *tree.Tree, w *watcher) error {
	if w.isOver() {
		t.Abort()
		return errLate
	}
	return t.Exec()
}

var errLate = errors.New("the lease ended before the program was started")

// cannotStart gives an error of exec the exit status that shells give it.
func cannotStart(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &exitError{err, StatusNotFound}
	}
	return &exitError{err, StatusCannotRun}
}

const (
	// killAttempt is how long one attempt to kill a tree may take before it is repeated.
	killAttempt = time.Second
	// releaseTimeout is the least time that the agent has to release a group.
	releaseTimeout = 5 * time.Second
)

// release makes sure that the tree is gone and then gives the group up.
func (r *runner) release(l Lease, t *tree.Tree) {
	for said := false; ; said = true {
		ctx, cancel := context.WithTimeout(context.Background(), killAttempt)
		found := t.End(ctx)
		if found.Gone() {
			cancel()
			break
		}
		if !said {
			r.Log("%s is not given up before its processes are gone: %s", r.Group, found.String())
		}
		<-ctx.Done()
		cancel()
	}
	t.Forget()
	ctx, cancel := context.WithTimeout(context.Background(), max(releaseTimeout, 2*r.terms.Lease))
	defer cancel()
	if err := l.Stopped(ctx); err != nil {
		r.Log("giving %s up: %v", r.Group, err)
	}
}

// follow watches the program until it has ended or must be killed.
func (r *runner) follow(ctx context.Context, l Lease, t *tree.Tree, w *watcher) ending {
	sick, cancel := r.Health.watch(r.reaper, r.hookEnv(l))
	defer cancel()
	for {
		select {
		case <-l.Healed():
			r.healedHooks.tryRun(func() { r.Hooks.notify(r.hookEnv(l), r.Group, hookAgain) })
		case <-t.Exited():
			return r.exited(l, t, w)
		case <-w.over:
			select {
			case <-t.Exited(): // both are seen at once after a pause
				return r.exited(l, t, w)
			default:
				return lostEnding(l)
			}
		case <-l.Done():
			return r.stopProgram(t, w, syscall.SIGTERM, ending{why: stopRequested, cause: l.Cause()})
		case why := <-sick:
			return r.stopProgram(t, w, syscall.SIGTERM, ending{why: unhealthy, cause: why})
		case s := <-r.Signals:
			if isStopSignal(s) {
				r.stop = s
				return r.stopProgram(t, w, s, ending{why: stopRequested, cause: "asked to stop by " + s.String()})
			}
			if err := t.Forward(s); err != nil {
				r.Log("forwarding %v: %v", s, err)
			}
		case <-ctx.Done():
			r.stop = syscall.SIGTERM
			return r.stopProgram(t, w, syscall.SIGTERM, ending{why: stopRequested, cause: "asked to stop"})
		}
	}
}

func lostEnding(l Lease) ending {
	return ending{why: leaseLost, cause: "the lease was not renewed in time: " + l.Cause()}
}

// exited says how a program ended that nobody had asked to. Nobody is killed with status 0.
func (r *runner) exited(l Lease, t *tree.Tree, w *watcher) ending {
	if w.isOver() && t.Status() != 0 { // it was killed by the watcher, or by the agent
		return lostEnding(l)
	}
	return ending{why: programExited, cause: fmt.Sprintf("%s ended with status %d", r.Command[0], t.Status())}
}

// stopProgram asks the program to stop and gives it its grace, unless the lease ends before.
func (r *runner) stopProgram(t *tree.Tree, w *watcher, sig os.Signal, how ending) ending {
	if err := t.Forward(sig); err != nil {
		r.Log("sending %v: %v", sig, err)
	}
	grace := time.NewTimer(r.Grace)
	defer grace.Stop()
	for {
		select {
		case <-t.Exited():
			return how
		case <-grace.C:
			how.cause += fmt.Sprintf("; killed after %v of grace", r.Grace)
			return how
		case <-w.over:
			how.cause += "; killed because the lease was not renewed in time"
			return how
		case s := <-r.Signals:
			if isStopSignal(s) {
				r.stop = s
			}
			if err := t.Forward(s); err != nil {
				r.Log("forwarding %v: %v", s, err)
			}
		}
	}
}

// watcher kills a tree a guard time before its lease ends.
type watcher struct {
	lease Lease
	guard time.Duration
	// over is closed when the lease is, but for the guard time. The tree is being killed then.
	over chan struct{}
	quit chan struct{}
	once sync.Once
	done sync.WaitGroup
	tree *tree.Tree
}

// watch begins to watch. It depends on nothing else that the runner does.
func watch(l Lease, t *tree.Tree, guard time.Duration) *watcher {
	w := &watcher{lease: l, guard: guard, over: make(chan struct{}), quit: make(chan struct{}), tree: t}
	w.done.Go(func() { thread.Run(w.run) })
	return w
}

// run kills the tree when the lease has ended but for the guard time.
func (w *watcher) run() {
	for {
		left := w.left()
		if left <= 0 {
			close(w.over)
			break
		}
		// A renewal moves the end; then the rest is waited for.
		select {
		case <-time.After(left):
		case <-w.quit:
			return
		}
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), killAttempt)
		found := w.tree.End(ctx)
		cancel()
		if _, ok := found.Verdict(); ok {
			return
		}
	}
}

// left is for how long the program may run if the lease is not renewed again.
func (w *watcher) left() time.Duration { return w.lease.Remaining() - w.guard }

// isOver says whether that time has passed, also when the watcher has not noticed yet: after a pause of the host the agent
// may be quicker, and kill.
func (w *watcher) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return w.left() <= 0
	}
}

func (w *watcher) end() {
	w.once.Do(func() { close(w.quit) })
	w.done.Wait()
}

// backgroundTask does things one at a time, while others go on.
type backgroundTask struct {
	busy atomic.Bool
	done sync.WaitGroup
}

// tryRun does f, unless the last one is not done yet.
func (a *backgroundTask) tryRun(f func()) {
	if a.busy.CompareAndSwap(false, true) {
		a.done.Go(func() {
			defer a.busy.Store(false)
			f()
		})
	}
}

func (a *backgroundTask) wait() { a.done.Wait() }

// isStopSignal says whether a signal asks the runner to end. Others are for the program.
func isStopSignal(s os.Signal) bool { return s == syscall.SIGTERM || s == os.Interrupt }

// hookEnv is the environment of helpers.
func (r *runner) hookEnv(l Lease) []string { return tree.Helper(r.programEnv(l)) }

// programEnv is the environment of the program.
func (r *runner) programEnv(l Lease) []string {
	env := append([]string(nil), r.Env...)
	env = append(env, "REGENT_GROUP="+r.Group, "REGENT_MEMBER="+r.terms.Member, "REGENT_SOCKET="+r.terms.Socket,
		"REGENT_LEASE="+r.terms.Lease.String(), "REGENT_PRIORITY="+strconv.Itoa(r.terms.Priority))
	if l != nil {
		token := strconv.FormatUint(l.Token(), 10)
		env = append(env, "REGENT_TOKEN="+token, "REGENT_TERM="+token)
	}
	return env
}

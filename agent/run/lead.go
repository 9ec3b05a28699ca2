package run

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
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
func (r *runner) lead(ctx context.Context, l *life) (ending, error) {
	switch {
	case r.hasToken():
		r.Log("leads %s with token %d", r.Group, l.party.Token())
	case r.Mode == "":
		r.Log("leads %s, without a token: the engine offers none", r.Group)
	default:
		r.Log("this host leads %s (%s)", r.Group, r.Mode)
	}
	r.follow(ctx, l)
	<-l.forgotten
	how := l.close()
	r.awaitRelease(l)
	if err := l.unstarted(); err != nil && how.why != leaseLost && r.stop == nil {
		return ending{}, cannotStart(err)
	}
	return how, nil
}

// awaitRelease waits until the tenure is over at the agent as well: what this runner starts next must not be taken for what was
// left of it.
func (r *runner) awaitRelease(l *life) {
	limit := time.NewTimer(max(reportWithin, 2*r.leaseLength()))
	defer limit.Stop()
	select {
	case <-l.released:
	case <-r.agent.Gone():
	case <-limit.C:
		r.Log("giving %s up: the agent does not answer", r.Group)
	}
}

// cannotStart gives an error of exec the exit status that shells give it.
func cannotStart(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &exitError{err, StatusNotFound}
	}
	return &exitError{err, StatusCannotRun}
}

// killAttempt is how long one attempt to kill a tree may take before it is repeated.
const killAttempt = time.Second

// follow passes on what happens beside the lease, until the tenure is over.
func (r *runner) follow(ctx context.Context, l *life) {
	sick, cancel := r.Health.watch(r.reaper, r.hookEnv(l.party.Token()), l.runs)
	defer cancel()
	done, runs := ctx.Done(), l.runs
	var healed <-chan struct{} // hooks run in order: this one after the elected hooks have ended
	for {
		select {
		case <-l.over:
			return
		case <-runs:
			runs, healed = nil, l.healed
		case <-healed:
			r.healedHooks.tryRun(l.announceAgain)
		case why := <-sick:
			l.resign(protocol.Unhealthy, syscall.SIGTERM, ending{why: unhealthy, cause: why})
		case why := <-r.Sick:
			l.resign(protocol.Unhealthy, syscall.SIGTERM, ending{why: unhealthy, cause: why})
		case s := <-r.Signals:
			if !isStopSignal(s) {
				l.signalled(s)
				continue
			}
			asked := l.party.State() != tenure.Leading
			r.stop = s
			l.resign(protocol.Resigned, s, ending{why: stopRequested, cause: "asked to stop by " + s.String()})
			if asked {
				l.signalled(s)
			}
		case <-done:
			done = nil
			r.stop = syscall.SIGTERM
			l.resign(protocol.Resigned, syscall.SIGTERM, ending{why: stopRequested, cause: "asked to stop"})
		}
	}
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

// hasToken says whether leaderships of the group have tokens. Groups that hosts lead have none, nor have those of an engine that offers none: there what the machine has for one only numbers leaderships.
func (r *runner) hasToken() bool { return r.Mode == "" && !r.noToken.Load() }

// hookEnv is the environment of helpers.
func (r *runner) hookEnv(token uint64) []string { return tree.Helper(r.programEnv(token)) }

// programEnv is the environment of the program; without a token that of a host that does not lead.
func (r *runner) programEnv(token uint64) []string {
	env := append([]string(nil), r.Env...)
	env = append(env, "REGENT_GROUP="+r.Group, "REGENT_MEMBER="+r.terms.Member, "REGENT_SOCKET="+r.terms.Socket,
		"REGENT_LEASE="+r.leaseLength().String(), "REGENT_PRIORITY="+strconv.Itoa(r.terms.Priority))
	if r.Mode != "" {
		env = append(env, "REGENT_MODE="+string(r.Mode))
	}
	if token != 0 && r.hasToken() {
		text := strconv.FormatUint(token, 10)
		env = append(env, "REGENT_TOKEN="+text, "REGENT_TERM="+text)
	}
	return env
}

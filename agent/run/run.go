// Package run is the runner behind regent run: it runs a program only while this host leads a group.
//
//	run.go       what to run, and the loop: campaign, lead, again
//	life.go      one leadership: drives a machine of internal/tenure
//	killer.go    looking for processes of a tree and killing them, again and again
//	lead.go      what happens beside the lease: signals, health, helpers' environment
//	keeper_*.go  the keeper, as the runner sees it; keep_linux.go: what the keeper does
//	main.go      processes that run from this executable
//	wait.go      saying who leads meanwhile
//	hook.go      commands and scripts that run at changes
//	fifo_*.go    a pipe that is
//	health.go    commands that say whether the program, or the host, is fit to lead
//	addresses.go addresses that move with a leadership
//	byagent.go   the same for a user that may not change addresses: the agent starts the runner
//	agent.go     what a runner needs of an agent
//	tree         processes, and all that they started
//
// # The promise
//
// Nothing that the program started runs when the lease ends. The runner drives one machine of internal/tenure for each leadership,
// which has all the rules: docs/tenure.md. Two watch over the end. The runner kills the tree a guard time before the end of the
// lease as it was last announced, and looks once more between fork and exec whether the program may begin; the agent, which knows the tree before anything was started,
// does the same by its own clock, also when the runner is stopped or dead. The agent does not release a leadership
// before the tree is gone.
//
// While a leadership is given up in good order (the runner is asked to stop, the group is transferred, the agent stops,
// the program is not healthy) the lease goes on being renewed: the program is sent SIGTERM and has its whole grace. When
// a lease cannot be renewed it is killed a guard time before the end, however much of the grace is left.
//
// What this cannot do: if neither the runner nor its keeper nor the agent is scheduled before the lease ends, because the host has
// stopped or has no processor to spare, the program is not killed in time, and somebody else may lead while it still
// acts. Then only the token protects: what receives the program's orders has to refuse one that is lower than what it has
// seen.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// The exit statuses of a runner that are not its program's own.
const (
	StatusNotElected = 123 // the program was not run: this host did not lead within Options.Wait
	StatusLost       = 124 // leadership was lost and the program killed, with Options.Once
	StatusFailed     = 125 // the runner itself failed
	StatusCannotRun  = 126 // the program is there and cannot be run
	StatusNotFound   = 127 // the program is not there
)

// ReplacedWithin bounds, on a host that is not too busy, how soon a program or runner is replaced that dies, if all of its processes are proven gone:
// docs/performance.md has measurements.
const ReplacedWithin = 50 * time.Millisecond

// Options is what to run, and how.
type Options struct {
	Group string
	// Mode is local or eventual in a group that hosts lead; empty: quorum.
	Mode    regent.Mode
	Command []string
	// Addresses are added to interfaces while this host leads, instead of a command: see package address. JSON has what happens to them
	// printed as JSON.
	Addresses []string
	JSON      bool
	// Quiet has nothing written about elections.
	Quiet bool
	// Grace is how long the program has to stop when it is asked to, and Guard how long before the end of the lease it is
	// killed if the lease was not renewed; zero: what the agent has.
	Grace, Guard time.Duration
	// Value is what a leadership announces, such as where the program serves.
	Value string
	// Lease is the length of leases; zero: as the agent is configured.
	Lease time.Duration
	// Once ends the runner after the first leadership, however it ends. Restart runs the program again when it has ended
	// by itself; in between the group is given up.
	Once, Restart bool
	// Delay is how long to wait before campaigning again, after the program ended by itself or was not fit.
	Delay time.Duration
	// Wait is how long to campaign at most; zero: for ever.
	Wait time.Duration
	// Keeper has a keeper process beside the runner, if the system can have one: see keeper_linux.go.
	Keeper bool
	// Files are the program's standard input, output and error.
	Files []*os.File
	// Env is the environment to begin with.
	Env   []string
	Hooks Hooks
	// Health is asked while the program runs, Ready before campaigning.
	Health, Ready Check
	// Sick says why the program is not fit to lead, beside Health; nil: nobody says that.
	Sick <-chan string
	// Signals are those that the runner got.
	Signals <-chan os.Signal
	// Log says what happens; one line each.
	Log func(format string, args ...any)
}

// An exitError is an error with the exit status that it leads to.
type exitError struct {
	error
	status int
}

func (e *exitError) Unwrap() error { return e.error }

// Status returns the exit status that an error of Run leads to.
func Status(err error) int {
	var e *exitError
	if errors.As(err, &e) {
		return e.status
	}
	return StatusFailed
}

// runner is a runner at work.
type runner struct {
	Options
	path   string
	reaper *tree.Reaper
	agent  Agent
	terms  Terms
	lease  atomic.Int64 // the length of leases, a time.Duration; zero until the agent has accepted a candidacy
	// noToken says that leaderships here have no tokens, as of the last one.
	noToken atomic.Bool
	// announced is the length that was logged last.
	announced atomic.Int64
	keeper    *keeper // nil: none
	last      Upper   // of the candidacy before; nil: none
	// healedHooks tells hooks that this host still leads.
	healedHooks backgroundTask
	// since is when it began to wait; zero while it does not.
	since time.Time
	// accepted says that the agent let this runner lead before.
	accepted bool
	// retried is why it last tried again, as logged; empty since the agent has accepted a candidacy.
	retried string
	// stop is set once the runner was asked to end, to the signal that said so.
	stop os.Signal
}

// Run runs the program whenever this host leads, until the program ends, the runner is asked to stop, or Options.Once is
// fulfilled. It returns the exit status; an error says why there is none from the program.
func Run(ctx context.Context, connect func(context.Context) (Agent, error), o Options) (int, error) {
	if len(o.Addresses) > 0 {
		o.Command = holderCommand(o.Addresses, o.JSON)
	}
	path, err := program(o.Command[0])
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return StatusNotFound, fmt.Errorf("%s: no such program", o.Command[0])
	case err != nil:
		return StatusCannotRun, err
	}
	r := &runner{Options: o, path: path}
	r.reaper, err = tree.ProcessReaper()
	if err != nil {
		return StatusFailed, err
	}
	liveOn()
	if err := r.Hooks.open(r.Files[2]); err != nil {
		return StatusFailed, err
	}
	defer r.Hooks.close()
	r.agent, err = connect(ctx)
	if err != nil {
		return StatusFailed, err
	}
	defer func() { _ = r.agent.Close() }()
	defer func() { r.keeper.close() }()
	if err := r.checkGuard(); err != nil {
		return StatusFailed, err
	}
	defer r.Hooks.notify(context.WithoutCancel(ctx), r.hookEnv(0), r.Group, hookStop)
	r.Hooks.notify(ctx, r.hookEnv(0), r.Group, hookBackup)
	for {
		status, again, err := r.leadOnce(ctx)
		if err != nil || !again {
			return status, err
		}
		if err := r.reconnect(ctx, connect); err != nil {
			return r.ended(err)
		}
	}
}

// accept takes the length of the leases that the agent gives to this runner. A new one is logged, with what follows from it.
func (r *runner) accept(lease time.Duration) {
	r.lease.Store(int64(lease))
	if was := r.announced.Swap(int64(lease)); was != int64(lease) && r.Mode == "" {
		r.Log("leases of %s last %v: a program or runner that dies is replaced within about %v and its lost hooks, a host or agent after about %v", r.Group, lease, ReplacedWithin, lease)
	}
}

// leaseLength returns the length of the leases of the group, that of the council until the agent has accepted a candidacy.
func (r *runner) leaseLength() time.Duration {
	return cmp.Or(time.Duration(r.lease.Load()), r.Lease, r.terms.Lease)
}

// checkGuard refuses a guard time that is shorter than the agent's. Whether it leaves room to renew leases of the group is the agent's to check.
func (r *runner) checkGuard() error {
	r.terms = r.agent.Terms()
	t := &r.terms
	r.lease.Store(0)
	if r.Guard == 0 {
		r.Guard = t.Guard
	}
	if r.Guard < t.Guard {
		return fmt.Errorf("guard %v is too short: the agent tells programs %v before the end of the lease, and kills then", r.Guard, t.Guard)
	}
	return nil
}

// reconnect finds an agent again if the one that was there has gone.
func (r *runner) reconnect(ctx context.Context, connect func(context.Context) (Agent, error)) error {
	said := false
	for {
		select {
		case <-r.agent.Gone():
		default:
			return nil
		}
		a, err := connect(ctx)
		if err == nil {
			_ = r.agent.Close()
			r.agent = a
			return r.checkGuard()
		}
		if !said {
			r.Log("the agent has gone: %v; trying again every second", err)
			said = true
		}
		if err := r.pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}

// retryInterval is how long to wait before asking for the agent again.
const retryInterval = time.Second

// errAgain says that the agent is gone, or about to go, and another may come.
var errAgain = errors.New("the agent stops")

// errStopped says that the runner was asked to stop.
var errStopped = errors.New("asked to stop")

// pause waits, unless the runner is asked to stop.
func (r *runner) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case s := <-r.Signals:
			if isStopSignal(s) {
				r.stop = s
				return errStopped
			}
		case <-ctx.Done():
			return cause(ctx)
		}
	}
}

// cause says why a wait has ended.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return errStopped
}

// ended turns the end of a wait into an exit status.
func (r *runner) ended(err error) (int, error) {
	if errors.Is(err, errStopped) {
		return 0, nil
	}
	return Status(err), err
}

// leadOnce campaigns once and leads once. It says whether to do so again.
func (r *runner) leadOnce(ctx context.Context) (status int, again bool, err error) {
	l, err := r.awaitLease(ctx)
	var final *exitError
	switch {
	case err == nil:
	case errors.Is(err, errAgain) || r.accepted && !errors.Is(err, errStopped) && !errors.As(err, &final):
		// The agent took this runner before: it is gone now, or about to go.
		if why := err.Error(); why != r.retried {
			r.Log("%s; trying again every second", why)
			r.retried = why
		}
		if err := r.pause(ctx, retryInterval); err != nil {
			return 0, false, nil
		}
		return 0, true, nil
	default:
		status, err = r.ended(err)
		return status, false, err
	}
	how, err := r.lead(ctx, l)
	if err != nil {
		return Status(err), false, err
	}
	switch {
	case r.stop != nil:
		return 0, false, nil
	case how.why == programExited && !r.Restart || how.why == programExited && r.Once:
		return how.status, false, nil
	case r.Once:
		return StatusLost, false, &exitError{fmt.Errorf("%s: %s", r.Group, how.cause), StatusLost}
	case how.why == programExited || how.why == unhealthy:
		r.Log("campaigns again in %v", r.Delay)
		if err := r.pause(ctx, r.Delay); err != nil {
			return 0, false, nil
		}
	}
	return 0, true, nil
}

// awaitLease waits until this host is fit to lead, and leads.
func (r *runner) awaitLease(ctx context.Context) (*life, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.since.IsZero() {
		r.since = time.Now()
	}
	if r.Wait > 0 {
		timer := time.AfterFunc(r.Wait-time.Since(r.since), func() {
			cancel(&exitError{fmt.Errorf("%s: this host did not lead within %v", r.Group, r.Wait), StatusNotElected})
		})
		defer timer.Stop()
	}
	if err := r.awaitReady(ctx); err != nil {
		return nil, err
	}
	t, _, err := r.reaper.Prepare()
	if err != nil {
		return nil, &exitError{err, StatusFailed}
	}
	t.Hold(r.Addresses)
	l := r.newLife(t)
	if err := r.campaign(ctx, l); err != nil {
		return nil, err
	}
	r.accepted, r.since, r.retried = true, time.Time{}, ""
	return l, nil
}

// prepareKeeper has a keeper look after a candidacy, and returns their secret. Without a keeper the runner and the agent do.
func (r *runner) prepareKeeper(ctx context.Context, l *life) string {
	if !r.Keeper {
		return ""
	}
	var err error
	for range 2 { // one that is dead is replaced
		if r.keeper == nil {
			r.keeper, err = startKeeper(r)
			if err != nil {
				break
			}
		}
		var key string
		key, err = r.keeper.prepare(ctx, l)
		if err == nil {
			l.keeper, l.key = r.keeper, key
			return key
		}
		r.keeper.close()
		r.keeper = nil
	}
	if ctx.Err() == nil {
		r.Log("no keeper: %v: if this runner dies nobody runs its hooks", err)
	}
	return ""
}

// campaign waits until the program may run. If it may not, nothing of it is left.
func (r *runner) campaign(ctx context.Context, l *life) error {
	ref := l.tree.Ref()
	claim := session.Tree(ref.Claim())
	up, err := r.agent.Campaign(session.Candidate{Group: r.Group, Mode: r.Mode, Lease: r.Lease, Name: r.name(), Value: r.Value, Grace: r.Grace, Page: true,
		Claim: &claim, Guard: r.Guard, Hooks: r.Hooks.bound(), Secret: r.prepareKeeper(ctx, l)}, l.take)
	l.enter(up)
	if last := r.last; last != nil {
		last.Leave() // nobody corrects its cause any more
	}
	r.last = up
	if err != nil {
		l.give(tenure.UpperGone)
		return err
	}
	end := r.logLeaders(ctx) // the agent takes what comes in order: who is said to wait is a candidate
	defer end()
	for {
		select {
		case <-l.elected:
			return nil
		case <-l.over: // the agent ended it, or the lease came too late
			r.awaitRelease(l)
			return cmp.Or(l.why(), errAgain)
		case s := <-r.Signals:
			if !isStopSignal(s) {
				continue
			}
			r.stop = s
			l.withdraw()
			<-l.over
			<-l.forgotten
			return errStopped
		case <-ctx.Done():
			l.withdraw()
			<-l.over
			<-l.forgotten
			return cause(ctx)
		}
	}
}

package regentlock

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/kube/regentlock/internal/rule"
)

// Elector returns the configuration of an elector with this lock, its constants, and the callbacks. It has the lock know when the program has stopped:
//
//   - The context of OnStartedLeading also ends when the lease demands it, without waiting for the elector, and carries the lease ([LeaseOf]).
//   - The group is given up when OnStoppedLeading has returned, and OnStartedLeading has, after its context had ended. Until then this lock does not
//     campaign again. An OnStartedLeading that returns earlier has handed its work on: call [Lock.Stopped] when that has stopped, or exit.
//
// ReleaseOnCancel stays false: an elector releases before its program has stopped.
func (l *Lock) Elector(c leaderelection.LeaderCallbacks) leaderelection.LeaderElectionConfig {
	l.mu.Lock()
	l.watched = true
	l.mu.Unlock()
	if started := c.OnStartedLeading; started != nil {
		c.OnStartedLeading = func(ctx context.Context) { l.run(ctx, started) }
	}
	if stopped := c.OnStoppedLeading; stopped != nil {
		c.OnStoppedLeading = func() {
			defer l.reported()
			stopped()
		}
	}
	return leaderelection.LeaderElectionConfig{Lock: l, Name: l.group.Name(), Callbacks: c,
		LeaseDuration: l.config.Lease, RenewDeadline: l.config.RenewDeadline, RetryPeriod: l.config.RetryPeriod}
}

// leaseKey is the key of the lease in the context of a program.
type leaseKey struct{}

// LeaseOf returns the lease under which a program leads, from the context of its OnStartedLeading ([Lock.Elector]); nil in other contexts.
func LeaseOf(ctx context.Context) *regent.Lease {
	lease, _ := ctx.Value(leaseKey{}).(*regent.Lease)
	return lease
}

// run calls the function of the program. The elector may have stopped by now; then its context has ended.
func (l *Lock) run(ctx context.Context, started func(context.Context)) {
	lease := l.Lease() // of this very leadership: it stays until the program is reported to have stopped
	within, cancel := context.WithCancelCause(ctx)
	go func() { // for as long as what the function has started may run
		defer cancel(nil)
		select {
		case <-lease.Done():
			cancel(fmt.Errorf("must stop leading %s: %w", l.group.Name(), lease.Cause()))
		case <-within.Done():
		}
	}()
	started(context.WithValue(within, leaseKey{}, lease))
	if within.Err() == nil && lease.Valid() {
		l.step(rule.Unwatched)
		return
	}
	_ = l.Stopped(context.WithoutCancel(ctx))
}

// Stopped says that the program of the last leadership has stopped, with all that it has started. If the elector has stopped, too, it gives the group
// up; otherwise that follows when the elector stops. It does nothing if there is no leadership. Programs under [Lock.Elector] need not call it, unless OnStartedLeading returns early.
func (l *Lock) Stopped(ctx context.Context) error {
	_, resign := l.step(rule.Stopped)
	if resign == nil {
		return nil
	}
	return resign.Resign(ctx)
}

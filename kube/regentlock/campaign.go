package regentlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/kube/regentlock/internal/rule"
)

// errOther ends a campaign because there is a leader that the elector has not seen.
var errOther = errors.New("another candidate leads")

// campaign waits until the group is led from here, or until the elector has a new leader to report.
func (l *Lock) campaign(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	lease, err := l.wait(ctx)
	if err == nil {
		if err = l.lasts(lease); err != nil {
			l.resign(lease)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.machine.Step(rule.Failed)
		return err
	}
	l.machine.Step(rule.Won)
	l.machine.Watch(l.watched)
	l.lease, l.wrote = lease, r
	return nil
}

// wait campaigns.
func (l *Lock) wait(ctx context.Context) (*regent.Lease, error) {
	within, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	l.mu.Lock()
	shown := l.shown
	l.mu.Unlock()
	watching.Go(func() {
		for v, err := range l.group.Watch(within) {
			if err != nil {
				return // the campaign meets with it, too
			}
			if holder := l.holder(&v); holder != "" && holder != shown {
				cancel(errOther)
				return
			}
		}
	})
	lease, err := l.group.Campaign(within)
	if errors.Is(err, errOther) || err != nil && errors.Is(context.Cause(within), errOther) {
		return nil, apierrors.NewConflict(resource, l.group.Name(), errOther)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: campaign: %w", l.Describe(), err)
	}
	return lease, nil
}

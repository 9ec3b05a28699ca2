package core

import (
	"context"
	"time"
)

// pushesPerRenewal bounds how often programs get to know of later ends: the horizon may move several times in one renewal, and each
// message costs more than what it is late by.
const pushesPerRenewal = 5

// pushRenewals lets programs that read no page know that their leases end later than they knew. It does nothing while there are none, or no
// lease is renewed.
func (a *Agent) pushRenewals(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-a.deadlines.moved:
		case <-ctx.Done():
			return
		}
		for _, c := range a.deadlines.inLines() {
			if c.hasLaterEnd() {
				c.Notifier.Renewed(c)
			} else {
				c.Keeper.Renewed()
			}
		}
		pause.Reset(max(a.Timing.Renew/pushesPerRenewal, time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// renewTurn has the program of a turn or membership get to know of later ends, until its candidacy has ended: no horizon of the agent moves then.
func (c *Candidate) renewTurn() {
	ticker := time.NewTicker(max(c.agent.Timing.Renew/pushesPerRenewal, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.agent.deadlines.move()
		case <-c.Ended:
			return
		}
	}
}

// awaitChange waits for a change, or for as long as a renewal takes: the lease of a host may have been too short for a turn to begin.
func (a *Agent) awaitChange(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(a.Timing.Renew)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

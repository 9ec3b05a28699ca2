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
func (c *Candidate) renewTurn(l leadership) {
	ticker := time.NewTicker(c.agent.pace(l))
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

// pace is how often to look for a later end. Where hosts have no lease every look finds one, and once in a renewal is enough. A lease of the
// host moves about once in a renewal, and is so short that the program is to know soon.
func (a *Agent) pace(l leadership) time.Duration {
	if hasNoLease(l) {
		return max(a.Timing.Renew, time.Millisecond)
	}
	return max(a.Timing.Renew/pushesPerRenewal, time.Millisecond)
}

// step is by how much later an end must be to be worth a message. Others are renewed in between, and each time all ends are looked at.
func (a *Agent) step(l leadership) time.Duration {
	if hasNoLease(l) {
		return a.pace(l) / 2
	}
	return 0
}

// hasNoLease says whether the end moves all the time: in an eventual group.
func hasNoLease(l leadership) bool {
	t, ok := l.(*turn)
	return ok && t.host == nil
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

package agent

import (
	"context"
	"time"
)

// pushesPerRenewal bounds how often programs that read no page are told of later ends: the horizon may move several times in one
// renewal, and each message costs more than what it is late by.
const pushesPerRenewal = 5

// pushRenewals has programs that read no page told that their leases end later than they were told last. It does nothing while no
// lease is renewed, and while all programs read the page.
func (a *Agent) pushRenewals(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-a.deadlines.moved:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		for _, c := range a.candidates { // order does not matter: each is told apart from the others
			if c.deadline.hasNews() {
				c.notifier.renewed(c)
			}
		}
		a.mu.Unlock()
		pause.Reset(max(a.timing.Renew/pushesPerRenewal, time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

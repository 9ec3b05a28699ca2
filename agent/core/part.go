package core

import (
	"context"
	"time"
)

// reportPart logs when the member votes and knows who leads.
func (a *Agent) reportPart(ctx context.Context) {
	look := time.NewTicker(partInterval)
	defer look.Stop()
	for a.member.Load().Status().Waiting != "" {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
	a.Log.Info("the member takes part", "member", a.Name)
}

// partInterval is how often to look whether the member takes part.
const partInterval = 200 * time.Millisecond

package core

import (
	"context"
	"time"

	"github.com/regentproject/regent"
)

// rejoinPollInterval is how often the agent looks whether a member is back.
const rejoinPollInterval = time.Second

// watchRejoins tells leading programs of members that are back: a program that made its leadership known to others, by addresses or
// names, may want to do so again, as what was cut off may have learnt something else meanwhile.
func (a *Agent) watchRejoins(ctx context.Context) {
	ticker := time.NewTicker(rejoinPollInterval)
	defer ticker.Stop()
	var r rejoinTracker
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, name := range r.update(a.Members()) {
			a.Log.Debug("a member is back", "peer", name) // the member itself logs silences
			for _, k := range a.Candidates() {
				if k.held() != nil {
					k.Notifier.Healed(k, name)
				}
			}
		}
	}
}

// A rejoinTracker remembers which members were trusted once, and which of them are not any more.
type rejoinTracker struct{ trusted, missed map[string]bool }

// update returns the members that are trusted again.
func (r *rejoinTracker) update(members []regent.PeerStatus) (names []string) {
	if r.trusted == nil {
		r.trusted, r.missed = make(map[string]bool), make(map[string]bool)
	}
	for _, m := range members {
		switch {
		case m.Self:
		case !m.Trusted:
			r.missed[m.Name] = r.trusted[m.Name]
		case r.missed[m.Name]:
			delete(r.missed, m.Name)
			names = append(names, m.Name)
		default:
			r.trusted[m.Name] = true
		}
	}
	return names
}

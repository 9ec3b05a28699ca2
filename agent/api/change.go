package api

import (
	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/councillog"
	"github.com/regentproject/regent/view"
)

// A Change is a view that replaced another.
type Change struct {
	// Serial counts the changes that this agent saw, from 1.
	Serial uint64 `json:"serial"`
	regent.View
	// Ended says how the leadership before ended, if it was that of a program here. Its agent knows more than the
	// cause, which all members receive.
	Ended string `json:"ended,omitempty"`
}

// A CouncilChange is a change of the council that is over.
type CouncilChange struct {
	// Serial counts it with the changes of groups.
	Serial uint64 `json:"serial"`
	councillog.Change
}

// Turnovers finds the changes of leader in what a history lists, oldest first: one for all views that belong together, of each group. Those of
// groups that have no leader yet come last.
func Turnovers(changes []Change) []view.Turnover {
	var out []view.Turnover
	trackers := make(map[string]*view.Tracker)
	var groups []string
	for i := range changes {
		c := &changes[i]
		t := trackers[c.Group]
		if t == nil {
			t = new(view.Tracker)
			trackers[c.Group] = t
			groups = append(groups, c.Group)
		}
		if done := t.Add(&c.View, c.Ended); done != nil {
			out = append(out, *done)
		}
	}
	for _, group := range groups {
		if open := trackers[group].Open(); open != nil {
			out = append(out, *open)
		}
	}
	return out
}

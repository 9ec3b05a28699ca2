package api

import (
	"fmt"
	"time"

	"github.com/regentproject/regent"
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
	// At is when this member had settled in the council as it is since, which has that Number.
	At     time.Time `json:"at"`
	Number uint64    `json:"number"`
	// Cause says in words what became of the members, and By at which member that was asked for.
	Cause string `json:"cause"`
	By    string `json:"by,omitempty"`
	// Took is how long this member saw the change run.
	Took time.Duration `json:"took_ns"`
}

// String shows the change for people: "member d added, number 7, took 210ms, asked for at a".
func (c *CouncilChange) String() string {
	text := fmt.Sprintf("%s, number %d", c.Cause, c.Number)
	if c.Took > 0 {
		text += fmt.Sprintf(", took %v", rounded(c.Took))
	}
	if c.By != "" {
		text += ", asked for at " + c.By
	}
	return text
}

// rounded returns a length of time with three figures.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

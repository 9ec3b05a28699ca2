package api

import (
	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/councillog"
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

package cluster

import (
	"time"

	"github.com/regentproject/regent"
)

// An Order is the first line that a member process reads: who it is.
type Order struct {
	Name, Dir, Bind string
	Council         []regent.Peer
	Key             []byte
	Bootstrap       bool
	Timing          regent.Timing
	// Groups is how many groups without names the member campaigns for, and Named are those with one.
	Groups       int
	Named        []Named
	NoRealtime   bool
	Poll, Status time.Duration
	// Diary is a file in which a program that polls its lease writes down what it was told, so that it can be read after
	// a crash.
	Diary string
	// Watch says that the member does not campaign, and Hold that it does when it is told to.
	Watch, Hold bool
}

// An Event is a line that a member process writes, or that the cluster adds.
type Event struct {
	// Member is the process that it is about, by its name in the cluster.
	Member string `json:"member"`
	What   What   `json:"event"`
	// Group and Mode are those of a named group, and Local says that it is about the local leader beside it, or in it.
	Group string `json:"group,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Local bool   `json:"local,omitempty"`
	// At is when it happened: a reading of the host's clock by the program itself. Heard is when the cluster heard of it.
	At    int64 `json:"at"`
	Heard int64 `json:"heard,omitempty"`
	// Token is of Leads, Stops and Held.
	Token uint64 `json:"token,omitempty"`
	// View is of Saw: what the member believes.
	View *regent.View `json:"view,omitempty"`
	// Since and Until, of Held, are readings between which the program was told throughout that it leads.
	Since int64 `json:"since,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Took is how long a command took.
	Took time.Duration `json:"took,omitempty"`
	// Leading is how many groups the member leads, and Remaining how long its lease of the first one runs.
	Leading   int           `json:"leading,omitempty"`
	Remaining time.Duration `json:"remaining,omitempty"`
	// Support is who supports the leader of a local group.
	Support []string `json:"support,omitempty"`
	// Standings, of Said, are the leaderships of named groups.
	Standings []Standing `json:"standings,omitempty"`
	// Status and Members are of Said.
	Status  *regent.Status      `json:"status,omitempty"`
	Members []regent.PeerStatus `json:"members,omitempty"`
	// Text is for people.
	Text string `json:"text,omitempty"`
}

// What is the kind of an event.
type What string

const (
	Joined  What = "joined"  // the member takes part
	Leads   What = "leads"   // its program leads the first group
	Stops   What = "stops"   // its program was told to stop; Text says why
	Held    What = "held"    // between Since and Until its program was told that it leads
	Saw     What = "saw"     // its view of the first group changed
	Did     What = "did"     // a command was carried out
	Counted What = "counted" // it leads another number of groups
	Said    What = "said"    // how it is
	Failed  What = "failed"  // something went wrong
	Closed  What = "closed"  // it left in good order
	Gone    What = "gone"    // its process has ended
	// Recovered says that a fault manager has recovered those in Text.
	Recovered What = "recovered"
)

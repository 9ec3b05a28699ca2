package cluster

import (
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/roster"
)

// An Order is the first line that a member process reads: who it is.
type Order struct {
	Name, Dir, Bind string
	// Council lists the members that the council begins with. A member that Joins is none of them.
	Council          []regent.Peer
	Joins, Bootstrap bool
	Key              []byte
	OwnKeys          regent.OwnKeys
	Timing           regent.Timing
	// Groups are those that the programs of the member lead.
	Groups       []Group
	NoRealtime   bool
	Guardian     bool
	Stubborn     time.Duration // as in Options
	Poll, Status time.Duration
	// Journals is the directory in which a program that polls its lease keeps a journal.
	Journals string
	// Hold keeps programs from campaigning until the command to.
	Hold bool
}

// An Event is a line that a member process writes, or that the cluster adds.
type Event struct {
	// Member is the process that it is about, by its name in the cluster.
	Member string `json:"member"`
	What   What   `json:"event"`
	// Group and Mode are those of the group, and Local says that it is about the local leader beside it, or in it.
	Group string      `json:"group,omitempty"`
	Mode  regent.Mode `json:"mode,omitempty"`
	Local bool        `json:"local,omitempty"`
	// At is when it happened: a reading of the host's clock by the program itself. Heard is when the cluster received it.
	At    Time `json:"at_ns"`
	Heard Time `json:"heard_ns,omitempty"`
	// Token is of Leads, Stops and Held.
	Token uint64 `json:"token,omitempty"`
	// View is of Saw: what the member believes.
	View *regent.View `json:"view,omitempty"`
	// Since and Until, of Held, are readings between which the program led throughout.
	Since Time `json:"since_ns,omitempty"`
	Until Time `json:"until_ns,omitempty"`
	// Took is how long a command took.
	Took time.Duration `json:"took_ns,omitempty"`
	// Leading, of Counted and Said, is how many quiet groups the member leads.
	Leading int `json:"leading,omitempty"`
	// Remaining, of Leads, is how long the lease runs.
	Remaining time.Duration `json:"remaining_ns,omitempty"`
	// Support are the members that support the leader of a local group.
	Support []string `json:"support,omitempty"`
	// Standings, of Said, are leaderships that last.
	Standings []Standing `json:"standings,omitempty"`
	// Status, Members and Council are of Said. Council also is what a change led to, of Did and Failed.
	Status  *regent.Status      `json:"status,omitempty"`
	Members []regent.PeerStatus `json:"members,omitempty"`
	Council *roster.Council     `json:"council,omitempty"`
	// Cause is of Stops, if there is one.
	Cause *regent.Cause `json:"cause,omitempty"`
	// Text is for people.
	Text string `json:"text,omitempty"`
}

// What is the kind of an event.
type What string

const (
	Joined  What = "joined"  // the member takes part
	Leads   What = "leads"   // its program leads the group
	Stops   What = "stops"   // its program has to stop; Text says why
	Held    What = "held"    // between Since and Until its program led
	Saw     What = "saw"     // its view of the group changed
	Did     What = "did"     // a command was carried out
	Counted What = "counted" // it leads another number of quiet groups
	Said    What = "said"    // how it is
	Failed  What = "failed"  // something went wrong
	Closed  What = "closed"  // it left in good order
	Gone    What = "gone"    // its process has ended
	// Recovered says that a fault manager has recovered the members in Text.
	Recovered What = "recovered"
)

// Package roster has who is in a council, how far a change of it has got, and what can be changed. Council and Change of a Member of package
// regent use it. The design behind it is in docs/members.md.
package roster

import (
	"errors"
	"time"
)

// A Peer is a member of the council as everybody knows it.
type Peer struct {
	// Name is unique within the council.
	Name string `json:"name"`
	// Addrs are where it receives packets, each as host:port. A host may be a name, which is resolved again from time to
	// time. Several addresses are several ways to the same member.
	Addrs []string `json:"addrs,omitempty"`
	// Priority decides who goes first in an election: members with a higher one, then by name. It does not decide whether a
	// member may lead. The files of agents have the same numbers.
	Priority int `json:"priority,omitempty"`
	// Weight is how large its share of the groups is in a balanced council (Config.Balance of package regent); zero is 1.
	Weight int `json:"weight,omitempty"`
	// Witness says that it votes but never leads: a third vote on a small machine makes two large ones survive the loss of
	// one. Observer says that it neither votes nor leads, and learns who does: there may be many. Neither is waited for.
	Witness  bool `json:"witness,omitempty"`
	Observer bool `json:"observer,omitempty"`
	// Votes is how many votes it has in quorums; zero is one vote. It is for councils whose members are not equally likely to fail
	// together, such as two data centres and a witness (Config.QuorumVotes of package regent).
	Votes int `json:"votes,omitempty"`
	// PublicKeys are the keys that the member proves itself with, as 'regent keys show' prints them: one, or two with the oldest first
	// while one is being replaced. They need not be the same at every member at the same time.
	PublicKeys []string `json:"public_keys,omitempty"`
	// Revoked silences the member: nothing that it sends is opened, and nothing is sent to it. It still counts in the quorums.
	Revoked bool `json:"revoked,omitempty"`
}

// A Council is what a member knows of the council that it belongs to.
type Council struct {
	// ID tells the council from all others.
	ID string `json:"id"`
	// Number counts the configurations of the council. The one that it began with has number 0, and each step of a change makes another.
	Number uint64 `json:"number"`
	// Settled says that no promise of an earlier configuration can stand. Only then does the next step follow.
	Settled bool `json:"settled"`
	// Members are in force now, in the order of their ranks.
	Members []Member `json:"members"`
	// Goal lists the members that the council will have when the running change is over; nil if none is running.
	Goal []Peer `json:"goal,omitempty"`
	// Timing is in force now, and GoalTiming will be when the running change is over; nil if it changes none.
	Timing     Timing  `json:"timing"`
	GoalTiming *Timing `json:"goal_timing,omitempty"`
	// By is the member at which the running change was asked for, and Asked when, by the clock of that host.
	By    string    `json:"by,omitempty"`
	Asked time.Time `json:"asked,omitzero"`
	// Ended says how the last change ended if it has not reached its goal: where it was cancelled, or why it was given up.
	Ended string `json:"ended,omitempty"`
	// Since is when this member took the present number over, or started in it.
	Since time.Time `json:"since"`
	// Phase says how far the running change has got, and WaitsFor names members that it waits for now.
	Phase    Phase    `json:"phase,omitempty"`
	WaitsFor []string `json:"waits_for,omitempty"`
	// Unheard names voters that were silent when a change was asked for at the member that was asked. They are too many, and the change was forgotten.
	Unheard []string `json:"unheard,omitempty"`
	// Removed says that the member that was asked belongs to the council no more.
	Removed bool `json:"removed,omitempty"`
	// Fixed says why the council cannot change while it runs; empty if it can.
	Fixed string `json:"fixed,omitempty"`
	// Groups is how many groups the member that was asked knows the leaders of, while a change is running: newcomers learn them.
	Groups int `json:"groups,omitempty"`
	// FileDiffers says in what the list of members, and the timing that the members agree on, in the file of the member that was asked differ
	// from the council; empty if they do not.
	FileDiffers string `json:"file_differs,omitempty"`
	// GivenUp is the council that this one goes on from, because a majority of that was lost; nil if this one was begun.
	GivenUp *GivenUp `json:"given_up,omitempty"`
}

// Timing is what the members agree on besides who they are. The other settings are those of each member's own configuration.
type Timing struct {
	// LongestLease is the longest lease that anybody may ask for.
	LongestLease time.Duration `json:"longest_lease_ns,omitempty"`
	// Drift bounds by how much the rate of any member's clock may differ from that of real time, as a fraction.
	Drift float64 `json:"drift,omitempty"`
}

// A Member is a member as the present configuration has it.
type Member struct {
	Peer
	// AgreedAddrs are the addresses that the members have agreed on, if the member that was asked knows others from its file as well.
	AgreedAddrs []string `json:"agreed_addrs,omitempty"`
	// Rank is the member's own as long as it is one.
	Rank int `json:"rank"`
	// New says that it came with the running change, and Leaving that it will be no member, or have no vote, when that is over.
	New     bool `json:"new,omitempty"`
	Leaving bool `json:"leaving,omitempty"`
	// Joined is the number of the configuration that gave the member its rank. A new host that has the name of an old one has a higher one.
	Joined uint64 `json:"joined_number,omitempty"`
	// While a change is running the rest says how far the member has got with it, as far as the member that was asked knows. Accepted: it has
	// accepted the next configuration, which only the member knows that proposes it, and the member itself. Adopted: it has the present one on its disk. Settled: it has
	// settled in the present one. Learnt is how many groups it knows the leaders of.
	Accepted bool `json:"accepted,omitempty"`
	Adopted  bool `json:"adopted,omitempty"`
	Settled  bool `json:"settled,omitempty"`
	Learnt   int  `json:"learnt_groups,omitempty"`
	// Silent is for how long a member that the change waits for was not heard, if that is long, and Problem what its packets say against it.
	Silent  time.Duration `json:"silent_ns,omitempty"`
	Problem string        `json:"problem,omitempty"`
}

// A Phase is how far a change has got.
type Phase string

const (
	// Idle: no change is running.
	Idle Phase = ""
	// Settling: the last step has been taken, and members wait until no promise from before stands.
	Settling Phase = "settling"
	// Learning: a new member is not up yet, or has not learnt yet what the others know.
	Learning Phase = "learning"
	// HandingOver: a leaving member still leads groups, and is given time to hand them over.
	HandingOver Phase = "handing over"
	// Blocked: too few members are heard to go on.
	Blocked Phase = "blocked"
	// Agreeing: members agree on the next step.
	Agreeing Phase = "agreeing"
	// GivingUp: the member has agreed to give the council up, and takes part in nothing until all survivors have ([Recovery]).
	GivingUp Phase = "giving up"
)

// Phases returns those of a change that is running.
func Phases() []Phase { return []Phase{Settling, Learning, HandingOver, Blocked, Agreeing, GivingUp} }

// A Change is what is to become of the council. All of it is one change: members reach it in steps, of which each changes one vote at
// most, and any member that is left goes on with it.
type Change struct {
	// Add lists new members, with their addresses and public keys. One that has the name of a member replaces it, as a new host does
	// that takes over the name of a dead one.
	Add []Peer `json:"add,omitempty"`
	// Remove names members that leave.
	Remove []string `json:"remove,omitempty"`
	// Set says anew what the council says of members: address, keys, priority, weight, role.
	Set []Peer `json:"set,omitempty"`
	// Timing changes what the members agree on besides who they are; zero fields stay as they are. A shorter longest lease is refused while
	// groups are led with longer ones. Local and eventual groups begin anew under another Drift. Until the change has settled,
	// the drift of clocks must be within the lower one of the two bounds.
	Timing *Timing `json:"timing,omitempty"`
	// Cancel ends the running change: votes stay as they are, and new members without a vote go.
	Cancel bool `json:"cancel,omitempty"`
	// Number, if not zero, is that of the configuration that the caller has seen: any other one is left alone.
	Number uint64 `json:"number,omitempty"`
	// Within is for how long a new member may be silent before the change is given up: votes stay as they are, and new members without a vote go.
	// Zero is [DefaultWithin]; a negative one waits without end.
	Within time.Duration `json:"within_ns,omitempty"`
}

// DefaultWithin is for how long a change waits for a new member that is silent.
const DefaultWithin = 10 * time.Minute

// A Forecast is what a change will do if all new members come up and nothing fails.
type Forecast struct {
	// Steps is how many steps it takes, and Takes bounds how long they take, but for the time that members take to start and to hand over.
	Steps int           `json:"steps"`
	Takes time.Duration `json:"takes_ns"`
	// Needs is how long a lease must be to survive a step, and Short are the lengths of leases in use that are shorter: these are lost once in
	// each step.
	Needs time.Duration   `json:"needs_ns"`
	Short []time.Duration `json:"short_ns,omitempty"`
	// Lines say it in words: each step, how long it all takes, and which leases last. Warnings are what an operator should know before.
	Lines    []string `json:"lines"`
	Warnings []string `json:"warnings,omitempty"`
}

// Reasons why a council does not change; errors.Is tells them. Nothing has changed then, unless the error says so.
var (
	// ErrChanging says that another change is running.
	ErrChanging = errors.New("another change is running")
	// ErrUnchanged says that there is no change to cancel.
	ErrUnchanged = errors.New("no change is running")
	// ErrNoQuorum says that too few members are heard to agree on anything.
	ErrNoQuorum = errors.New("too few members are heard")
	// ErrDiskless says that a member keeps no record, so that the council cannot change.
	ErrDiskless = errors.New("a member keeps no record")
	// ErrFixed says that the council cannot change for another reason.
	ErrFixed = errors.New("this council cannot change while it runs")
	// ErrNumber says that the council has another number than [Change.Number].
	ErrNumber = errors.New("the council has another number")
	// ErrRemoved says that this member belongs to the council no more.
	ErrRemoved = errors.New("this member was removed from the council")
	// ErrCancelled says that a change has ended before its goal was reached: it was cancelled, or given up.
	ErrCancelled = errors.New("the change has not reached its goal")
)

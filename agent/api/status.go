package api

import (
	"time"

	"github.com/regentproject/regent"
)

// GroupInfo is what is known about a group.
type GroupInfo struct {
	Change
	// Changes counts the leaderships that this agent saw.
	Changes uint64 `json:"changes"`
	// Remaining is how long the lease runs, if a program here leads, or this host in a local group, at the
	// time of the answer.
	Remaining time.Duration `json:"remaining_ns,omitempty"`
	// Candidates are the programs here that take part.
	Candidates []SessionInfo `json:"candidates,omitempty"`
}

// GroupList is a page of groups.
type GroupList struct {
	Groups []GroupInfo `json:"groups"`
	// Next is the name to go on after; empty if that was all.
	Next string `json:"next,omitempty"`
}

// SessionInfo is a program that takes part through this agent.
type SessionInfo struct {
	ID      uint64 `json:"id"`
	Group   string `json:"group"`
	Program string `json:"program,omitempty"`
	Via     string `json:"via"`
	Pid     int    `json:"pid,omitempty"`
	// State is waiting, leading or stopping.
	State string        `json:"state"`
	Token uint64        `json:"token,omitempty"`
	Since time.Time     `json:"since"`
	Left  time.Duration `json:"remaining_ns,omitempty"`
}

// SessionList is all of them.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// MemberInfo is what this member knows of a member of the council.
type MemberInfo struct {
	Name string `json:"name"`
	Self bool   `json:"self"`
	// Role is "witness", which votes and never leads, or "observer", which has no vote; empty for others.
	Role string `json:"role,omitempty"`
	Addr string `json:"addr,omitempty"`
	// Heard says that it was heard, Silence how long ago.
	Heard       bool          `json:"heard"`
	Silence     time.Duration `json:"silence_ns"`
	Incarnation uint64        `json:"incarnation"`
	// Trusted says that it counts as alive: a member that falls silent is no longer trusted within a moment. No lease depends
	// on it.
	Trusted   bool          `json:"trusted"`
	RoundTrip time.Duration `json:"round_trip_ns"`
	// Bound is the proven bound on the delay of its last packet, Fast whether that counts as fast.
	Bound time.Duration `json:"bound_ns"`
	Fast  bool          `json:"fast"`
	// Deaf says that it is heard and does not hear this member, Unconfirmed for how long it has confirmed nothing.
	Deaf        bool          `json:"deaf"`
	Unconfirmed time.Duration `json:"unconfirmed_ns"`
	// Key begins the fingerprint of the key that it used last, or of the newest of this member itself. KeyProblem says that it does not list the newest of this member.
	Key        string `json:"key,omitempty"`
	KeyProblem string `json:"key_problem,omitempty"`
	// Revoked says that it has no key here.
	Revoked bool `json:"revoked,omitempty"`
	// Problem is why it does not count.
	Problem string `json:"problem,omitempty"`
}

// MemberList is the council.
type MemberList struct {
	Members []MemberInfo `json:"members"`
	// Waiting says what keeps this member from taking part; empty if nothing does.
	Waiting string `json:"waiting,omitempty"`
}

// History is what changed lately, oldest first.
type History struct {
	Changes []Change `json:"changes"`
}

// StatusInfo is how the agent and its member are.
type StatusInfo struct {
	Member      string    `json:"member"`
	Version     string    `json:"version,omitempty"`
	Pid         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Joined      bool      `json:"joined"`
	Incarnation uint64    `json:"incarnation"`
	// Council is the id of the council; empty before the member knows it. The agent gives it on the unix socket only: where a council has
	// no key, the id keeps other users of the host from speaking for its members.
	Council string `json:"council,omitempty"`
	// Waiting says what keeps the member from taking part, Disk why its record cannot be written.
	Waiting    string `json:"waiting,omitempty"`
	Disk       string `json:"disk,omitempty"`
	ClockFault bool   `json:"clock_fault"`
	// Accused is what a member said of a later incarnation of this one, which did not act on it.
	Accused string `json:"accused,omitempty"`
	// Unlisted names hosts, with their addresses, that have the cluster key and that this member's council does not list.
	Unlisted []string `json:"unlisted,omitempty"`
	Realtime bool     `json:"realtime"`
	// Pauses says by how much the member woke up too late.
	Pauses   PauseInfo `json:"pauses"`
	Leading  int       `json:"leading"`
	Groups   int       `json:"groups"`
	Sessions int       `json:"sessions"`
	Streams  int64     `json:"streams"`
	// Timing are the constants in force.
	Timing       TimingInfo        `json:"timing"`
	DefaultGroup string            `json:"default_group,omitempty"`
	PacketsIn    uint64            `json:"packets_in"`
	PacketsOut   uint64            `json:"packets_out"`
	BytesIn      uint64            `json:"bytes_in"`
	BytesOut     uint64            `json:"bytes_out"`
	Dropped      map[string]uint64 `json:"dropped,omitempty"`
	// Stopping says that the agent is on its way out.
	Stopping bool `json:"stopping"`
}

// PauseInfo is of StatusInfo.
type PauseInfo struct {
	Count   uint64        `json:"count"`
	Median  time.Duration `json:"median_ns"`
	P99     time.Duration `json:"p99_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// TimingInfo is of StatusInfo.
type TimingInfo struct {
	Lease     time.Duration `json:"lease_ns"`
	Renew     time.Duration `json:"renew_ns"`
	Guard     time.Duration `json:"guard_ns"`
	RoundTrip time.Duration `json:"round_trip_ns"`
	Delay     time.Duration `json:"delay_ns"`
	Drift     float64       `json:"drift"`
}

// ProofInfo says who leads, proven.
type ProofInfo struct {
	Group  string `json:"group"`
	Leader string `json:"leader"`
	Token  uint64 `json:"token"`
	// Value is what the leader announces.
	Value string `json:"value,omitempty"`
	// ValidFor is how long the proof holds, counted from when the question was sent.
	ValidFor time.Duration `json:"valid_for_ns"`
}

// Health says that the agent answers, or is ready.
type Health struct {
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"`
}

// ClockAdvice is what is wrong when a clock is beyond its bound, and what to do.
const ClockAdvice = "the clock runs at another rate than those of a majority: this member leads nothing until it is right; " +
	"see whether its time is kept (chronyc tracking), by which clock (/sys/devices/system/clocksource), and whether the host is paused"

// RoleInfo is the body of a role endpoint.
type RoleInfo struct {
	// Name is the leader's: clients of sidecars compare it with their own. Empty if nobody leads.
	Name  string `json:"name"`
	Group string `json:"group"`
	// Role is primary, standby_leader (of a part of the network only) or replica, State running or waiting: words that load balancers' configurations know.
	Role  string `json:"role"`
	State string `json:"state"`
	Token uint64 `json:"token,omitempty"`
	// Remaining is how long the lease runs if a program here leads, or this host its part of the network.
	Remaining time.Duration `json:"remaining_ns,omitempty"`
	Cause     regent.Cause  `json:"cause"`
	Member    string        `json:"member"`
}

// SidecarInfo is what a sidecar says: who leads, proven at the moment of answering.
type SidecarInfo struct {
	Name       string    `json:"name"`
	LastUpdate time.Time `json:"last_update"`
}

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
	State string `json:"state"`
	Token uint64 `json:"token,omitempty"`
	// Since is when it began to wait or, if it leads or is stopping, to lead.
	Since time.Time     `json:"since"`
	Left  time.Duration `json:"remaining_ns,omitempty"`
	// Lease is how long the program's leases are, or will be.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Addresses are those that the program has on interfaces of this host while it leads, and Duplicates the hardware addresses of other hosts that have one as
	// well, by address.
	Addresses  []string          `json:"addresses,omitempty"`
	Duplicates map[string]string `json:"duplicates,omitempty"`
}

// SessionList is all of them.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// MemberList is the council.
type MemberList struct {
	Members []regent.PeerStatus `json:"members"`
	// Waiting says what keeps this member from taking part; empty if nothing does.
	Waiting string `json:"waiting,omitempty"`
	// QuorumVotes is how many votes a leader of a quorum group needs.
	QuorumVotes int `json:"quorum_votes"`
}

// History is what changed lately, oldest first.
type History struct {
	Changes []Change `json:"changes"`
	// Council lists changes of the council, if the history is that of all groups. Serial numbers order both lists.
	Council []CouncilChange `json:"council,omitempty"`
}

// AgentStatus is how the agent and its member are. The agent gives the id of the council on the unix socket only: where a council has
// no key, the id keeps other users of the host from speaking for its members.
type AgentStatus struct {
	regent.Status
	Version string    `json:"version,omitempty"`
	Pid     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Joined says that the member takes part.
	Joined   bool  `json:"joined"`
	Groups   int   `json:"groups"`
	Sessions int   `json:"sessions"`
	Streams  int64 `json:"streams"`
	// Timing are the constants in force.
	Timing       TimingInfo `json:"timing"`
	DefaultGroup string     `json:"default_group,omitempty"`
	// Stopping says that the agent is on its way out.
	Stopping bool `json:"stopping"`
	// Council is the council as this member knows it, without its id; nil while the member does not know it, and where an engine elects.
	Council *CouncilInfo `json:"council,omitempty"`
}

// TimingInfo is of AgentStatus.
type TimingInfo struct {
	// Lease is how long leases of programs are that ask for none, and Renew how often they are renewed. CouncilLease is the council's own length.
	Lease        time.Duration `json:"lease_ns"`
	Renew        time.Duration `json:"renew_ns"`
	CouncilLease time.Duration `json:"council_lease_ns"`
	// Tolerates is the longest pause that does not end such a lease, and FailOver within what time another host leads if this one dies; zero
	// if none can.
	Tolerates time.Duration `json:"tolerates_ns"`
	// ShortestLease is the shortest lease that a program here has or waits for, if it is shorter than Lease. Survives is the longest pause that ends
	// neither that one nor Lease.
	ShortestLease time.Duration `json:"shortest_lease_ns,omitempty"`
	Survives      time.Duration `json:"survives_ns"`
	FailOver      time.Duration `json:"fail_over_ns,omitempty"`
	Guard         time.Duration `json:"guard_ns"`
	RoundTrip     time.Duration `json:"round_trip_ns"`
	Delay         time.Duration `json:"delay_ns"`
	Drift         float64       `json:"drift"`
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

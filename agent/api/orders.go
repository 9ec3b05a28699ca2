package api

import (
	"time"

	"github.com/regentproject/regent"
)

// ResignOrder is the body of a resign: with a token it is carried out only if that is the leader's.
type ResignOrder struct {
	Token uint64 `json:"token,omitempty"`
}

// TransferOrder is the body of a transfer.
type TransferOrder struct {
	To    string `json:"to"`
	Token uint64 `json:"token,omitempty"`
}

// EdictOrder is the body of a request for an edict. Only the holder of the leader's token gets one.
type EdictOrder struct {
	Token uint64 `json:"token"`
}

// Outcome is what became of an order.
type Outcome struct {
	Group string `json:"group"`
	// Leader is the member that leads after the order: the successor after a transfer; after a resign the leader that this member knows by then,
	// empty if it knows none. It is never the leadership that the order ended.
	Leader string `json:"leader"`
	// Token is the leader's; 0 if this member has not heard of it yet.
	Token uint64 `json:"token,omitempty"`
}

// StampInfo is an edict.
type StampInfo struct {
	Group string `json:"group"`
	Token uint64 `json:"token"`
	Stamp string `json:"stamp"`
}

// CampaignOrder is the body of a campaign.
type CampaignOrder struct {
	// Mode is local or eventual in a group that hosts lead; empty: quorum.
	Mode regent.Mode `json:"mode,omitempty"`
	// Name is what the program calls itself.
	Name string `json:"name,omitempty"`
	// Value is what its leadership announces: at most 256 bytes.
	Value string `json:"value,omitempty"`
	// Lease is the length of the leases that the program wants; zero: as the agent is configured.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Heartbeat, if it is not zero, is how long the program may go without asking alive.
	Heartbeat time.Duration `json:"heartbeat_ns,omitempty"`
	// Grace is how long it may take to stop when it is asked to.
	Grace time.Duration `json:"grace_ns,omitempty"`
}

// AnnounceOrder is the body of an announcement.
type AnnounceOrder struct {
	// Value is what the leadership announces from now on: at most 256 bytes; empty takes it back.
	Value string `json:"value"`
}

// CampaignEvent is the data of an event of a campaign.
type CampaignEvent struct {
	// Session names the campaign in requests about it. Keep it secret: who has it can say that the program has stopped.
	Session string `json:"session,omitempty"`
	Group   string `json:"group"`
	Member  string `json:"member"`
	Token   uint64 `json:"token,omitempty"`
	// ValidFor is how long the program leads, counted from when the event is read. It allows for the
	// delay that the configuration calls fast; who needs certainty asks alive, and counts from when it asked.
	ValidFor time.Duration `json:"valid_for_ns"`
	// Back is of healed: the member that is back.
	Back string `json:"back,omitempty"`
	// Cause is of stop and over.
	Cause *regent.Cause `json:"cause,omitempty"`
	Error string        `json:"error,omitempty"`
}

// StreamEvent is the data of an event of a stream. Which of it is there depends on the event.
type StreamEvent struct {
	// Group is of "group".
	*GroupInfo
	// Status, Members and Leases are of "pulse".
	Status  *AgentStatus        `json:"status,omitempty"`
	Members []regent.PeerStatus `json:"members,omitempty"`
	Leases  []SessionInfo       `json:"leases,omitempty"`
	// Council is of "council": a change of the council that is over.
	Council *CouncilChange `json:"council,omitempty"`
	// Missed is of "missed": how many changes were left out.
	Missed int `json:"missed,omitempty"`
}

// DrainOrder is the body of a drain and of an undrain.
type DrainOrder struct {
	// Member is the host. The order is passed on if that is another one.
	Member string `json:"member"`
	// Yes drains it although no other host could lead.
	Yes bool `json:"yes,omitempty"`
}

// Drained is what became of a drain or an undrain.
type Drained struct {
	Member  string `json:"member"`
	Drained bool   `json:"drained"`
	// Moved counts the groups that this host led and others lead now. Leaderless are those that nobody leads: no program campaigns
	// elsewhere that may lead.
	Moved      int      `json:"moved"`
	Leaderless []string `json:"leaderless,omitempty"`
	// MoreLeaderless counts those that Leaderless leaves out: another host was drained, and has too many to name them.
	MoreLeaderless int `json:"more_leaderless,omitempty"`
}

package api

import (
	"github.com/regentproject/regent"
	"github.com/regentproject/regent/view"
)

// ReportOrder asks the agent of another host for a Report. It changes nothing.
type ReportOrder struct {
	// Groups are those of which views are wanted.
	Groups []string `json:"groups,omitempty"`
}

// A Report is what an agent says of its own member to the agents of the other members, for their pages. It has to fit a message.
type Report struct {
	// Status is how the agent and its member are, without the council.
	Status AgentStatus `json:"status"`
	// Members are how the member hears the others. Of a council that is too large, some are left out.
	Members []regent.PeerStatus `json:"members,omitempty"`
	// Views are what it believes of the groups that were asked about, in the same order.
	Views []view.MemberView `json:"views,omitempty"`
}

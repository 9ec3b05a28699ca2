// Package view has what a member believes about a group, as every surface of Regent shows it: the library, the lines between a program and
// its agent, the agent's HTTP interface, and the command line with --json. Package regent has the same types under the same names.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/why"
)

// A Mode is the promise that a group gives.
type Mode string

// The modes. Group, LocalGroup, EventualGroup and ConsistentGroup of package regent describe what each promises.
const (
	Quorum     Mode = "quorum"     // at most one leader anywhere
	Local      Mode = "local"      // one leader in every part of the network that holds together
	Eventual   Mode = "eventual"   // one leader on which all members agree in the end
	Consistent Mode = "consistent" // a fault manager, over members that all agree on
)

// A View is what a member believes about a group: its leader, or that it has none, and why that changed. It is
// knowledge, not proof: see Group.Verify. All modes, the agent's HTTP interface and the command line have this one type.
type View struct {
	// Group is the name of the group, and Mode what it promises.
	Group string `json:"group"`
	Mode  Mode   `json:"mode"`
	// Leader is the name of the member that leads; empty if there is none, as far as this member knows. A local group has one for the
	// part of the network in which this member is; in an eventual group it is the member that this one trusts; in a
	// consistent group it is the fault manager.
	Leader string `json:"leader"`
	// Token is the leader's in a quorum group. It grows with every leadership of the group. In a consistent group it grows with every manager.
	Token uint64 `json:"token,omitempty"`
	// Lease is how long the leases of the leader of a quorum group are: if its host dies, the group has no leader for about as long. Zero: not known.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Value is what the leader of a quorum group announces (Group.Announcing); empty if that is nothing, or not known here yet.
	Value string `json:"value,omitempty"`
	// Mine says that a program of this very member leads. Stopping, that it has been asked to stop.
	Mine     bool `json:"mine"`
	Stopping bool `json:"stopping"`
	// Support lists the members that support the leader of a local group, itself included, in the order of the council: the
	// logical partition. No member supports two leaders at one instant.
	Support []string `json:"support,omitempty"`
	// Round numbers the leaderships of an eventual group where the elector does (elector.Stable): of two leaders, members end
	// up with the later one. It begins anew when all members have restarted, so it is no token.
	Round uint64 `json:"round,omitempty"`
	// Agreement is what the members of a consistent group agree on; nil while this member is not one of them, and in other modes.
	Agreement *Agreement `json:"agreement,omitempty"`
	// Cause is why this view replaced the one before. In an eventual group, why.NoQuorum means that too few members have answered for
	// Cause.Bound, and why.NoAccess that perhaps no member has good links with all others.
	Cause why.Cause `json:"cause"`
	// At is when that was, by the wall clock of this member's host; zero if nothing has changed yet.
	At time.Time `json:"at,omitzero"`
	// Missed is how many views between the one seen before and this one a slow watcher did not get to see.
	Missed int `json:"missed,omitempty"`
}

// An Agreement is one agreement of a ConsistentGroup on its members.
type Agreement struct {
	// Number orders the agreements under one [View.Token]: agreements are ordered by the token first. The token alone is a fence between
	// managers; the number alone is none.
	Number uint64 `json:"number"`
	// Members are in the group, in the order of the council. All members have the same list.
	Members []string `json:"members"`
	// Failed are the members that this agreement removed, and Joined those that it took in: a member that failed and came back before
	// all had agreed on it is in both. Unfinished were removed before, and their manager did not get to report that they were
	// recovered. So what has to be recovered belongs to no member in Members, or belonged to those in Joined before. A member that the
	// council has removed is named as it was called.
	Failed     []string `json:"failed,omitempty"`
	Joined     []string `json:"joined,omitempty"`
	Unfinished []string `json:"unfinished,omitempty"`
	// Recover asks this member, the fault manager, to recover what was lost, and to report it with Membership.Recovered. Then
	// the same agreement is seen again without it.
	Recover bool `json:"recover,omitempty"`
	// Stalled is a member to which this one has no link while others have: nothing can be agreed on until it comes back or
	// leaves. It is empty if there is none.
	Stalled string `json:"stalled,omitempty"`
}

// String formats the view in a line.
func (v View) String() string {
	state := "no leader"
	switch {
	case v.Agreement != nil:
		state = v.Agreement.String() + ", managed by " + v.Leader + v.Agreement.changes()
	case v.Mode == Consistent:
		state = "not a member"
	case v.Leader == "" && v.Mode == Local:
		state = "no local leader"
	case v.Leader == "":
	case v.Mode == Local:
		state = fmt.Sprintf("%s leads %s locally", v.Leader, strings.Join(v.Support, ", "))
	case v.Mode == Eventual:
		state = v.Leader + " is trusted"
	default:
		state = fmt.Sprintf("%s leads with token %d", v.Leader, v.Token)
	}
	if v.Value != "" {
		state += " at " + names.Show(v.Value)
	}
	return fmt.Sprintf("%s: %s (%v)", names.Label(v.Group), state, v.Cause)
}

// String lists the members.
func (a *Agreement) String() string { return strings.Join(a.Members, ", ") }

// changes lists what the agreement has changed.
func (a *Agreement) changes() (s string) {
	for _, part := range []struct {
		what    string
		members []string
	}{{"failed", a.Failed}, {"joined", a.Joined}, {"unfinished", a.Unfinished}} {
		if len(part.members) > 0 {
			s += fmt.Sprintf("; %s: %s", part.what, strings.Join(part.members, ", "))
		}
	}
	return s
}

package view

// A MemberView is what one member says of a group. In a quorum group Leader is the member that it takes for the leader. In the other modes it is
// what [View] says of each.
type MemberView struct {
	Member string `json:"member"`
	// Answered says that it was asked and answered in time. Leader is empty if it knows of none.
	Answered bool   `json:"answered"`
	Leader   string `json:"leader,omitempty"`
	Token    uint64 `json:"token,omitempty"`
	// Support lists the members that support the leader of a local group, and those that the member agrees on with the others in a consistent group.
	Support []string `json:"support,omitempty"`
	// Agreement numbers what it agrees on in a consistent group; zero while it is no member of that group.
	Agreement uint64 `json:"agreement,omitempty"`
}

// Of returns the view as the word of a member that was asked and answered.
func (v *View) Of(member string) MemberView {
	out := MemberView{Member: member, Answered: true, Leader: v.Leader, Token: v.Token, Support: v.Support}
	if v.Agreement != nil {
		out.Support, out.Agreement = v.Agreement.Members, v.Agreement.Number
	}
	return out
}

package view

// A MemberView is which member another one takes for the leader of a quorum group.
type MemberView struct {
	Member string `json:"member"`
	// Answered says that it was asked and answered in time. Leader is empty if it knows of none.
	Answered bool   `json:"answered"`
	Leader   string `json:"leader,omitempty"`
	Token    uint64 `json:"token,omitempty"`
}

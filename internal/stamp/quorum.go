// Package stamp orders what leaders say.
package stamp

// An Entry is one voter's part of a quorum timestamp: the clock of the voter, in its incarnation, at the instant at
// which it assigned the group.
type Entry struct {
	Voter uint16
	Inc   uint32
	Clock int64
}

// Quorum is a quorum timestamp: one entry for each voter of the quorum that elected the leader, by voter. It is frozen
// when the tenure begins.
type Quorum []Entry

package protocol

// A Life is one incarnation of one start of a member, with the proof that it was the member's own. A member sends its life to its
// peers, and they remember it. So a peer can prove to a member that a later life of it was heard than the one it leads now.
type Life struct {
	Inc Inc
	// Start are the random bits that the member drew when it started.
	Start StartBits
	// Tag is a MAC over the rest and the member's name, under a key that only the member has. Peers cannot check it: they return it.
	Tag Tag
}

// StartBits tell the starts of one member apart, even if two of them use the same incarnation.
type StartBits [16]byte

// Tag is the proof in a Life.
type Tag [16]byte

// After says whether a life cannot have been before another one of the same member: it has a higher incarnation, or the same one in
// another start.
func (l Life) After(o Life) bool { return l.Inc > o.Inc || l.Inc == o.Inc && l.Start != o.Start }

package guardian

// A Standing decides whether a guardian may speak for its member. The letters of a guardian name a start of the member. A machine that
// goes on from a snapshot may be a copy, whose original lives on under that start and leads: the death of the copy is not that of the
// original. So nothing is reported from the moment at which the member notices the snapshot until the guardian has letters of the start after that. A member that
// asks others what it may have promised has none to give for a while.
//
// It belongs to the writer of the page.
type Standing struct {
	page     *Page
	restores uint64
	// lost says that some proof is not on the page. Invariant: it never becomes false again.
	lost bool
}

// NewStanding has the guardian report that all groups but those that the page lists are led within the process. It comes before the first lease is published.
func NewStanding(p *Page) *Standing {
	p.SetMode(WithinProcess)
	return &Standing{page: p}
}

// Restores counts the snapshots so far. Letters are those of the start after so many.
func (s *Standing) Restores() uint64 { return s.restores }

// Restored says that the machine goes on from a snapshot. It comes before the member does anything under another start.
func (s *Standing) Restored() {
	s.restores++
	s.page.SetMode(Unknown)
}

// Told says that the guardian was given letters that were made after so many snapshots. It takes them before it reads the page.
func (s *Standing) Told(restores uint64) {
	if restores == s.restores && !s.lost {
		s.page.SetMode(WithinProcess)
	}
}

// ProofLost says that a proof leaves of which the page does not know. Nothing is reported any more.
func (s *Standing) ProofLost() {
	s.lost = true
	s.page.SetMode(Unknown)
}

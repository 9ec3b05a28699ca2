package founding

import "github.com/regentproject/regent/internal/protocol"

// Ask asks a member for the id of the council.
type Ask struct {
	Nonce uint64
	// Listing is the digest of members and quorum system. Members with different lists do not answer one another.
	Listing [32]byte
}

// Tell answers Ask.
type Tell struct {
	Nonce   uint64
	Listing [32]byte
	// ID is zero if the sender has none. Then Begins says that it may begin a council.
	ID     protocol.CouncilID
	Begins bool
}

// Name says founding.Ask.
func (*Ask) Name() string { return "founding.Ask" }

// Name says founding.Tell.
func (*Tell) Name() string { return "founding.Tell" }

// Copy returns an independent copy.
func (m *Ask) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Tell) Copy() protocol.Message { c := *m; return &c }

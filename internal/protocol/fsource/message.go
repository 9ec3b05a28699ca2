package fsource

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// Alive says that its sender is alive, and gossips how often each member accused each other one. It is the only message.
type Alive struct {
	// Seq numbers the messages of one incarnation to all.
	Seq uint64
	// Row is the sender's: how often it accused each member, by rank.
	Row []uint64
	// Rows are those of other members, one after the other: of From, of the next in rank, and so on; the first member
	// follows upon the last.
	From protocol.Rank
	Rows []uint64
}

// Copy returns an Alive of its own.
func (m *Alive) Copy() protocol.Message {
	c := *m
	c.Row, c.Rows = slices.Clone(m.Row), slices.Clone(m.Rows)
	return &c
}

// Name returns fsource.Alive.
func (m *Alive) Name() string { return "fsource.Alive" }

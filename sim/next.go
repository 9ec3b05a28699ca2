package sim

import "github.com/regentproject/regent/internal/protocol"

// Next returns the instant of the next event, Forever if there is none: Run(Next()) lets only that instant's events happen.
func (w *World) Next() Real { return w.queue.Next() }

// Voters returns who has a vote.
func (w *World) Voters() protocol.Set { return w.config.Voters }

// Leaders returns who may lead.
func (w *World) Leaders() protocol.Set { return w.config.Leaders }

// Groups returns the groups that every member campaigns for.
func (w *World) Groups() []protocol.Group { return w.config.Groups }

// Seed returns what all randomness of the world comes from.
func (w *World) Seed() uint64 { return w.config.Seed }

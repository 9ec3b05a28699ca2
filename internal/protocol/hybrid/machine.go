// Package hybrid elects a leader where either the time-free assumption holds or the one about timely links (Mostefaoui,
// Mourgaya, Raynal, Travers: A Time-free Assumption to Implement Eventual Leadership).
//
//	TF §6.3  both protocols side by side, the lesser counter of a member counts
//
// It runs the queries of package timefree and the accusations of package fsource over one counter machine; their messages are
// its own. If one of the assumptions holds, some member that stays up keeps a bounded counter in at least one of the two. A
// dead member does so in neither.
//
// To depose a dead leader both of its counters must grow, so the slower detector decides (E-T6). Both leap, unless Plain is
// set, so that it is slow by one time-out or a few queries at most. For the same reason it stands still as soon as one of the
// two does.
//
// PROTOCOLS §5.6 lets each half leap over its own counters. That is not enough. Where only one assumption holds, the other
// half suspects every member for ever, and members agree only when all its counters have passed the lowest one of the half
// that is right. One by one that takes as many suspicions as the two are apart, which depends on the whole history of the
// council: E-T1 once more. So a suspected member leaps over the next candidate of both halves (package counter).
package hybrid

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// Config describes one member's machine. What both parts have in common is said once; the Config fields within Query and
// Alive are not looked at.
type Config struct {
	counter.Config
	Query timefree.Config
	Alive fsource.Config
}

// Default returns a configuration for a local network.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{
		Config: counter.Default(self, members, inc),
		Query:  timefree.Default(self, members, inc),
		Alive:  fsource.Default(self, members, inc),
	}
}

// Check says what is wrong with the configuration.
func (c Config) Check() error {
	c.Query.Config, c.Alive.Config = c.Config, c.Config
	if err := c.Config.Check("hybrid"); err != nil {
		return err
	}
	if err := c.Query.Check(); err != nil {
		return fmt.Errorf("hybrid: %w", err)
	}
	if err := c.Alive.Check(); err != nil {
		return fmt.Errorf("hybrid: %w", err)
	}
	return nil
}

// New returns the machine of a member that is about to start.
func New(c Config) (*counter.Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c.Query.Config, c.Alive.Config = c.Config, c.Config
	m := counter.New(c.Config)
	m.Add(timefree.NewQueries(m, &c.Query))
	m.Add(fsource.NewAccusations(m, &c.Alive))
	return m, nil
}

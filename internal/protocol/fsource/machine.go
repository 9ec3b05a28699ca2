// Package fsource elects a leader if one member that stays up has f outgoing links that become timely in the end: a ◇f-source
// (Aguilera, Delporte-Gallet, Fauconnier, Toueg; used by Mostefaoui, Mourgaya, Raynal, Travers, whose Figure 3 has it). The
// receivers at the other ends of the links may crash, and all other links may be as slow as they like.
//
// Each member sends Alive messages, and accuses members from which it has received none in time. A member's counter grows
// when n-f members accuse it once more. If f+1 members receive from it in time, itself included, it does not grow. The
// counters are those of package counter.
//
//	TF §6.2    ALIVE and time-outs                        alive.go
//	TF §6.2    accusations, in the form of PROTOCOLS §5.5  accuse.go
//
// Package counter describes restarts. Beyond that we differ in this:
//   - Members do not send each accusation reliably. They gossip how often each accused each: a matrix that merges by the
//     maximum, so that loss, duplicates and order do not matter (PROTOCOLS §5.5). The counter of a member is the (n-f)-th
//     largest number in its column.
//   - In a large council an Alive does not carry the whole matrix but its sender's row and some others in turn. Every row is
//     still sent over and over, which is all that the proof needs.
//   - An accusation of a member against itself counts alone: Unfit would have no effect otherwise.
//   - An accusation leaps over the next candidate (E-T1), unless Plain is set. That is the best of the members that the
//     council has not accused lately. PROTOCOLS §5.5 leaves the choice open. It must not be a member that this member does
//     not accuse, since that includes itself: members that are all accused for ever would lift one another step by step.
//   - A time-out grows when a peer that was accused turns out to be alive, not with each accusation, and up to a cap: a
//     time-out without bound detects nothing. So timely means a delay below the cap less one period.
package fsource

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
)

// Config describes one member's machine. All members of a council have the same one but for Self and Inc.
type Config struct {
	counter.Config
	// Period is how often a member says that it is alive (η).
	Period time.Duration
	// Timeout is how long a peer may be silent at first: at least Period plus the usual delay of a message. Grow is added
	// after each mistake, until Cap is reached.
	Timeout, Grow, Cap time.Duration
}

// Default returns a configuration for a local network.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{
		Config:  counter.Default(self, members, inc),
		Period:  50 * time.Millisecond,
		Timeout: 120 * time.Millisecond,
		Grow:    50 * time.Millisecond,
		Cap:     time.Second,
	}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	if err := c.Config.Check("fsource"); err != nil {
		return err
	}
	switch {
	case c.Period <= 0:
		return fmt.Errorf("fsource: period %v: must be positive", c.Period)
	case c.Timeout <= c.Period:
		return fmt.Errorf("fsource: time-out %v: must exceed the period %v", c.Timeout, c.Period)
	case c.Grow < 0:
		return fmt.Errorf("fsource: growth %v of the time-out: must not be negative", c.Grow)
	case c.Cap < c.Timeout:
		return fmt.Errorf("fsource: cap %v: must be at least the time-out %v", c.Cap, c.Timeout)
	}
	return nil
}

// New returns the machine of a member that is about to start.
func New(c Config) (*counter.Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := counter.New(c.Config)
	m.Add(NewAccusations(m, &c))
	return m, nil
}

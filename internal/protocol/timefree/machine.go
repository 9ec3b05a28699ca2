// Package timefree elects a leader without any assumption on time: it suspects members by the order in which their answers
// arrive, never by a time-out (Mostefaoui, Mourgaya, Raynal, Travers: A Time-free Assumption to Implement Eventual
// Leadership).
//
// Each member queries all others, over and over, and waits for the answers of n-f, its own included. Those are the winning
// ones. Each answer lists the members whose answers won the last query of its sender. A member that is in none of the
// winners' lists is suspected. The counters are those of package counter.
//
//	TF §2      queries and winning responses       query.go
//	TF Fig. 2  T1, lines 1 to 6                    query.go
//	TF Fig. 2  T2, lines 7 and 8                   query.go
//	TF Fig. 2  T3                                  package counter
//
// It is an Ω if at most f members are down and, in the end, some member p and f+1 members are such that p's answers to each
// of them always win (MP). Package counter describes restarts. Beyond that we differ in this:
//   - Channels lose (PROTOCOLS §5.3, E-T5). One query is open at a time, and is repeated to members that have not answered
//     until it ends. A member answers every copy, and the first answer counts. The time of repetition, the pace of queries
//     and the report of a blocked query in the view depend on time; no counter does.
//   - A member is suspected only if h queries in a row miss it, and then leaps over the next candidate (E-T1). Plain runs the
//     paper's protocol: h is 1 and a suspicion adds 1.
//   - f is at most n-2 (E-T2).
//   - The answer to the first query of a member carries the counters that the answering member knows.
//   - A member does not send its own answer; it is the first to arrive.
package timefree

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
)

// Config describes one member's machine. All members of a council have the same one but for Self and Inc.
type Config struct {
	counter.Config
	// Period is the time from one query to the next, if answers do not take longer. It matters for how fast a dead leader is
	// deposed, Patience times Period, and for how many messages that costs.
	Period time.Duration
	// Patience is h: how many queries in a row must find a member missing before that counts as a suspicion. More makes
	// mistakes rarer, and a dead leader last longer. It does not matter if Plain is set.
	Patience int
	// RepeatMin and RepeatMax bound the time after which an open query is repeated. In between it is twice the usual round
	// trip, and doubles with each copy.
	RepeatMin, RepeatMax time.Duration
}

// Default returns a configuration for a local network: one member may be down, and a dead leader is deposed after four
// queries.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{
		Config:    counter.Default(self, members, inc),
		Period:    50 * time.Millisecond,
		Patience:  4,
		RepeatMin: 20 * time.Millisecond,
		RepeatMax: time.Second,
	}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	if err := c.Config.Check("timefree"); err != nil {
		return err
	}
	switch {
	case c.Period <= 0:
		return fmt.Errorf("timefree: period %v: must be positive", c.Period)
	case c.Patience < 1:
		return fmt.Errorf("timefree: patience %d: must be at least 1, the paper's", c.Patience)
	case c.RepeatMin <= 0:
		return fmt.Errorf("timefree: repeat after %v: must be positive", c.RepeatMin)
	case c.RepeatMax < c.RepeatMin:
		return fmt.Errorf("timefree: repeat after at most %v: must be at least %v", c.RepeatMax, c.RepeatMin)
	}
	return nil
}

// New returns the machine of a member that is about to start.
func New(c Config) (*counter.Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := counter.New(c.Config)
	m.Add(NewQueries(m, &c))
	return m, nil
}

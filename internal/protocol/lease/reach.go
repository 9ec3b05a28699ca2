package lease

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Reach bounds how long promises of one member may stand, in terms of the δ that they were asked for. The bound is on
// disk, and a start after a crash waits for it. It is raised before a longer promise leaves, ahead of need, and
// lowered when no promise that needs it can stand any more.
type Reach struct {
	// Durable is what a start would find on disk at least, whatever becomes of the writes under way. An answer that makes a
	// longer promise waits for the disk.
	Durable time.Duration
	// Bound is what was last handed to the disk.
	Bound time.Duration
	// Wish is the longest lease that a program of this member wants; zero: none beyond Config.Lease.
	Wish time.Duration
	// need is the highest bound that was needed since since. A member that still waits for the first answer has since Never: what its last start
	// promised counts from that answer on.
	need  time.Duration
	since protocol.Time
}

// lowerAfter is for how many of the longest promises none may have needed a bound before it is lowered. One is enough for
// safety. More keep a failover, and a member that leads now and then, from waiting for the disk.
const lowerAfter = 8

// NewReach returns the bound of a member that starts with what its last start may have promised. Those promises count from since on; Never: from
// Reached on.
func NewReach(cfg *Config, since protocol.Time, promised time.Duration) Reach {
	return Reach{Bound: max(promised, cfg.ahead(0, 0)), since: since}
}

// Reached notes the first answer to this start.
func (r *Reach) Reached(now protocol.Time) { r.since = min(r.since, now) }

// ahead returns the bound for promises of a length that are asked for delta: a quarter longer, and so many times twice as
// much that PerGroup may add as much again before it is reached.
func (c *Config) ahead(length, delta time.Duration) time.Duration {
	if length == 0 {
		length = c.Lease
	}
	step := max(1, length/4)
	for step < 2*(delta-length) {
		step *= 2
	}
	return min(c.Longest, length+step)
}

// require notes that a promise of a length is made, or will be, and asked for delta.
func (r *Reach) require(c *Config, length, delta time.Duration) {
	r.need = max(r.need, c.ahead(length, delta))
}

// Next returns the bound that should be on disk. Whoever calls it hands it to the disk.
func (r *Reach) Next(c *Config, now protocol.Time) time.Duration {
	base := c.ahead(0, 0)
	if r.Wish != 0 {
		r.require(c, r.Wish, r.Wish)
	}
	switch need := max(base, r.need); {
	case need > r.Bound:
		r.Bound = need
	case r.Bound > base && now >= r.lowers(c):
		r.Bound, r.need, r.since = need, 0, now
	}
	r.Durable = min(r.Durable, r.Bound)
	return r.Bound
}

// AtLeast returns a bound that is no lower than that of a calm council.
func (c *Config) AtLeast(bound time.Duration) time.Duration { return max(bound, c.ahead(0, 0)) }

// lowers returns when the bound may be lowered to what was needed meanwhile.
func (r *Reach) lowers(c *Config) protocol.Time {
	at := r.since
	for range lowerAfter {
		at = at.Add(c.LongestPromise(r.Bound))
	}
	return at
}

// AppendState appends what the bound will ever act on.
func (r *Reach) AppendState(s *State, c *Config) {
	s.Int(int64(r.Durable))
	s.Int(int64(r.Bound))
	s.Int(int64(r.Wish))
	if r.Bound > c.ahead(0, 0) {
		s.Int(int64(r.need))
		s.Future(r.lowers(c))
	}
}

package hall

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config describes one member's machine for one group. Everything but Self, Inc, Clean, Longest and After must be the same
// at all members of the group.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks.
	Inc   protocol.Inc
	Group protocol.Group
	Timing
	// Supporters is the least size of a logical partition; zero stands for one. With Majority(Members) there is at most one
	// leader anywhere, and none where there is no majority.
	Supporters int
	// Arity, if not zero, makes requests and replies travel along a tree in which every node has so many children.
	Arity int
	// Rotate, if not zero, is after how many renewals a leader hands over to the next in rank.
	Rotate int
	// Calm, if not zero, is how long a member that was supported and fell silent must be heard without a break, on the own
	// clock, before it counts again (E-H10). It makes κ longer.
	Calm time.Duration
	// StopWithin is how long a program that was asked to stop may take, while its lease is renewed; zero if the driver ends the
	// renewals with Lapse. The runtime always does: its machine (internal/tenure) owns that bound. Only simulated members set it.
	StopWithin time.Duration
	// Clean says that a note of the incarnation before, which counts once, shows that it left no lock outstanding. Otherwise
	// a member that starts grants nothing for the time of a lock.
	Clean bool
	// Longest is the longest lock of any configuration that the member ran with before, if one was longer than Lock. So long
	// a lock may stand when it starts.
	Longest time.Duration
	// After is the number of the last request of a machine of the same member, incarnation and group before this one, or any
	// higher: requests are numbered within an incarnation. Zero if there was none.
	After uint64
}

// Default returns a configuration with that timing.
func Default(self protocol.Rank, members int, inc protocol.Inc, t Timing) Config {
	return Config{Self: self, Members: members, Inc: inc, Timing: t, StopWithin: 5 * time.Second}
}

// Majority returns the number of supporters that only one leader can have.
func Majority(members int) int { return members/2 + 1 }

// Window returns how many Δ a round takes: two, or with a tree two more than it is deep and as many as two late timers take. A
// request takes one Δ, however many relays it passes. A reply waits for two timers at most: a node's for its children, and then
// for its parent's acknowledgement. The last two Δ of a round are for asking directly the members that have not answered by then.
func (c *Config) Window() int {
	if c.Arity == 0 || c.Delta <= 0 {
		return directWindow
	}
	late := (2*c.Sched + c.Delta - 1) / c.Delta
	return Depth(c.Members, c.Arity) + directWindow + int(late)
}

// Kappa returns κ, in real time: when a stable partition has lasted so long it has a leader, backed by all its members, and
// no leader has been backed for longer by fewer than it is connected to.
func (c *Config) Kappa() time.Duration {
	k := c.Timing.Kappa(c.Window())
	if c.Rotate > 0 {
		// Members that have missed a turn may first let one try that is not the first by it.
		k += c.Rho.RealAtMost(c.Expires+c.Period) + time.Duration(c.Window())*c.Delta
	}
	if c.Calm > 0 {
		// Each of two members may have to be heard for that long before it counts with the other: one after the other, if
		// one of them only answers.
		k += c.Rho.RealAtMost(2 * (c.Expires + c.Period + c.Calm))
	}
	return k
}

// LeastRotate returns the least Rotate that Calm allows, one without Calm. Members receive from the leader only, so a member that was lost
// can be received from without a break for no longer than its turn. As in Kappa, one may have to wait for the other.
func (c *Config) LeastRotate() int {
	if c.Calm == 0 {
		return 1
	}
	wait := 2 * (c.Calm + c.Expires + c.Period)
	return int((wait + max(c.Renew, 1) - 1) / max(c.Renew, 1))
}

// String shows the constants, and what follows from them.
func (c *Config) String() string {
	w := c.Window()
	return fmt.Sprintf("Δ %v, σ %v, EP %v, lock %v, expires %v: a round takes up to %v, a lease lasts %v and is renewed %v before its end, κ is %v",
		c.Delta, c.Sched, c.Period, c.Lock, c.Expires, c.window(w), c.lease(), c.ahead(w), c.Kappa())
}

// Check returns what is wrong with the configuration: a broken constraint with its numbers and the nearest value that
// would do.
func (c *Config) Check() error {
	switch {
	case c.Members < 1 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("hall: %d members: must be between 1 and %d", c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("hall: member %d: must be below %d, the number of members", c.Self, c.Members)
	case c.Supporters < 0 || c.Supporters > c.Members:
		return fmt.Errorf("hall: %d supporters: must be between 0 and %d, the number of members", c.Supporters, c.Members)
	case c.Arity < 0 || c.Arity == 1:
		return fmt.Errorf("hall: a tree of arity %d: must be 0 for none, or at least 2", c.Arity)
	case c.Rotate < 0 || c.Calm < 0 || c.StopWithin < 0:
		return fmt.Errorf("hall: rotate %d, calm %v, stop within %v: must not be negative", c.Rotate, c.Calm, c.StopWithin)
	case c.Rotate > 0 && c.Rotate < c.LeastRotate():
		return fmt.Errorf("hall: turns of %d renewals with calm %v: must be at least %d, so that members that were apart can count with each other within one turn",
			c.Rotate, c.Calm, c.LeastRotate())
	}
	return c.Timing.Check(c.Window())
}

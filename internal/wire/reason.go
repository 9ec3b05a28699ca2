package wire

import "fmt"

// Reason says what became of a packet.
type Reason uint8

const (
	// Accepted packets passed every check.
	Accepted Reason = iota
	// Accepted, but the packet is meant for another incarnation of this member: its stamps may be used, its echo is about
	// another clock, and it carries no message.
	OtherIncarnation

	// The rest are dropped. These say nothing about who sent them.
	Short       // too short, or too long, for a packet
	Foreign     // not one of ours: another magic
	UnknownKey  // sealed with a key that is not in the ring
	Stranger    // from a rank that the council does not have, or from our own
	Misdirected // for another member
	Forged      // does not authenticate

	// These come from who holds the key.
	Mismatch  // another epoch or configuration
	Stale     // an earlier incarnation than has been heard of
	Twin      // a second start under an incarnation that another one uses
	Replayed  // seen before, or too old to tell
	Version   // in a version that we do not read
	Malformed // what was sealed does not decode
	numReasons
)

var reasons = [numReasons]string{"accepted", "other incarnation", "short", "foreign", "unknown key", "stranger",
	"misdirected", "forged", "mismatch", "stale", "twin", "replayed", "version", "malformed"}

func (r Reason) String() string {
	if r < numReasons {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", r)
}

// Dropped says that nothing of the packet may be used, but for the alarm that an authentic one raises.
func (r Reason) Dropped() bool { return r > OtherIncarnation }

// Authentic says that the packet was sealed with a key of the ring: its header can be believed.
func (r Reason) Authentic() bool { return r <= OtherIncarnation || r >= Mismatch }

// Counts says how many packets met with each reason, and what happened to messages apart from their packets.
type Counts struct {
	Packets [numReasons]uint64
	// Unknown messages have a number that this build does not know, and were skipped.
	Unknown uint64
	// GivenUp messages were split, and not put together in time or within the limits.
	GivenUp uint64
}

// Dropped sums up all packets that were dropped.
func (c *Counts) Dropped() uint64 {
	var sum uint64
	for r, n := range c.Packets {
		if Reason(r).Dropped() {
			sum += n
		}
	}
	return sum
}

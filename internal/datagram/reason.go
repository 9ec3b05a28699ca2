package datagram

import "fmt"

// Reason says what became of a packet. There is one list of reasons, from the socket to the machine: status, metrics, logs
// and docs/wire.md use its names.
type Reason uint8

const (
	// Accepted packets passed every check: their messages are delivered.
	Accepted Reason = iota
	// OtherIncarnation packets are meant for another process than this one. Their stamps are used, their echo is about another
	// clock, and they carry no message.
	OtherIncarnation
	// Introduction packets hold the sender's configuration, which is ours, and nothing else.
	Introduction
	// Obituary packets are the report of a guardian that their sender, in the start that they name, is dead. They carry nothing else.
	Obituary

	// All others are dropped. These reasons are found before the packet is authenticated.
	Short        // too short, or too long, for a packet
	Foreign      // another magic
	Older        // a magic from before the first release
	UnknownKey   // sealed with a key that is not in the ring
	OtherCouncil // of another council, which shares the key
	Stranger     // from a rank that the council does not have, or from our own
	Misdirected  // for another member
	Revoked      // from a member whose key was revoked
	MemberKey    // sealed with a key of the sender that is not listed, or for one of ours that we do not have
	Unheard      // a guardian's report about another start of its member than the one that was heard last
	Forged       // does not authenticate

	// These packets come from a holder of the keys that they name.
	Mismatch  // another epoch or configuration
	Stale     // a lower incarnation than was heard
	Twin      // a second start under an incarnation that another start uses
	Replayed  // seen before, or too old to tell
	Rivals    // two processes speak for the sender, and neither counts
	Version   // a version that we do not read
	Malformed // no number, or a sealed part that does not decode
	// NumReasons is how many there are.
	NumReasons
)

var reasons = [NumReasons]string{"accepted", "other incarnation", "introduction", "obituary", "short", "foreign", "older", "unknown key", "other council", "stranger",
	"misdirected", "revoked", "unknown member key", "unheard", "forged", "mismatch", "stale", "twin", "replayed", "rivals", "version", "malformed"}

func (r Reason) String() string {
	if r < NumReasons {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", r)
}

// Dropped says that the packet is not used, but for the alarm that an authentic one raises.
func (r Reason) Dropped() bool { return r > Obituary }

// Authentic says that the packet was sealed with the keys that it names: its header can be believed. That of an introduction is from a
// holder of the cluster key, and that of an obituary from a guardian.
func (r Reason) Authentic() bool { return r <= Obituary || r >= Mismatch }

// counted says that the packet is one of a start of a peer, which it may teach something.
func (r Reason) counted() bool {
	switch r {
	case Accepted, OtherIncarnation, Rivals, Version, Stale, Twin:
		return true
	}
	return false
}

// Counts says how many packets met with each reason, and what else was odd.
type Counts struct {
	Packets [NumReasons]uint64
	// Impossible bounds are such that clocks within ρ cannot give. Their packets are delivered, with an unknown delay.
	Impossible uint64
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

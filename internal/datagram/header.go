package datagram

import "github.com/regentproject/regent/internal/protocol"

// A Header is what a datagram says of itself. It means something only after it was authenticated: the codec seals and
// opens it, and carries next to it what this layer has no use for (keys, versions, paths).
type Header struct {
	// From is the sender, in the incarnation that sent it. Incarnation 0 is a member that does not know its own yet.
	From protocol.Ident
	// Start are the random bits that the sender drew when it started. They tell two processes apart that were, by mistake,
	// started under one incarnation.
	Start Start
	// To is the receiver, in the incarnation that the sender has heard of last; 0 if in none. A datagram that is meant
	// for another incarnation than the one it reaches carries no message to it.
	To protocol.Ident
	// ToStart are the first random bits of the receiver's start that the sender has heard of; zero if of none. A datagram that
	// is meant for another start carries no message either.
	ToStart StartPrefix
	// Council says which configuration the sender has in force.
	Council Council
	// Seq numbers the datagrams from one process to one member: 1, 2, 3 and so on, never twice. It is the counter of
	// the seal too, and so is not unique between receivers: the receiver's rank belongs into the nonce.
	Seq uint64
	// Sent is an instant of the sender's clock, no later than when the datagram left and no later than the events that
	// its messages tell of.
	Sent protocol.Time
	// Echo is what the receiver needs to bound the delay of this datagram; zero if the sender has nothing to echo.
	Echo Echo
}

// An Echo tells the receiver about one of its own earlier datagrams: it left at Sent on the clock of the receiver of
// the echo, and came in at Received on the clock of its sender. Two instants of zero are no echo.
type Echo struct {
	Sent, Received protocol.Time
}

// Start are the random bits of one start of a member.
type Start [16]byte

// A StartPrefix is enough of a start to tell it from others by chance.
type StartPrefix [8]byte

// Prefix returns the first bits.
func (s Start) Prefix() StartPrefix { return StartPrefix(s[:]) }

// A Council is what packets carry of a configuration: its epoch and its digest.
type Council struct {
	Epoch  uint64
	Digest [8]byte
}

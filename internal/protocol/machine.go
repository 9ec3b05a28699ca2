// Package protocol is the contract between Regent's protocols and whatever drives them: the runtime, with sockets and
// a clock, or the simulator, with neither.
//
// A protocol is a [Machine]: one member's half of it, as a pure function of its events. Everything that a machine asks
// for is in [Effects]; everything that it may know of time is the argument now. The rest of the package is vocabulary
// that all protocols share: [Time] and the four helpers of [Rho], [Rank] and [Set], [View] with its [Cause], [Fact]
// for the trace and the checkers, and quorum systems ([Quorums]).
//
//	PROTOCOLS §1.1 drift arithmetic   rho.go
//	PROTOCOLS §8   contract           machine.go, event.go
//	PROTOCOLS §9   trace schema       fact.go
package protocol

// A Machine is one member's part in a protocol. It does no I/O, starts no goroutine, reads no clock and draws no
// randomness of its own: the same events give the same effects.
type Machine interface {
	// Step takes one event and returns all that it leads to. now never runs backwards; it is the receive stamp of what
	// came in, the send stamp of all that is sent, the instant of a grant and the start of a request. A Tick that comes
	// early, late or twice is harmless.
	Step(now Time, ev Event) Effects
}

// Effects is everything that a Step asks of its driver, carried out in the order of the fields. It belongs to the
// machine: all of it, messages included, is valid until the machine's next Step.
type Effects struct {
	// Views of the groups that changed. They are published first, so that the loss of a leadership is seen before
	// anything that rests on it happens.
	Views []View
	// Horizons that moved: the shared ends of leases. Published with the views, after them.
	Horizons []Horizon
	// Persist is a record to make durable; nil if there is none. Records replace one another, and one write may stand for
	// several of them, of which the disk then only ever sees the last. Persisted comes back once for each, in order, when it
	// or a later one is on disk. Whether that is before or after the messages leave that waited for it is the driver's
	// business.
	Persist []byte
	// Send lists messages in order. A message to oneself goes through the queue like any other.
	Send []Envelope
	// Answers to Find, Verify and Transfer.
	Answers []Answer
	// Wake is the local time at which the machine wants a Tick; Never if it wants none. Each Step replaces the wake of
	// the one before.
	Wake Time
	// Facts say what happened inside, for the trace and the checkers only: nothing may depend on them.
	Facts []Fact
}

// An Envelope is one message on its way out.
type Envelope struct {
	To      Rank
	Message Message
	// Durable holds the message back until the records of this and all earlier Steps are on disk. The others do not wait
	// for it.
	Durable bool
}

// A Message is what members say to one another. Its dynamic type is a pointer to a struct of the protocol's package,
// which the sender may use again in its next Step and the receiver may not keep: whoever keeps a message keeps a Copy.
type Message interface {
	// Copy returns a message that shares no memory with this one.
	Copy() Message
	// Name is what the paper calls it, with the package in front: "rank.OK". It stands in traces and scripts.
	Name() string
}

// Explorable machines can be copied and compared, so that all their reachable states can be visited.
type Explorable interface {
	Machine
	// Clone returns a machine in the same state that shares no mutable memory with this one.
	Clone() Machine
	// AppendState appends a canonical encoding: two machines that behave alike in all futures should encode alike, two
	// that do not must encode differently.
	AppendState([]byte) []byte
}

// An Incarnate machine decides by itself under which incarnation its member speaks, because that takes a durable
// record or a conversation with the others. Its driver asks after every Step; zero means that it does not know yet.
// The driver of any other machine counts the starts.
type Incarnate interface {
	Machine
	Incarnation() Inc
	// Votes returns since when the member votes, or when it will; Never while it does not know. It has nothing to learn of
	// leaders from before that only if it began the council itself: zero.
	Votes() Time
}

// A Closable machine can leave in good order: it is told to by Close.
type Closable interface {
	Machine
	// Closed says that nothing is left to do and that the record, if there is one, says so.
	Closed() bool
}

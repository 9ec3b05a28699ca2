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
	// Step takes one event and appends all that it leads to to out. now never runs backwards; it is the receive stamp of
	// what came in, the send stamp of all that is sent, the instant of a grant and the start of a request. A Tick that comes
	// early, late or twice is harmless.
	//
	// out belongs to the caller. What it holds already is not the machine's to change: the machine appends, writes at most
	// one record, sets the wake, and keeps no reference to out beyond the Step.
	Step(now Time, ev Event, out *Effects)
}

// Effects is everything that a Step asks of its driver. Package drive carries it out and gives the order.
//
// The caller of Step owns it: all slices in it, the record and the messages included, stay as they are until the caller resets
// them. Machines take messages from [Keep] and [Make], or allocate them and do not change them after they have sent them.
type Effects struct {
	// Views of the groups that changed.
	Views []View
	// Horizons that moved: the shared ends of leases.
	Horizons []Horizon
	// Persist is a record to make durable; empty if there is none. Records replace one another, and one write may stand for
	// several of them, of which the disk then only ever sees the last. Persisted comes back once for each, in order, when it
	// or a later one is on disk. Whether that is before or after the messages leave that waited for it is the driver's
	// business.
	//
	// A member has one record, so a Step writes at most one. Of the machines that make up a member one owns the record: a
	// machine over it may replace a part of what it wrote, and no other writes any.
	Persist []byte
	// Send lists messages in order. A message to oneself goes through the queue like any other.
	Send []Envelope
	// Answers to Find, Verify and Transfer.
	Answers []Answer
	// Wake is the local time at which the machine wants a Tick; Never if it wants none. Each Step sets it, and replaces the
	// wake of the one before.
	Wake Time
	// Facts say what happened inside, for the trace and the checkers only: nothing may depend on them.
	Facts []Fact

	// pools hold the memory of messages, one pool for each type.
	pools []pool
}

// Reset empties the effects and keeps their memory for the next Step.
func (o *Effects) Reset() {
	*o = Effects{Views: o.Views[:0], Horizons: o.Horizons[:0], Persist: o.Persist[:0], Send: o.Send[:0], Answers: o.Answers[:0],
		Wake: Never, Facts: o.Facts[:0], pools: o.pools}
	for _, p := range o.pools {
		p.reset()
	}
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
// in memory of the [Effects] that it was sent with. The receiver may not keep it: to keep a message is to keep a Copy.
type Message interface {
	// Copy returns a message that shares no memory with this one.
	Copy() Message
	// Name is what the paper calls it, with the package in front: "rank.OK". It stands in traces and scripts.
	Name() string
}

// A Patient message is one to which the answers may be taken a little later than they come, if its method says so: nobody waits for them.
type Patient interface {
	Message
	Patient() bool
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

// A Closable machine can leave in good order: Close asks it to.
type Closable interface {
	Machine
	// Closed says that nothing is left to do and that the record, if there is one, says so.
	Closed() bool
}

// Package drive executes the effects of machines: it is the only executor of [protocol.Effects]. The runtime, the simulator,
// the explorer, the lab and the tests drive machines through it, each with its own [Host].
//
// # The order
//
// An [Executor] executes the effects of a Step in this order:
//
//  1. views, in the order in which they were appended
//  2. horizons, and then a notice that all views and horizons are published
//  3. the record
//  4. the incarnation under which the member sends from now on
//  5. messages: those that wait for the disk are held, the others are sent
//  6. answers
//  7. the wake
//  8. facts, under the incarnation that the Step was taken under
//
// Some pairs must not be swapped. For each of them there is a mutant in mutants/drive, and a test here that catches it:
//
//   - Views before horizons. A view may take a lease out of its horizon, with an end of its own. If the horizon moved first,
//     a program would read an end of the lease that no quorum has granted.
//   - Views before the incarnation. A leader that finds its record stale has no incarnation any more. Callers that wait for a
//     new one read the views next, and must not find the old leadership in them.
//   - Views before messages. A release lets another member lead. If it left before the loss is published, two members
//     would show themselves as leaders.
//   - Views before answers. The caller of Transfer reads the view when it has its answer, and must not find the leader of
//     before.
//   - The record before messages. A durable message rests on the record of its own Step. If messages came first, nothing
//     would be on its way to the disk yet, and the message would leave at once.
//   - The incarnation before messages. In the Step in which a member learns its incarnation it notifies all others: these
//     messages carry the new incarnation. A member that has lost its incarnation must not ask for it under the old one.
//   - Facts under the incarnation of before, if there was one. What a leader states when it finds its record stale is about
//     the lease of the incarnation that it loses. Under no incarnation it would be a lease that no quorum has granted. A member that
//     had none states its facts under the one that it has found.
//
// All other pairs could be swapped. They stand as they do so that the same seed gives the same trace.
//
// The executor hands the record over before it is durable. Only messages that are marked durable wait for it. Between
// Persisted and the release of these messages there is no order: a machine must tolerate both.
//
// # Files
//
//	drive.go   the order
//	held.go    what waits for the disk
package drive

import "github.com/regentproject/regent/internal/protocol"

// A Host carries out single effects for one machine. It must not step a machine meanwhile. Slices and pointers belong to the
// executor, and messages to the machine: a host that keeps any of them keeps a copy.
type Host interface {
	// Machine returns what is driven, and the same once more if it decides under which incarnation the member speaks; else nil.
	Machine() (protocol.Machine, protocol.Incarnate)
	// As comes first, and only if the machine is Incarnate: all views and facts of the Step are of that incarnation.
	As(now protocol.Time, inc protocol.Inc)
	// View publishes a view, and Horizon the end of leases.
	View(now protocol.Time, v *protocol.View)
	Horizon(now protocol.Time, h protocol.Horizon)
	// Published follows the last of them, if there were any.
	Published(now protocol.Time)
	// Persist begins to make a record durable.
	Persist(now protocol.Time, record []byte)
	// Incarnation says under which incarnation the member speaks from now on, and since when it votes. It comes after every
	// Step of an Incarnate machine, whether they have changed or not.
	Incarnation(now protocol.Time, inc protocol.Inc, votes protocol.Time)
	// Writing says whether a record that was handed over is not on disk yet.
	Writing() bool
	// Hold keeps a message until the records that were handed over so far are on disk. The message is a copy.
	Hold(now protocol.Time, to protocol.Rank, m protocol.Message)
	// Send sends messages, in order.
	Send(now protocol.Time, out []protocol.Envelope)
	Answer(now protocol.Time, a *protocol.Answer)
	// Wake sets when the machine wants a Tick; Never: not at all.
	Wake(now, at protocol.Time)
	Facts(now protocol.Time, facts []protocol.Fact)
}

// An Executor steps machines, one at a time, and carries out what they ask for. It owns the memory of their effects, so one
// is enough for all machines that are stepped by the same goroutine.
type Executor struct {
	out  protocol.Effects
	busy bool
}

// Step lets the machine of a host take one event, and carries out all that it asks for.
func (x *Executor) Step(h Host, now protocol.Time, ev protocol.Event) {
	if x.busy {
		panic("drive: OneStepAtATime: a host has stepped a machine while effects were carried out")
	}
	x.busy = true
	m, who := h.Machine()
	before := protocol.Inc(0)
	if who != nil {
		before = who.Incarnation()
	}
	out := &x.out
	out.Reset()
	m.Step(now, ev, out)
	if who != nil {
		h.As(now, takenAs(before, who.Incarnation()))
	}
	x.publish(h, now)
	if len(out.Persist) > 0 {
		h.Persist(now, out.Persist)
	}
	if who != nil {
		h.Incarnation(now, who.Incarnation(), who.Votes())
	}
	x.send(h, now)
	for i := range out.Answers {
		h.Answer(now, &out.Answers[i])
	}
	h.Wake(now, out.Wake)
	if len(out.Facts) > 0 {
		h.Facts(now, out.Facts)
	}
	x.busy = false
}

// takenAs returns the incarnation that a Step was taken under: the one that the member had before, or else the one that it
// has found.
func takenAs(before, after protocol.Inc) protocol.Inc {
	if before != 0 {
		return before
	}
	return after
}

// publish publishes views and horizons.
func (x *Executor) publish(h Host, now protocol.Time) {
	out := &x.out
	for i := range out.Views {
		h.View(now, &out.Views[i])
	}
	for _, end := range out.Horizons {
		h.Horizon(now, end)
	}
	if len(out.Views)+len(out.Horizons) > 0 {
		h.Published(now)
	}
}

// send holds the messages that wait for the disk, and sends the others. One to several members is copied once.
func (x *Executor) send(h Host, now protocol.Time) {
	leave := x.out.Send[:0]
	var last, kept protocol.Message
	for i := range x.out.Send {
		e := x.out.Send[i]
		if !e.Durable || !h.Writing() {
			leave = append(leave, e)
			continue
		}
		if e.Message != last {
			last, kept = e.Message, e.Message.Copy()
		}
		h.Hold(now, e.To, kept)
	}
	if len(leave) > 0 {
		h.Send(now, leave)
	}
}

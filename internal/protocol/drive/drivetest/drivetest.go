// Package drivetest is the harness of all tests of machines. It drives them as the runtime does, through package drive.
//
//	drivetest.go   one machine that a test drives one Step at a time
//	net.go         several machines that talk to one another on one virtual clock
//
// The simulator does the rest: drift, loss, faults, checkers.
package drivetest

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
)

// Step lets a machine take an event and returns what it asks for, in memory of its own.
func Step(m protocol.Machine, now protocol.Time, ev protocol.Event) protocol.Effects {
	var b Buffer
	return *b.Step(m, now, ev)
}

// A Buffer lets machines take their Steps over one memory, for tests that count allocations.
type Buffer struct {
	executor drive.Executor
	capture  capture
}

// Step lets a machine take an event. What it asks for is valid until the next Step over the same buffer.
func (b *Buffer) Step(m protocol.Machine, now protocol.Time, ev protocol.Event) *protocol.Effects {
	c := &b.capture
	c.machine = m
	c.out.Reset()
	b.executor.Step(c, now, ev)
	return &c.out
}

// capture is a host that carries out nothing, but keeps all that is asked for.
type capture struct {
	drive.Ignore
	machine protocol.Machine
	out     protocol.Effects
}

func (c *capture) Machine() (protocol.Machine, protocol.Incarnate) { return c.machine, nil }

func (c *capture) View(_ protocol.Time, v *protocol.View) { c.out.Views = append(c.out.Views, *v) }

func (c *capture) Horizon(_ protocol.Time, h protocol.Horizon) {
	c.out.Horizons = append(c.out.Horizons, h)
}

func (c *capture) Persist(_ protocol.Time, record []byte) {
	c.out.Persist = append(c.out.Persist, record...)
}

func (c *capture) Send(_ protocol.Time, out []protocol.Envelope) {
	c.out.Send = append(c.out.Send, out...)
}

func (c *capture) Answer(_ protocol.Time, a *protocol.Answer) {
	c.out.Answers = append(c.out.Answers, *a)
}

func (c *capture) Wake(_, at protocol.Time) { c.out.Wake = at }

func (c *capture) Facts(_ protocol.Time, facts []protocol.Fact) {
	c.out.Facts = append(c.out.Facts, facts...)
}

// A Stepper works one machine: it has the machine's clock, and keeps what the machine asked for last.
type Stepper struct {
	Machine protocol.Machine
	Now     protocol.Time
	Last    protocol.Effects
}

// Step lets the machine take an event now.
func (h *Stepper) Step(ev protocol.Event) protocol.Effects {
	h.Last = Step(h.Machine, h.Now, ev)
	return h.Last
}

// Tick moves the clock, and lets the machine take a Tick.
func (h *Stepper) Tick(at protocol.Time) protocol.Effects {
	h.Now = at
	return h.Step(protocol.Tick{})
}

// Receive lets a message arrive now whose delay is proven to be at most delay.
func (h *Stepper) Receive(from protocol.Ident, m protocol.Message, delay time.Duration) protocol.Effects {
	return h.Step(&protocol.Receive{From: from, Message: m, Delay: delay})
}

// Sent lists the receivers of messages of a kind in the last Step.
func (h *Stepper) Sent(name string) []protocol.Rank {
	var to []protocol.Rank
	for _, e := range h.Last.Send {
		if e.Message.Name() == name {
			to = append(to, e.To)
		}
	}
	return to
}

// Append appends effects that a test has made up, as a machine would.
func Append(out *protocol.Effects, e protocol.Effects) {
	out.Views = append(out.Views, e.Views...)
	out.Horizons = append(out.Horizons, e.Horizons...)
	out.Persist = append(out.Persist, e.Persist...)
	out.Send = append(out.Send, e.Send...)
	out.Answers = append(out.Answers, e.Answers...)
	out.Facts = append(out.Facts, e.Facts...)
	out.Wake = e.Wake
}

// Package drivetest is for tests of machines.
package drivetest

import "github.com/regentproject/regent/internal/protocol"

// Step lets a machine take an event and returns what it asks for, in memory of its own but for the messages.
func Step(m protocol.Machine, now protocol.Time, ev protocol.Event) protocol.Effects {
	var out protocol.Effects
	out.Reset()
	m.Step(now, ev, &out)
	return out
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

// A Buffer lets machines take their Steps over one memory, for tests that count allocations.
type Buffer struct{ out protocol.Effects }

// Step lets a machine take an event. What it asks for is valid until the next Step over the same buffer.
func (b *Buffer) Step(m protocol.Machine, now protocol.Time, ev protocol.Event) *protocol.Effects {
	b.out.Reset()
	m.Step(now, ev, &b.out)
	return &b.out
}

package guardian

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	// repeats is how many times a report is sent, and within how long: datagrams get lost, and nobody answers.
	repeats = 10
	within  = 50 * time.Millisecond

	// patience is for how long a guardian waits for a proof to expire. After that the promises are about to lapse anyway, and the process must not stay.
	patience = 10 * time.Second

	// outlast is for how long after the death of the member a guardian looks whether programs are gone that it keeps groups for. One that lives on
	// runs until its lease is over.
	outlast = 2 * time.Second
	// The looks become rarer, down to a part of the time since the first.
	leastPause = time.Millisecond
	pausePart  = 16
)

// A Do is what a guardian does next.
type Do uint8

const (
	// Watch: the member is not dead.
	Watch Do = iota
	// Wait until the instant and ask again.
	Wait
	// Send the report once, and ask again at the instant.
	Send
	// End the guardian: nothing is left to do.
	End
)

// A Duty is what a guardian has to do. Instants are those of the clock of the host.
type Duty struct {
	// Skew is by how much the member's clock, of which the proofs are, may be behind the clock of the host.
	Skew time.Duration
	// first is when it was asked first.
	first, begun protocol.Time
	asked        bool
	sent         int
	// open is for how many kept groups a program could be proven gone, as of the last answer.
	open int
}

// Closing says whether there is nothing left to do, dead or not, because the member has left in good order.
func Closing(m Mode) bool { return m == Closed }

// Next returns what to do now that the member is proven dead, and wrong is why its page cannot be believed. Open is for how many groups that are kept a
// program may yet be proven gone. When one is, the report is sent anew, as often as the first.
func (d *Duty) Next(now protocol.Time, s *Statement, wrong error, open int) (Do, protocol.Time) {
	if wrong != nil || s.Mode != WithinProcess {
		return End, 0
	}
	if !d.asked {
		d.asked, d.first = true, now
	}
	if over := s.Proof.Add(d.Skew); s.Proof != 0 && now <= over {
		if over.Sub(now) > patience {
			return End, 0
		}
		return Wait, over + 1
	}
	if open < d.open {
		d.sent = 0
	}
	d.open = open
	if d.sent == 0 {
		d.begun = now
	}
	if d.sent == repeats {
		past := now.Sub(d.first)
		if open == 0 || past >= outlast {
			return End, 0
		}
		return Wait, now.Add(max(leastPause, past/pausePart))
	}
	if due := d.begun.Add(time.Duration(d.sent) * (within / (repeats - 1))); now < due {
		return Wait, due
	}
	d.sent++
	return Send, max(now, d.begun.Add(time.Duration(d.sent)*(within/(repeats-1))))
}

package runtime

import "github.com/regentproject/regent/internal/protocol"

// A prover is a machine that gives proofs: until the instant on the member's clock, somebody may believe that it leads.
type prover interface{ Proved() protocol.Time }

// A host is an instance as package drive sees it: it carries out what the machine asks for.
type host Instance

func (i *host) Machine() (protocol.Machine, protocol.Incarnate) { return i.machine, i.incarnate }

// As lets the rest of the runtime follow the council first: views name members of the configuration that a Step has put in force.
func (i *host) As(now protocol.Time, _ protocol.Inc) {
	if i.loop.Adopt != nil {
		i.loop.Adopt(now)
	}
}

func (i *host) View(now protocol.Time, v *protocol.View) { i.sink.View(now, v) }

func (i *host) Horizon(now protocol.Time, h protocol.Horizon) { i.sink.Horizon(now, h) }

func (i *host) Published(now protocol.Time) {
	i.sink.Published(now)
	if !i.dirty {
		i.dirty = true
		i.loop.dirty = append(i.loop.dirty, (*Instance)(i))
	}
}

func (i *host) Persist(_ protocol.Time, record []byte) {
	i.loop.unconfirmed.Add(i.loop.disk.put(record), (*Instance)(i))
}

// Incarnation comes before messages, and so before the proofs in them.
func (i *host) Incarnation(now protocol.Time, inc protocol.Inc, votes protocol.Time) {
	if f := i.loop.Proved; f != nil && i.prover.Proved() > i.loop.proved {
		i.loop.proved = i.prover.Proved()
		f(i.loop.proved)
	}
	i.loop.votes(now, votes)
	i.loop.rename(now, inc)
}

func (i *host) Writing() bool { return i.loop.disk.asked > i.loop.disk.done.Load() }

func (i *host) Hold(now protocol.Time, to protocol.Rank, m protocol.Message) {
	i.loop.held.Add(i.loop.disk.asked, held{from: (*Instance)(i), to: to, message: m, sent: now})
}

func (i *host) Send(now protocol.Time, out []protocol.Envelope) {
	for n := range out {
		i.loop.dispatch((*Instance)(i), now, out[n].To, out[n].Message)
	}
}

func (i *host) Answer(now protocol.Time, a *protocol.Answer) { i.sink.Answer(now, a) }

func (i *host) Wake(_, at protocol.Time) {
	i.wake = at
	i.loop.wakes.set((*Instance)(i))
}

func (i *host) Facts(now protocol.Time, facts []protocol.Fact) {
	if f := i.loop.Facts; f != nil {
		f(now, i.channel, facts)
	}
}

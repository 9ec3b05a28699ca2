package sim

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Port is one member's end of what lies between its machine and the links: the datagram layer and the codec. A world
// without ports passes messages as they are and takes the bound on their delay from what it knows (Bound).
//
// A port lives as long as its member's incarnation. It is called with the clock samples that the member sees.
type Port interface {
	// Send takes a message that the machine sent in the Step at now; a message held for the disk comes later, but with the
	// now of its Step. The message may not be kept.
	Send(now protocol.Time, from protocol.Ident, to protocol.Rank, m protocol.Message)
	// Receive takes a packet that came over the link from the given member. It fills in what the machine is to receive, or
	// returns false if that is nothing. What it fills in may be used again at the next call.
	Receive(now protocol.Time, from protocol.Rank, packet []byte, to *protocol.Receive) bool
	// Tick says that the port's wake has come.
	Tick(now protocol.Time)
	// Rekey puts keys in force. It keeps nothing of them.
	Rekey(k *Keys)
	// Restart makes the port that of another start of the member, which does not know its incarnation.
	Restart(now protocol.Time, start protocol.StartBits)
	// Wake returns when the port wants a Tick; asked after every call. Never if it wants none.
	Wake() protocol.Time
}

// NewPort returns the port of one incarnation. put hands a packet to the link; it copies the packet.
type NewPort func(b Boot, put func(to protocol.Rank, packet []byte)) Port

// Bound is where Receive.Delay comes from in a world without ports: the true delay and some slack, as much as a bound
// from echoes would have.
type Bound struct {
	Slack Delay
	// Unknown is how often nothing is proven.
	Unknown Odds
	// Old delivers messages of earlier incarnations as well; otherwise a message of a lower incarnation than the highest
	// that the receiver has heard of the sender is dropped, as the datagram layer does. Incarnation zero is exempt.
	Old bool
	// Dedupe drops what has been delivered before to the same incarnation, as the datagram layer does.
	Dedupe bool
}

// bound draws a bound on the delay of what was sent at the given instant and is received by m now.
func (w *World) bound(m *member, sent Real) time.Duration {
	b := &w.config.Bound
	if b.Unknown > 0 && m.dice.Hit(b.Unknown) {
		return protocol.Unknown
	}
	return w.now.Sub(sent) + m.dice.Draw(b.Slack)
}

// receive hands m what a link brought.
func (w *World) receive(m *member, e *event) {
	r := &w.incoming
	if e.by.setting != m.setting {
		w.refuse(e, "another configuration")
		return
	}
	if m.port != nil && e.from.Rank != m.rank {
		now := m.clock.Sample(w.now)
		ok := m.port.Receive(now, e.from.Rank, e.data, r)
		w.armPort(m)
		if !ok {
			w.refuse(e, "port")
			return
		}
		w.accept(m, e, now)
		return
	}
	if heard := &m.heard[e.from.Rank]; !w.config.Bound.Old && e.from.Inc != 0 {
		if e.from.Inc < *heard {
			w.refuse(e, "old incarnation")
			return
		}
		*heard = e.from.Inc
	}
	if w.config.Bound.Dedupe && m.seen[e.id] {
		w.refuse(e, "duplicate")
		return
	}
	if w.config.Bound.Dedupe {
		m.seen[e.id] = true
	}
	*r = protocol.Receive{From: e.from, Message: e.msg, Delay: w.bound(m, e.sent)}
	w.accept(m, e, m.clock.Sample(w.now))
}

// accept lets the machine of m receive what is in w.incoming.
func (w *World) accept(m *member, e *event, now protocol.Time) {
	w.stats.Delivered++
	if w.config.Messages {
		p := envelope{from: e.from, sent: e.sent, msg: w.incoming.Message, id: e.id}
		w.tell(&p, m.rank, EvDeliver, "")
	}
	w.stepAt(m, now, &w.incoming)
	w.remember(m, e)
}

// refuse records what came but was not taken.
func (w *World) refuse(e *event, why string) {
	w.stats.Refused++
	if w.config.Messages {
		w.tell(&envelope{from: e.from, sent: e.sent, msg: e.msg, data: e.data, id: e.id}, e.to, EvDrop, why)
	}
}

// send puts a message of m on its way: at is the clock sample, sent the instant, of the Step that sent it.
func (w *World) send(m *member, to protocol.Rank, msg protocol.Message, at protocol.Time, sent Real) {
	if m.port == nil || to == m.rank {
		w.carry(envelope{from: protocol.Ident{Rank: m.rank, Inc: m.inc}, sent: sent, msg: msg, by: m.origin()}, to)
		return
	}
	m.sending, w.inside = sent, msg
	m.port.Send(at, protocol.Ident{Rank: m.rank, Inc: m.inc}, to, msg)
	m.sending, w.inside = none, nil
	w.armPort(m)
}

// put is what a port's packets go through.
func (w *World) put(m *member, to protocol.Rank, packet []byte) {
	sent := w.now
	if m.sending != none {
		sent = m.sending
	}
	data := append([]byte(nil), packet...)
	w.carry(envelope{from: protocol.Ident{Rank: m.rank, Inc: m.inc}, sent: sent, data: data, by: m.origin()}, to)
}

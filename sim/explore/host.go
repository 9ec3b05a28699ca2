package explore

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
)

// A host carries out what a member's machine asks for in one turn. Horizons and answers are of no interest here, and what
// is written is on disk at once.
type host struct {
	drive.Ignore
	w     *world
	m     *member
	as    protocol.Inc
	queue []protocol.Event // what the machine takes next
}

func (h *host) Machine() (protocol.Machine, protocol.Incarnate) {
	h.as = h.m.inc
	who, _ := h.m.machine.(protocol.Incarnate)
	return h.m.machine, who
}

func (h *host) As(_ protocol.Time, inc protocol.Inc) { h.as = inc }

func (h *host) View(_ protocol.Time, v *protocol.View) { h.m.see(v, h.w.options.Group) }

func (h *host) Persist(_ protocol.Time, record []byte) {
	h.m.record = append([]byte(nil), record...)
	h.queue = append(h.queue, protocol.Persisted{})
}

func (h *host) Incarnation(_ protocol.Time, inc protocol.Inc, _ protocol.Time) { h.m.inc = inc }

// Send puts messages on the way. Those to oneself join the queue.
func (h *host) Send(_ protocol.Time, out []protocol.Envelope) {
	w, m := h.w, h.m
	me := protocol.Ident{Rank: m.rank, Inc: m.inc}
	var last, kept protocol.Message
	for i := range out {
		e := &out[i]
		if e.Message != last {
			last, kept = e.Message, e.Message.Copy()
		}
		switch {
		case e.To == m.rank:
			h.queue = append(h.queue, &protocol.Receive{From: me, Message: kept, Delay: protocol.Unknown})
		case w.ledger.origin == 0 || !w.options.cut(m.rank, e.To):
			sent := message{from: me, to: e.To, what: kept, hash: hashMessage(me, e.To, kept)}
			if w.options.Realm != nil {
				sent.realm = w.options.Realm(m.machine)
				sent.hash = hash(append(sent.hash[:], sent.realm[:]...))
			}
			w.net = append(w.net, &sent)
		}
	}
}

func (h *host) Wake(now, at protocol.Time) { h.m.stepped, h.m.wake = now, at }

func (h *host) Facts(_ protocol.Time, facts []protocol.Fact) {
	me := protocol.Ident{Rank: h.m.rank, Inc: h.as}
	for i := range facts {
		if err := h.w.ledger.take(h.w, me, &facts[i]); err != nil && h.w.broken == nil {
			h.w.broken = err
		}
	}
}

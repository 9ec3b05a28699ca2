package sim

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
)

// A host carries out what a member's machine asks for.
type host struct {
	w *World
	m *member
}

func (h *host) Machine() (protocol.Machine, protocol.Incarnate) { return h.m.machine, h.m.incarnate }

func (h *host) As(_ protocol.Time, inc protocol.Inc) { h.m.as, h.m.inc = inc, inc }

func (h *host) View(now protocol.Time, v *protocol.View) { h.w.publish(h.m, now, v) }

func (h *host) Horizon(_ protocol.Time, x protocol.Horizon) { h.m.reader.Move(x) }

func (h *host) Published(protocol.Time) {}

func (h *host) Persist(_ protocol.Time, record []byte) { h.w.persist(h.m, record) }

func (h *host) Incarnation(_ protocol.Time, inc protocol.Inc, _ protocol.Time) {
	h.m.inc = inc
	h.m.forgetful = h.m.forgetful && inc == 0
}

func (h *host) Writing() bool { return h.m.disk.busy() }

func (h *host) Hold(now protocol.Time, to protocol.Rank, msg protocol.Message) {
	if h.known(to, msg) {
		h.m.disk.hold(to, msg, now, h.w.now)
	}
}

// Send sends messages. One to several members is copied once: receivers may not change it.
func (h *host) Send(now protocol.Time, out []protocol.Envelope) {
	w, m := h.w, h.m
	var last, kept protocol.Message
	for i := range out {
		e := &out[i]
		switch {
		case !h.known(e.To, e.Message):
			return
		case m.port != nil && e.To != m.rank:
			w.send(m, e.To, e.Message, now, w.now)
			continue
		case e.Message != last:
			last, kept = e.Message, e.Message.Copy()
		}
		w.send(m, e.To, kept, now, w.now)
	}
}

// known says whether there is such a member. It is against the contract to send anything to another.
func (h *host) known(to protocol.Rank, msg protocol.Message) bool {
	n := len(h.w.members)
	if int(to) < n {
		return true
	}
	h.w.fail(fmt.Errorf("contract: %v sends %s to member %d of %d", h.m.rank, msg.Name(), to, n))
	return false
}

func (h *host) Answer(_ protocol.Time, a *protocol.Answer) { h.w.answer(h.m, a) }

func (h *host) Wake(_, at protocol.Time) {
	h.m.wake = at
	h.w.arm(h.m)
}

func (h *host) Facts(_ protocol.Time, facts []protocol.Fact) {
	for i := range facts {
		h.w.fact(h.m, h.m.as, &facts[i])
	}
}

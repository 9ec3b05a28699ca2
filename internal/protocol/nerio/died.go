package nerio

import (
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// onDied takes the report that one incarnation of another member is dead. It counts for the incarnation that this member heard last: the
// promises to any other stand until they lapse.
func (m *Machine) onDied(now protocol.Time, who protocol.Ident, r *obituary.Report) {
	if who.Rank == m.cfg.Me || who.Inc == 0 || who.Inc != m.start.peers[who.Rank].life.Inc {
		return
	}
	if !m.grantor.Died(now, who, r) {
		return
	}
	m.out.Facts = append(m.out.Facts, protocol.Fact{Ev: protocol.EvDied, Dom: protocol.Quorum, Peer: who})
	if who.Rank == m.trusted && who.Rank != m.lapsed {
		m.lapsed = who.Rank // the elector will notice later
		m.considerAll(now)
	}
}

// Proved returns the instant of this member's clock until which a proof may be believed that it has given (N-VER). A driver with a guardian
// shows it that before the proof leaves: a report that the member is dead must not come sooner.
func (m *Machine) Proved() protocol.Time { return m.holder.Proved() }

package members

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

// Fixed is a member that cannot follow a change of its council, because it keeps no record. It tells that those that ask it for a
// promise: a change that went on without it would leave it behind for good.
type Fixed struct{ *nerio.Machine }

// Owns says whether a message is one of this machine's.
func (f Fixed) Owns(msg protocol.Message) bool { return council.Owns(msg) || f.Machine.Owns(msg) }

// Step implements protocol.Machine.
func (f Fixed) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	r, ok := ev.(*protocol.Receive)
	if !ok || !council.Owns(r.Message) {
		f.Machine.Step(now, ev, out)
		return
	}
	if p, ok := r.Message.(*council.Prepare); ok && f.Incarnation() != 0 {
		out.Send = append(out.Send, protocol.Envelope{To: r.From.Rank, Message: &council.Refused{Slot: p.Slot, Ballot: p.Ballot, Fixed: true}})
	}
	f.Machine.Step(now, protocol.Tick{}, out)
}

package regent

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/detect"
	"github.com/regentproject/regent/internal/protocol/eligible"
)

// newDetector makes the machine that finds out who is alive. One member says so for all each Heartbeat and the others answer,
// which is all that it costs: 2(n-1) messages. Its timers are its own: they share packets with other machines only by chance.
func (m *Member) newDetector(_, _ protocol.Time, inc protocol.Inc) (protocol.Machine, error) {
	t, s := m.timing(), m.council().shape()
	detector := func(self protocol.Rank, members int) (protocol.Machine, error) {
		c := detect.Config{Self: self, Members: members, Inc: inc, Period: t.Heartbeat, Delta: t.Suspect - t.Heartbeat, Rho: t.rho()}
		c.Expiry = max(c.Delta/2, c.Delta-t.Delay)
		return detect.New(c)
	}
	if s.Present == protocol.Everyone(s.Members) {
		return detector(s.Self, s.Members)
	}
	return eligible.New(eligible.Config{Self: s.Self, Members: s.Present, Repeat: 4 * t.Renew}, detector)
}

// trusted returns the members that count as alive.
func (m *Member) trusted() protocol.Set {
	if m.alive == nil { // an engine elects
		return protocol.NewSet(m.council().self)
	}
	if c := m.alive.Group("").Latest(); c != nil && c.Support != nil {
		return *c.Support
	}
	return protocol.NewSet(m.council().self)
}

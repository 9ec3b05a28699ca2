package regent

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/detect"
)

// newDetector makes the machine that finds out who is alive. One member says so for all each Heartbeat and the others answer,
// which is all that it costs: 2(n-1) messages. Its timers are its own: they share packets with other machines only by chance.
func (m *Member) newDetector(_, _ protocol.Time, inc protocol.Inc) (protocol.Machine, error) {
	t := &m.config.Timing
	c := detect.Config{Self: m.council.self, Members: len(m.council.peers), Inc: inc, Period: t.Heartbeat, Delta: t.Suspect - t.Heartbeat, Rho: t.rho()}
	c.Expiry = max(c.Delta/2, c.Delta-t.Delay)
	return detect.New(c)
}

// trusted returns the members that count as alive.
func (m *Member) trusted() protocol.Set {
	if c := m.alive.Group("").Latest(); c != nil && c.Support != nil {
		return *c.Support
	}
	return protocol.NewSet(m.council.self)
}

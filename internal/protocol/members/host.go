package members

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

// host is what the council asks of the leases.
type host Machine

func (h *host) Inc() protocol.Inc { return (*Machine)(h).Incarnation() }

func (h *host) Highest() uint64 {
	if h.leases == nil {
		return 0
	}
	return h.leases.Highest()
}

func (h *host) Promised() protocol.Time {
	if h.leases == nil {
		return 0
	}
	return h.leases.Promised()
}

func (h *host) Leads() (leads, assigned uint32) {
	if h.leases == nil {
		return 0, 0
	}
	return h.leases.Leads()
}

// Adopt makes the leases of a member that has joined, or lets them go on.
func (h *host) Adopt(now protocol.Time, c *council.Config, seat protocol.Rank) {
	cfg := (*Machine)(h).under(c, seat)
	if h.leases != nil {
		h.leases.Adopt(now, cfg, c.Floor, h.out)
		return
	}
	cfg.Bootstrap = false
	leases, err := nerio.New(cfg, nil, h.seed)
	if err != nil {
		return // the terms of the council are checked: only the member's own settings can be wrong
	}
	h.leases, h.born = leases, true
}

func (h *host) Carried(number uint64) bool {
	return h.cfg.Carried == nil || h.cfg.Carried(number)
}

func (h *host) CaughtUp(now protocol.Time) {
	if h.leases != nil {
		h.leases.CaughtUp(now)
	}
}

func (h *host) Raise(now protocol.Time, floor uint64) { h.leases.Settled(now, floor, h.out) }

func (h *host) Recovered(_ protocol.Time, floor uint64) { h.leases.Recovered(floor) }

func (h *host) Begun() bool { return h.leases != nil && h.leases.Recorded() }

func (h *host) Withhold() { h.leases.Withhold() }

func (h *host) Distrust(now protocol.Time) { h.leases.Distrust(now, h.out) }

// Hold does nothing while the member has no leases: then it has no seat either.
func (h *host) Hold(now, until protocol.Time) {
	if h.leases != nil {
		h.leases.Hold(now, until, h.out)
	}
}

// Leave makes the leases give up at once, and ends them with the next Step.
func (h *host) Leave(now protocol.Time) {
	h.close = true
	if h.leases != nil {
		h.leases.Leave(now, h.out)
	}
}

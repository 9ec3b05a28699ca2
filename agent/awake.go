package agent

import (
	"io"
	"log/slog"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/plan"
)

// holdAwake keeps the processors from deep sleep if the timing needs that: an idle host that wakes up late costs short leases. It returns
// nil if it holds nothing. An agent that wants ordinary scheduling wants ordinary sleep, too.
func holdAwake(t regent.Timing, ordinary bool, hold func() (io.Closer, error), log *slog.Logger) io.Closer {
	if ordinary || !plan.HoldAwake(t) {
		return nil
	}
	c, err := hold()
	if err != nil {
		log.Info("the processors of this host may sleep deeply and wake up late, which costs short leases: let the agent open /dev/cpu_dma_latency", "reason", err)
		return nil
	}
	return c
}

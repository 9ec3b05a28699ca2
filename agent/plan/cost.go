package plan

import (
	"fmt"
	"time"

	"github.com/regentproject/regent"
)

// A Cost is what a council uses, all members together, while one of them leads and nothing happens.
type Cost struct {
	Packets float64 `json:"packets_per_second"`
	// Processor is an estimate, in cores.
	Processor float64 `json:"cores"`
}

// perPacket is what a packet costs its sender and its receiver, with the waits around it: the idle councils of docs/performance.md used 7.7 to 10.3 %
// of a core at 280 packets a second, on a virtual machine where a wait alone takes some tens of microseconds.
const perPacket = 350 * time.Microsecond

// costOf counts a request to, and an answer from, each other member for each renewal, and heartbeats in both directions between all pairs that
// are silent for longer than a heartbeat otherwise.
func costOf(t regent.Timing, members int) Cost {
	others := float64(members - 1)
	silent := others * (others - 1)
	if t.Renew > t.Heartbeat {
		silent = others * float64(members) // the leader's pairs, too
	}
	packets := 2*others/t.Renew.Seconds() + silent/t.Heartbeat.Seconds()
	return Cost{Packets: packets, Processor: packets * perPacket.Seconds()}
}

func (c Cost) String() string {
	return fmt.Sprintf("about %s packets/s and %s %% of a core, all members together, for each member that leads", Digits(c.Packets), Digits(100*c.Processor))
}

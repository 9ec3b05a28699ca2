package suite

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
	"github.com/regentproject/regent/internal/protocol/record"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// foundingProtocol is how members agree on the id of their council. Disks are lost, and none is put back from a backup: whose id
// such a member has nobody can tell. Clocks are within their drift.
func foundingProtocol() *Protocol {
	const settle = 4 * time.Second
	return &Protocol{
		Name:       "founding",
		About:      "members agree on the id of their council",
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn:      spawnFounding,
		Messages:   []string{"founding.Ask", "founding.Tell"},
		Configure:  func(*sim.Config) {},
		Checkers: func(t check.Truth) []check.Checker {
			return []check.Checker{check.NewOneCouncil(), check.NewFounded(t.Members(), settle)}
		},
		Faults: []Weight{
			{sim.Crash, 20}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Cut, 6}, {sim.Partition, 4}, {sim.Slow, 8}, {sim.Lose, 4},
			{sim.Duplicate, 6}, {sim.Rate, 3},
		},
		Disks:  []sim.Disk{sim.Kept, sim.Lost},
		Timely: 20 * time.Millisecond,
		Settle: settle,
		Core:   func(n int) int { return n },
		Rows:   []string{MessageLate, MessageLost, MessageTwice, ClockFast, ClockSlow, idDrawn, idAdopted, idTaken, idNamed, idKept},
		Least:  map[string]int{idAdopted: 2, idTaken: 2, idNamed: 3},
		Watch:  func(_ check.Truth, hit func(string)) sim.Observer { return foundingWatch(hit) },
	}
}

// The rows of its own.
const (
	idDrawn   = "council id drawn"
	idAdopted = "council id adopted"
	idTaken   = "council id taken"
	idNamed   = "council id named"
	idKept    = "council id kept"
)

func spawnFounding(b sim.Boot) (protocol.Machine, error) {
	c := founding.Config{Me: b.Self, Quorums: protocol.Majority(b.Members), Bootstrap: true, Retry: 200 * time.Millisecond}
	binary.BigEndian.PutUint64(c.Drawn[:], b.Seed)
	c.Drawn[15] = 1
	if b.Record != nil {
		r, err := record.Decode(b.Record)
		if err != nil && !errors.Is(err, record.ErrDamaged) {
			return nil, err
		}
		c.ID = r.Council
	}
	return founding.New(c, b.Seed)
}

// foundingWatch covers the ways to an id.
type foundingWatch func(row string)

// Observe looks at ids.
func (hit foundingWatch) Observe(r *sim.Record) error {
	if r.Ev == protocol.EvCouncil {
		hit("council id " + r.Why)
	}
	return nil
}

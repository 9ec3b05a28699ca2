package regent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/wire"
)

// local returns the configuration of a member's machines of local groups.
func (c *Config) local(all *council, inc protocol.Inc) hall.Config {
	h := hall.Default(all.self, all.seats(), inc, all.timing(&c.Timing).local())
	h.StopWithin = 0 // the runtime ends the renewals
	h.Calm, h.Rotate, h.Arity = c.Calm, c.LocalTurns, c.LocalTree
	if c.LocalMajority {
		// Only members that may lead take part. Any two majorities of them have a member in common.
		leaders := all.leaders()
		h.Supporters = hall.Majority(leaders.Len())
	}
	h.Timing = h.Timing.Fit(h.Window())
	return h
}

// checkOptions says what is wrong with options of local groups and of electors.
func (c *Config) checkOptions(all *council) error {
	switch {
	case c.LocalTurns < 0:
		return fmt.Errorf("config: local turns %d: must not be negative (zero: leaders take no turns)", c.LocalTurns)
	case c.LocalTree < 0 || c.LocalTree == 1:
		return fmt.Errorf("config: local tree %d: must be at least 2, the children of each node (zero: no tree)", c.LocalTree)
	case c.ElectorFaults < 0:
		return fmt.Errorf("config: elector faults %d: must not be negative (zero: a minority)", c.ElectorFaults)
	case c.ElectorPatience < 0:
		return fmt.Errorf("config: elector patience %d: must not be negative (zero: %d)", c.ElectorPatience, defaultPatience)
	}
	if !c.LocalMajority && c.LocalTurns == 0 && c.LocalTree == 0 {
		return nil // councils whose timing does not suit local groups may do without: campaigns there are refused
	}
	h := c.local(all, 1)
	if err := h.Check(); err != nil {
		return fmt.Errorf("config: local groups: %w", err)
	}
	return nil
}

// options adds to a summary what all members must agree on. Councils without an option have the digest that they always had.
func (c *Config) options(s *wire.Summary) {
	var local, electors []string
	if c.LocalMajority {
		local = append(local, "majority")
	}
	for _, o := range []struct {
		list  *[]string
		name  string
		value int
	}{{&local, "turns", c.LocalTurns}, {&local, "tree", c.LocalTree}, {&electors, "faults", c.ElectorFaults}, {&electors, "patience", c.ElectorPatience}} {
		if o.value != 0 {
			*o.list = append(*o.list, o.name+" "+strconv.Itoa(o.value))
		}
	}
	if len(local) > 0 {
		s.Set("local options", strings.Join(local, ", "))
	}
	if len(electors) > 0 {
		s.Set("elector options", strings.Join(electors, ", "))
	}
}

// votes returns how many votes the member has.
func votesOf(p *Peer) int {
	if p.Observer {
		return 0
	}
	return max(1, p.Votes)
}

// quorumVotes returns how many votes make a quorum.
func (c *council) quorumVotes() int {
	if c.changed() {
		voters := c.voters()
		return voters.Len()/2 + 1
	}
	roles := c.roles()
	return roles.Needed()
}

// Kappa is within what time every part of the network that holds together has a local leader, with the options of the
// configuration; zero if the council is wrong. [Timing.Kappa] is without them.
func (c *Config) Kappa() time.Duration {
	all, err := c.council()
	if err != nil {
		return 0
	}
	h := c.local(all, 1)
	return h.Kappa()
}

// checkVotes refuses votes that make no quorum system.
func (c *council) checkVotes() error {
	for i := range c.peers {
		switch p := &c.peers[i]; {
		case p.Votes < 0:
			return fmt.Errorf("config: member %s has %d votes: must not be negative (zero is one vote)", p.Name, p.Votes)
		case p.Votes > 0 && p.Observer:
			return fmt.Errorf("config: member %s is an observer and has %d votes: an observer has none (leave votes out)", p.Name, p.Votes)
		}
	}
	roles := c.roles()
	err := roles.Check()
	var apart *protocol.DisjointError
	if errors.As(err, &apart) {
		return fmt.Errorf("config: quorum votes %d: %s have as many, and so have %s without any of them: two members could lead at once (set at least %d, or leave it out)",
			apart.Need, strings.Join(c.set(apart.A), " and "), strings.Join(c.set(apart.B), " and "), roles.Total()/2+1)
	}
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	return nil
}

package council

import (
	"errors"
	"fmt"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// Check returns what is wrong with a configuration by itself.
func (c *Config) Check() error {
	names := make(map[string]bool, len(c.Members))
	last := -1
	for i := range c.Members {
		m := &c.Members[i]
		switch {
		case int(m.Seat) <= last || m.Seat >= protocol.MaxMembers:
			return fmt.Errorf("council: seat %d of %q: must be above the one before, and below %d", m.Seat, m.Name, protocol.MaxMembers)
		case m.Name == "" || names[m.Name]:
			return fmt.Errorf("council: member name %q: names must be unique and not empty", m.Name)
		case m.Weight < 0 || m.Weight > MaxWeight:
			return fmt.Errorf("council: weight %d of %q: must be 0 to %d", m.Weight, m.Name, MaxWeight)
		case len(m.Addrs) > maxAddrs:
			return fmt.Errorf("council: %d addresses of %q: at most %d", len(m.Addrs), m.Name, maxAddrs)
		}
		names[m.Name], last = true, int(m.Seat)
	}
	if s := c.Leaders(); s.Empty() {
		return errors.New("council: no member may lead: give one the role leader")
	}
	if c.Floor > lease.MaxTerm {
		return fmt.Errorf("council: floor %d: at most %d", c.Floor, uint64(lease.MaxTerm))
	}
	return c.Terms.check()
}

func (t *Terms) check() error {
	if t.Longest <= 0 {
		return fmt.Errorf("council: longest promise %v: must be positive", t.Longest)
	}
	return t.Rho.Check()
}

// CheckStep returns why to is no step from c: rules C1 to C3. Acceptors ask it of every value.
func (c *Config) CheckStep(to *Config) error {
	if err := to.Check(); err != nil {
		return err
	}
	if n := len(to.Append(nil)); n > MaxConfig {
		return fmt.Errorf("%w: its configuration takes %d bytes, and at most %d fit", ErrTooLarge, n, MaxConfig)
	}
	voters := c.Voters()
	switch {
	case to.Council != c.Council:
		return fmt.Errorf("council: a step to council %v: this one is %v", to.Council, c.Council)
	case to.Number != c.Number+1:
		return fmt.Errorf("council: a step from number %d to %d: numbers are not skipped", c.Number, to.Number)
	case to.Floor < c.Floor:
		return fmt.Errorf("council: floor %d after %d: must not fall", to.Floor, c.Floor)
	case to.Before != voters:
		return fmt.Errorf("council: voters before %v: must be %v", to.Before, voters)
	case !slices.Equal(to.Former, c.former(to)):
		return fmt.Errorf("council: members before %v: must be %v", to.Former, c.former(to))
	case !c.sameParents(to):
		return errors.New("council: a step changes what councils were given up before")
	}
	moved := 0
	for i := range c.Members {
		n, err := c.Members[i].follow(to)
		if err != nil {
			return err
		}
		moved += n
	}
	for i := range to.Members {
		m := &to.Members[i]
		if c.holds(m) {
			continue
		}
		switch {
		case c.At(m.Seat) != nil:
			return fmt.Errorf("council: %q takes the seat of %q: a seat must have been empty for a number", m.Name, c.At(m.Seat).Name)
		case m.Role.votes():
			return fmt.Errorf("council: %q comes as %v: newcomers are observers first", m.Name, m.Role)
		case m.Since != to.Number:
			return fmt.Errorf("council: %q has its seat since %d: a newcomer has it since %d", m.Name, m.Since, to.Number)
		}
	}
	if moved > 1 {
		return fmt.Errorf("council: %d votes change: a step changes one at most", moved)
	}
	return nil
}

// follow returns how many votes a member gains or loses by the step to a configuration, or why that is no step.
func (m *Member) follow(to *Config) (int, error) {
	n := to.At(m.Seat)
	switch {
	case n != nil && n.Birth == m.Birth && n.Name != m.Name:
		return 0, fmt.Errorf("council: %q is called %q: members keep their names", m.Name, n.Name)
	case n != nil && n.Birth == m.Birth && n.Since != m.Since:
		return 0, fmt.Errorf("council: %q has its seat since %d, not %d", m.Name, m.Since, n.Since)
	case n != nil && n.Birth == m.Birth && n.Role.votes() != m.Role.votes():
		return 1, nil
	case n != nil && n.Birth == m.Birth:
		return 0, nil
	case to.born(m):
		return 0, fmt.Errorf("council: %q leaves seat %d for another: members keep their seats", m.Name, m.Seat)
	case m.Role.votes():
		return 0, fmt.Errorf("council: %q leaves as %v: a voter becomes an observer first", m.Name, m.Role)
	}
	return 0, nil
}

// holds says whether a member has the same seat and birth here.
func (c *Config) holds(m *Member) bool {
	x := c.At(m.Seat)
	return x != nil && x.Birth == m.Birth && x.Name == m.Name && x.Since == m.Since
}

// born says whether a member has a seat here, whichever.
func (c *Config) born(m *Member) bool {
	x := c.Named(m.Name)
	return x != nil && x.Birth == m.Birth
}

package members

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

// Clone implements protocol.Explorable. The copy is for use after a Step, not within one.
func (m *Machine) Clone() protocol.Machine {
	c := *m
	c.pending, c.wishes = slices.Clone(m.pending), slices.Clone(m.wishes)
	if m.leases != nil {
		c.leases = m.leases.Clone().(*nerio.Machine)
	}
	if m.council != nil {
		c.council = m.council.Clone((*host)(&c))
	}
	return &c
}

// AppendState implements protocol.Explorable. Instants are encoded relative to the last Step.
func (m *Machine) AppendState(b []byte) []byte {
	s := lease.State{B: b, Now: m.now, Past: m.cfg.Council.Dead + m.cfg.Council.Quiet}
	s.Bool(m.leases != nil)
	s.Bool(m.born)
	s.Bool(m.close)
	s.Uint(uint64(len(m.wishes)))
	s.Uint(uint64(len(m.pending)))
	for _, p := range m.pending {
		s.Uint(p)
	}
	if m.council != nil {
		m.council.AppendState(&s)
	}
	if m.leases != nil {
		return m.leases.AppendState(s.B)
	}
	return s.B
}

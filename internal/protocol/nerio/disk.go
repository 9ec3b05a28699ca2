package nerio

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/record"
)

// disk is the durable record and what has been asked of it.
type disk struct {
	record record.Record
	had    bool // a record was there at the start
	dirty  bool
	// pending lists the ceilings of the records that are not yet on disk, oldest first.
	pending []uint64
}

// write asks for the record to be made durable, if that is needed.
func (m *Machine) write() {
	if m.cfg.Diskless || m.start.phase < writing {
		return
	}
	r := &m.disk.record
	if c := m.terms.Ceiling(r.Ceiling); c != r.Ceiling {
		r.Ceiling, m.disk.dirty = c, true
	}
	if !m.disk.dirty {
		return
	}
	m.disk.dirty = false
	m.disk.pending = append(m.disk.pending, r.Ceiling)
	m.out.Persist = r.Append(m.out.Persist[:0])
}

func (m *Machine) onPersisted(now protocol.Time) {
	if len(m.disk.pending) == 0 {
		return
	}
	m.terms.Durable = max(m.terms.Durable, m.disk.pending[0])
	m.disk.pending = append(m.disk.pending[:0], m.disk.pending[1:]...)
	if m.start.phase == writing {
		m.speak(now)
	}
}

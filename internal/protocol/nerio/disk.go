package nerio

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/record"
)

// disk is the durable record and what has been asked of it.
type disk struct {
	record record.Record
	had    bool // a record was there at the start
	dirty  bool
	// pending lists the records that are not yet on disk, oldest first.
	pending []pending
}

// pending is what a record on its way to the disk will make durable.
type pending struct {
	inc      protocol.Inc
	ceiling  uint64
	promised time.Duration
}

// write asks for the record to be made durable, if that is needed.
func (m *Machine) write() {
	r := &m.disk.record
	if m.cfg.Diskless || m.start.phase < writing && !r.Void {
		return
	}
	if !m.closing.noted {
		if c := m.terms.Ceiling(m.now, r.Ceiling); c != r.Ceiling {
			r.Ceiling, m.disk.dirty = c, true
		}
		if d := m.reach.Next(&m.lcfg, m.now); d != r.Promised {
			r.Promised, m.disk.dirty = d, true
		}
	}
	if !m.disk.dirty {
		return
	}
	m.disk.dirty = false
	m.disk.pending = append(m.disk.pending, pending{r.Inc, r.Ceiling, r.Promised})
	m.out.Persist = r.Append(m.out.Persist[:0])
}

// onPersisted notes what is durable now. A record that was on its way when the member turned out to be stale is of an
// incarnation that is over, and says nothing of the one that follows.
func (m *Machine) onPersisted(now protocol.Time) {
	if len(m.disk.pending) == 0 {
		return
	}
	first := m.disk.pending[0]
	m.disk.pending = append(m.disk.pending[:0], m.disk.pending[1:]...)
	if first.inc != m.start.inc {
		return
	}
	m.terms.Durable, m.reach.Durable = first.ceiling, first.promised
	for _, p := range m.disk.pending { // it may be on disk already
		m.terms.Durable, m.reach.Durable = min(m.terms.Durable, p.ceiling), min(m.reach.Durable, p.promised)
	}
	if m.start.phase == writing {
		m.speak(now)
	}
}

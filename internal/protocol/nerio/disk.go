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
	// pending lists the records that are not yet on disk, oldest first, and raised says that the ceiling was raised because they are overdue.
	pending []pending
	raised  bool
}

// pending is what a record on its way to the disk will make durable, and since when it is.
type pending struct {
	inc      protocol.Inc
	ceiling  uint64
	promised time.Duration
	since    protocol.Time
}

// OverdueAfter is how long a record may take to be written before the member asks for as many terms ahead as there are. A disk that is
// full, or fails, takes longer. The runtime uses room that is reserved for records only after that time.
const OverdueAfter = 2 * time.Second

// due returns when a record that is on its way is overdue.
func (d *disk) due() protocol.Time {
	if len(d.pending) == 0 || d.raised {
		return protocol.Never
	}
	return d.pending[0].since.Add(OverdueAfter)
}

// writeDue returns when the member has to ask for more terms ahead because the disk does not write.
func (m *Machine) writeDue() protocol.Time {
	if r := &m.disk.record; m.cfg.Diskless || m.cfg.TermStep != 0 || m.closing.noted || r.Void || m.start.phase < writing {
		return protocol.Never
	}
	return m.disk.due()
}

// write asks for the record to be made durable, if that is needed.
func (m *Machine) write() {
	r := &m.disk.record
	if m.cfg.Diskless || m.start.phase < writing && !r.Void {
		return
	}
	if !m.closing.noted {
		c := m.terms.Ceiling(m.now, r.Ceiling)
		if m.now >= m.writeDue() {
			c, m.disk.raised = m.terms.Overdue(m.now, c), true
		}
		if c != r.Ceiling {
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
	m.disk.pending = append(m.disk.pending, pending{r.Inc, r.Ceiling, r.Promised, m.now})
	m.out.Persist = r.Append(m.out.Persist[:0])
}

// TermsLeft returns how many terms the member can accept before its disk has to write again.
func (m *Machine) TermsLeft() uint64 { return m.terms.Left() }

// onPersisted notes what is durable now. A record that was on its way when the member turned out to be stale is of an
// incarnation that is over, and says nothing of the one that follows.
func (m *Machine) onPersisted(now protocol.Time) {
	if len(m.disk.pending) == 0 {
		return
	}
	first := m.disk.pending[0]
	m.disk.pending, m.disk.raised = append(m.disk.pending[:0], m.disk.pending[1:]...), false
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

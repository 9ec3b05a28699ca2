package nerio

import "github.com/regentproject/regent/internal/protocol"

// closing is how far the member has got in leaving.
type closing struct {
	on bool
	// quiet says that nothing is led any more. Releases that nobody answers are given up at patience, which due is until
	// it has come.
	quiet         bool
	patience, due protocol.Time
	// noted says that the last record was handed to the disk: nothing is accepted or promised any more, and its bounds are exact.
	noted, done bool
}

func (m *Machine) onClose(now protocol.Time) {
	if m.closing.on {
		return
	}
	m.closing.on = true
	cause := protocol.Cause{Code: protocol.Closed, Peer: m.cfg.Me}
	for len(m.wanted) > 0 {
		m.giveUp(now, m.wanted[0], protocol.Nobody, cause)
	}
}

// onClosing goes on leaving: once nothing is led, nothing more is granted, and the last record states what stands of what was
// granted, unless the member does not know that because it has only just started. It does not wait for that to be over: the next start
// does, and until then a member that stops at once and comes back is of more use than one that is still stopping.
func (m *Machine) onClosing(now protocol.Time) {
	c := &m.closing
	if !c.on || c.done || m.holder.Active() {
		return
	}
	if !m.speaks() {
		c.done, c.due = m.start.phase != writing, protocol.Never
		return
	}
	if !c.quiet {
		c.quiet, c.patience = true, now.Add(m.lcfg.Rho.WaitAtLeast(4*m.cfg.RoundTrip))
		c.due = c.patience
		m.grantor.Close()
	}
	if now >= c.patience {
		c.due = protocol.Never
	}
	if m.holder.Releasing() && now < c.patience {
		return
	}
	c.due = protocol.Never
	switch {
	case m.cfg.Diskless, now < m.grantor.ReadyAt() && !c.noted:
		// What an earlier incarnation granted may stand until the wait is over. This one does not know, and leaves no note.
		c.done = true
	case !c.noted:
		c.noted = true
		m.note(now)
	case len(m.disk.pending) == 0:
		c.done = true
	}
}

// note puts into the record what the next start has to know: the highest term that was used, and for how long what was granted stands.
func (m *Machine) note(now protocol.Time) {
	r := &m.disk.record
	r.Clean, r.Promised, m.disk.dirty = true, 0, true
	if m.grantor.Outstanding() {
		r.Promised = m.lcfg.Rho.RealAtMost(m.grantor.Promised().Sub(now))
	}
	r.Ceiling = m.terms.Used
	m.terms.Durable = min(m.terms.Durable, r.Ceiling) // the disk may have it from now on
}

// Closed implements protocol.Closable.
func (m *Machine) Closed() bool { return m.closing.done }

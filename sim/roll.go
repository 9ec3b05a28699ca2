package sim

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// rollDown is how long a member is down that is restarted with another configuration.
const rollDown = 20 * time.Millisecond

// roll restarts all members with another configuration, one after another. A member that is down starts with it when it
// comes back. There is one such restart at a time, so that in the end all members have the same configuration.
func (w *World) roll(f *Fault) {
	if w.now < w.rolling {
		return
	}
	setting := int(f.Amount)
	for i, m := range w.members {
		at := w.now.Add(time.Duration(i) * f.For)
		w.rolling = at.Add(rollDown)
		w.At(at, func() {
			m.setting = setting
			if !m.up {
				return
			}
			w.crash(m)
			life := m.life
			w.At(w.now.Add(rollDown), func() {
				if m.life == life {
					w.start(m)
				}
			})
		})
	}
}

// Remember says how members find out that another was started from an older record.
type Remember struct {
	// By says whether the receiver of the message recognises from then on any start of the sender before this one. Nil: none
	// does, and a known backup is never restored.
	By func(protocol.Message) bool
	// Within is how soon a member that starts from an older record has got the answer that it is old, if nothing keeps the two from
	// talking.
	Within time.Duration
	// Asks, if not nil, says whether a member that starts from a record asks another one, and heeds its answer.
	Asks func(record []byte, who protocol.Rank) bool
}

// A shield keeps two members up, and the links between them whole, until the other has got the answer.
type shield struct {
	a, b  protocol.Rank
	until Real
}

// origin says who sends something of m now.
func (m *member) origin() origin { return origin{m.life, m.setting} }

// remember notes that m will recognise an older record of the sender.
func (w *World) remember(m *member, e *event) {
	if by := w.config.Remember.By; by != nil && e.from.Inc != 0 && w.incoming.Message != nil && by(w.incoming.Message) {
		m.recognises[e.from.Rank] = max(m.recognises[e.from.Rank], e.by.life)
	}
}

// restoreKnown puts back a backup if a member that is up has heard a life after the one that wrote it and can be
// reached; and keeps it so until it has answered. Otherwise the disk stays as it is.
func (w *World) restoreKnown(m *member, back int) {
	d := &m.disk
	if back >= len(d.records) || w.now < w.rolling || slices.ContainsFunc(w.members, func(x *member) bool { return x.forgetful }) {
		return // or two members that have forgotten the same would ask each other
	}
	wrote := d.records[len(d.records)-1-back].life
	for _, x := range w.members {
		if x == m || !x.up || x.closing || x.frozen > 0 || x.setting != m.setting || x.recognises[m.rank] <= wrote {
			continue
		}
		if len(w.link(m.rank, x.rank).mods)+len(w.link(x.rank, m.rank).mods) > 0 {
			continue
		}
		if x.incarnate != nil && x.incarnate.Incarnation() == 0 || !w.asks(d.records[len(d.records)-1-back].record, x.rank) {
			continue
		}
		d.restore(back)
		w.shields = append(w.shields, shield{m.rank, x.rank, w.now.Add(w.config.Remember.Within)})
		return
	}
}

// asks says whether a member that starts from a record asks another one.
func (w *World) asks(record []byte, who protocol.Rank) bool {
	return w.config.Remember.Asks == nil || w.config.Remember.Asks(record, who)
}

// heeded says whether a shield keeps the link from losing anything.
func (w *World) heeded(a, b protocol.Rank) bool {
	for _, s := range w.shields {
		if w.now < s.until && (s.a == a && s.b == b || s.a == b && s.b == a) {
			return true
		}
	}
	return false
}

// shielded says whether a fault would come between two members of which one is to tell the other that its record is old.
func (w *World) shielded(f *Fault) bool {
	for _, s := range w.shields {
		if w.now >= s.until {
			continue
		}
		switch f.Kind {
		case Crash, Pause, Suspend, Halt, Snapshot, Leave:
			if f.A == s.a || f.A == s.b {
				return true
			}
		case Cut, Partition, Slow, Lose, Revoke:
			if f.covers(s.a, s.b) || f.covers(s.b, s.a) {
				return true
			}
		case Roll:
			return true
		}
	}
	return false
}

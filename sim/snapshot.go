package sim

import (
	"encoding/binary"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A snapshot is a virtual machine at one instant: the process, its disk and its clock. Programs are not part of it: one that runs in a
// restored machine may act before it reads its lease again, and only its token protects.
type snapshot struct {
	machine protocol.Machine
	clock   protocol.Time
	disk    disk
	views   []protocol.View
	led     []protocol.Group // by its programs
	setting int
}

// takeSnapshot returns what m is now; nil if its machine cannot be copied.
func (w *World) takeSnapshot(m *member) *snapshot {
	c, ok := m.machine.(interface{ Clone() protocol.Machine })
	if !ok {
		return nil
	}
	s := &snapshot{machine: c.Clone(), clock: m.clock.Sample(w.now) + 1, views: slices.Clone(m.views), setting: m.setting}
	s.disk = disk{records: slices.Clone(m.disk.records), queue: slices.Clone(m.disk.queue), asked: m.disk.asked, written: m.disk.written}
	for _, p := range m.programs {
		s.led = append(s.led, p.group)
	}
	return s
}

// restoreSnapshot lets m go on from a snapshot of it. Its driver notices that before anything else happens, and draws the bits of another
// start. What the driver cannot notice is not modelled: docs/operations.md lists where that is so.
//
// A member that asks rests on others that remember. So all of them speak then, and one of them can be reached until the member has written
// that its record is void: a crash before that is the restore of a backup, which is another fault.
func (w *World) restoreSnapshot(m *member, s *snapshot) {
	if !m.up || m.closing || m.frozen > 0 || m.setting != s.setting || w.now < w.rolling || w.shielded(&Fault{Kind: Crash, A: m.rank, B: protocol.Nobody}) {
		return
	}
	reached := protocol.Nobody
	for _, x := range w.members {
		switch {
		case x == m:
		case !x.up || x.incarnate == nil || x.incarnate.Incarnation() == 0 || x.forgetful:
			return
		case !x.closing && x.frozen == 0 && len(w.link(m.rank, x.rank).mods)+len(w.link(x.rank, m.rank).mods) == 0:
			reached = x.rank
		}
	}
	if reached == protocol.Nobody {
		return
	}
	w.shields = append(w.shields, shield{m.rank, reached, w.now.Add(w.config.Remember.Within)})
	m.life++
	m.hosted++
	m.forgetful = true
	m.machine = s.machine
	m.incarnate, _ = s.machine.(protocol.Incarnate)
	m.closable, _ = s.machine.(protocol.Closable)
	m.clock.reset(w.now, s.clock)
	m.disk.records, m.disk.queue, m.disk.asked, m.disk.written = s.disk.records, s.disk.queue, s.disk.asked, s.disk.written
	m.disk.held.Clear()
	m.views = append(m.views[:0], s.views...)
	w.tellHealth(m) // it may have changed since the snapshot
	m.programs = m.programs[:0]
	m.reader = w.config.Program.reader(m.boot)
	m.wake, m.due, m.timer, m.portWait = protocol.Never, Forever, Forever, Forever
	clear(m.recognises)
	w.record(m, EvRestart, func(r *Record) { r.Why = Snapshot.String() })
	if len(m.disk.queue) > 0 {
		w.writeNext(m)
	}
	var start protocol.StartBits
	binary.BigEndian.PutUint64(start[:], m.dice.Uint64())
	now := m.clock.Sample(w.now)
	if m.port != nil {
		m.port.Restart(now, start)
	}
	w.stepAt(m, now, protocol.Restored{Start: start})
	if m.port != nil {
		w.armPort(m)
	}
	for _, g := range s.led {
		w.command(m, protocol.Stopped{Group: g}, w.now.Add(m.dice.Between(1, 1000)))
	}
	for _, g := range w.config.Groups {
		w.command(m, protocol.Campaign{Group: g}, w.now.Add(m.dice.Between(1, w.config.Program.Again.Max)))
	}
}

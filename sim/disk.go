package sim

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
)

// A disk holds a member's record. Writes take their time and are done one after the other; sometimes one write is for
// all records that wait, of which only the last is then ever seen. A crash leaves the newest record that was written, and
// of the one being written nobody knows.
type disk struct {
	records []written // the newest last; the first and some newer ones are kept for a restored backup
	queue   []written // not yet written
	batch   int       // how many of them the write under way is for
	asked   uint64    // how many records this life has asked for
	written uint64    // how many of them are on disk
	held    drive.Held[heldMessage]
	slow    []diskFault
}

// A written record, and the life of its member that wrote it.
type written struct {
	record []byte
	life   uint32
}

// A heldMessage waits for records to be on disk.
type heldMessage struct {
	to   protocol.Rank
	msg  protocol.Message
	at   protocol.Time
	sent Real
}

type diskFault struct {
	fault uint64
	by    time.Duration
}

// keepRecords is how many written records are remembered.
const keepRecords = 16

// stored returns a copy of the record on disk, nil if there is none.
func (d *disk) stored() []byte {
	if len(d.records) == 0 {
		return nil
	}
	return append([]byte{}, d.records[len(d.records)-1].record...)
}

func (d *disk) busy() bool { return d.written < d.asked }

func (d *disk) hold(to protocol.Rank, msg protocol.Message, at protocol.Time, sent Real) {
	d.held.Add(d.asked, heldMessage{to, msg, at, sent})
}

// crash loses what is not on disk, and perhaps does not lose the record that was being written.
func (d *disk) crash(dice *Dice) {
	if len(d.queue) > 0 && dice.Hit(Certain/2) {
		d.write()
	}
	d.queue = nil
	d.held.Clear()
	d.asked, d.written = 0, 0
}

// write moves the waiting records that are being written to the disk: the last of them is what it holds then.
func (d *disk) write() {
	if len(d.records) == keepRecords {
		copy(d.records[1:], d.records[2:])
		d.records = d.records[:keepRecords-1]
	}
	d.records = append(d.records, d.queue[d.batch-1])
	d.queue = d.queue[d.batch:]
}

// lose empties the disk.
func (d *disk) lose() { d.records = nil }

// restore puts back a backup: the record that was written back writes before the newest one, or the oldest known.
func (d *disk) restore(back int) {
	if n := len(d.records); n > 0 {
		d.records = d.records[:max(1, n-back)]
	}
}

// persist begins to make a record durable.
func (w *World) persist(m *member, record []byte) {
	d := &m.disk
	d.queue = append(d.queue, written{append([]byte{}, record...), m.life})
	d.asked++
	if len(d.queue) == 1 {
		w.writeNext(m)
	}
}

func (w *World) writeNext(m *member) {
	d := &m.disk
	d.batch = 1
	if len(d.queue) > 1 && m.dice.Hit(Certain/2) {
		d.batch = len(d.queue)
	}
	took := m.dice.Draw(w.config.Disk)
	for _, f := range d.slow {
		took += f.by
	}
	e := w.queue.Push(w.now.Add(max(took, 1)))
	e.kind, e.to, e.life = evWritten, m.rank, m.life
}

// onWritten tells the machine of its records, and lets go of what waited for them. What comes first is not for the
// machine to rely on, so either does.
func (w *World) onWritten(m *member) {
	d := &m.disk
	d.write()
	confirmed := d.batch
	d.written += uint64(confirmed)
	w.record(m, EvPersist, func(r *Record) { r.Seq = d.written })
	if len(d.queue) > 0 {
		w.writeNext(m)
	}
	life, late := m.life, m.dice.Hit(Certain/2)
	if !late {
		w.letGo(m)
	}
	for ; confirmed > 0 && m.life == life; confirmed-- {
		w.step(m, protocol.Persisted{})
	}
	if late && m.life == life {
		w.letGo(m)
	}
}

// letGo sends the messages whose records are on disk.
func (w *World) letGo(m *member) {
	d := &m.disk
	for h, ok := d.held.Take(d.written); ok; h, ok = d.held.Take(d.written) {
		w.send(m, h.to, h.msg, h.at, h.sent)
	}
}

package runtime

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"time"
)

// disk writes records on a goroutine of its own, so that no disk is on the loop's way. Of records that come while one
// is written only the last is written: it replaces the others, and they are durable with it.
type disk struct {
	store Store
	wake  func()
	log   *slog.Logger
	// asked numbers the records as the loop gives them; the loop's own.
	asked uint64
	// done is the number of the last record on disk.
	done atomic.Uint64
	// next holds the record to write next, if there is one; a closed channel ends the goroutine.
	next chan numbered
	quit chan struct{}
	// fault is why the last write failed; nil if it did not.
	fault atomic.Pointer[error]
	// took is how long the last writes took, each at the number of its record.
	took [lastWrites]atomic.Int64
}

// lastWrites is of how many writes the slowest is known.
const lastWrites = 32

// slowest returns the longest of the last writes; zero if nothing was written.
func (d *disk) slowest() (longest time.Duration) {
	for i := range d.took {
		longest = max(longest, time.Duration(d.took[i].Load()))
	}
	return longest
}

const (
	// retryAfter is how long after a failed write the next attempt is made.
	retryAfter = 200 * time.Millisecond
	// reserveAfter is how many of them are made before a record goes to reserved room. By then the council's machine has asked for many terms ahead
	// (nerio.OverdueAfter), and the one record that fits serves for long.
	reserveAfter = 15
)

// A reserve is a Store that has room set aside for a record when the disk is full.
type reserve interface{ WriteReserved(record []byte) error }

type numbered struct {
	number uint64
	record []byte
}

func newDisk(s Store, wake func(), log *slog.Logger) *disk {
	return &disk{store: s, wake: wake, log: log, next: make(chan numbered, 1), quit: make(chan struct{})}
}

// put asks for the record to be written and returns its number.
func (d *disk) put(record []byte) uint64 {
	d.asked++
	if d.store == nil {
		d.done.Store(d.asked)
		d.wake()
		return d.asked
	}
	select {
	case <-d.next: // not begun, and no longer needed
	default:
	}
	d.next <- numbered{number: d.asked, record: bytes.Clone(record)}
	return d.asked
}

func (d *disk) run() {
	for {
		select {
		case r := <-d.next:
			d.write(r)
		case <-d.quit:
			// What was asked for is written, once, before the process may end.
			select {
			case r := <-d.next:
				d.once(r)
			default:
			}
			return
		}
	}
}

// write tries until the record, or one that replaces it, is on disk.
func (d *disk) write(r numbered) {
	for tries := 0; !d.once(r); {
		if tries >= reserveAfter && d.done.Load() < r.number {
			d.save(r)
		}
		retry := time.NewTimer(retryAfter)
		select {
		case r = <-d.next:
		case <-retry.C:
			tries++
		case <-d.quit:
			retry.Stop()
			return
		}
		retry.Stop()
	}
}

func (d *disk) once(r numbered) bool {
	began := time.Now()
	if err := d.store.Write(r.record); err != nil {
		if d.fault.Swap(&err) == nil {
			d.log.Error("the durable record cannot be written: what rests on it waits until it can", "err", err)
		}
		return false
	}
	if d.fault.Swap(nil) != nil {
		d.log.Info("the durable record is written again")
	}
	d.took[r.number%lastWrites].Store(int64(time.Since(began)))
	d.done.Store(r.number)
	d.wake()
	return true
}

// save writes the record to reserved room. The fault stays, and so do attempts to write the record in the ordinary way: there is room for few.
func (d *disk) save(r numbered) {
	s, ok := d.store.(reserve)
	if !ok || s.WriteReserved(r.record) != nil {
		return
	}
	d.log.Warn("the durable record is written to room that was reserved for it: make room on the disk")
	d.done.Store(r.number)
	d.wake()
}

// stop ends the goroutine once a write under way has ended.
func (d *disk) stop() { close(d.quit) }

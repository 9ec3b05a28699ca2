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
}

// retryAfter is how long after a failed write the next attempt is made.
const retryAfter = 200 * time.Millisecond

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
	for !d.once(r) {
		retry := time.NewTimer(retryAfter)
		select {
		case r = <-d.next:
		case <-retry.C:
		case <-d.quit:
			retry.Stop()
			return
		}
		retry.Stop()
	}
}

func (d *disk) once(r numbered) bool {
	if err := d.store.Write(r.record); err != nil {
		if d.fault.Swap(&err) == nil {
			d.log.Error("the durable record cannot be written: what rests on it waits until it can", "err", err)
		}
		return false
	}
	if d.fault.Swap(nil) != nil {
		d.log.Info("the durable record is written again")
	}
	d.done.Store(r.number)
	d.wake()
	return true
}

// stop ends the goroutine once a write under way has ended.
func (d *disk) stop() { close(d.quit) }

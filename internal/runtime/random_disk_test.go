package runtime_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// A disk keeps what was synced, across processes of one member.
type disk struct {
	mu     sync.Mutex
	rng    *rand.Rand
	synced []byte
	// slow is how long a write takes at most, and failing says that writes fail.
	slow    time.Duration
	failing bool
}

func (d *disk) set(slow time.Duration, failing bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow, d.failing = slow, failing
}

func (d *disk) read() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.synced)
}

// A file is the record as one process of the member has it open.
type file struct {
	disk *disk
	// writing is the record that is on its way; dead says that the process has crashed.
	writing []byte
	dead    bool
	// records are those that the machine has handed over, and confirmed is how many of them it knows to be on disk.
	records   [][]byte
	confirmed int
}

var errDisk = errors.New("input/output error")

// Write takes its time, and may fail. A write that has failed may have reached the disk all the same.
func (f *file) Write(record []byte) error {
	d := f.disk
	d.mu.Lock()
	f.writing = bytes.Clone(record)
	wait := time.Duration(d.rng.Int64N(int64(d.slow) + 1))
	d.mu.Unlock()
	pass(wait)
	d.mu.Lock()
	defer d.mu.Unlock()
	next := f.writing
	f.writing = nil
	fails := f.dead || d.failing
	if !f.dead && (!fails || d.rng.IntN(2) == 0) {
		d.synced = next
	}
	if fails {
		return errDisk
	}
	return nil
}

// crash ends all writing. The write that is under way may have reached the disk.
func (f *file) crash() {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	f.dead = true
	if f.writing != nil && d.rng.IntN(2) == 0 {
		d.synced = f.writing
	}
}

// add takes note of a record that the machine has handed over.
func (f *file) add(record []byte) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.records = append(f.records, bytes.Clone(record))
}

// given returns how many records the machine has handed over.
func (f *file) given() int {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return len(f.records)
}

// has says whether the first n records are on disk, or have been replaced there by later ones.
func (f *file) has(n int) bool {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if n == 0 || f.dead {
		return true // what a process does that has crashed reaches nobody
	}
	for i := len(f.records) - 1; i >= n-1; i-- {
		if bytes.Equal(f.records[i], f.disk.synced) {
			return true
		}
	}
	return false
}

// confirm takes note of one Persisted, and says whether its record is on disk.
func (f *file) confirm() bool {
	f.disk.mu.Lock()
	f.confirmed++
	n := f.confirmed
	f.disk.mu.Unlock()
	return f.has(n)
}

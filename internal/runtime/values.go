package runtime

import (
	"sync"
	"time"
)

// values passes on the values of one leadership, in order. Each one is a message to every member, so a program that sends many must not set the rate.
type values struct {
	mu   sync.Mutex
	last time.Time // when one was passed on
	// next waits to be passed on, if waits is set.
	next  string
	waits bool
}

// put passes a value on, now or once the interval since the last one is over. A value that waits gives way to a later one.
func (v *values) put(value string, interval time.Duration, announce func(string) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waits {
		v.next = value
		return nil
	}
	if wait := interval - time.Since(v.last); wait > 0 {
		v.next, v.waits = value, true
		time.AfterFunc(wait, func() {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.waits, v.last = false, time.Now()
			_ = announce(v.next) // it fails only once the lease is over
		})
		return nil
	}
	v.last = time.Now()
	return announce(value)
}

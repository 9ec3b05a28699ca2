// Package waits drives tenures, and decides about them by itself.
package waits

import (
	"context"
	clock "time"

	"github.com/regentproject/regent/internal/tenure"
)

type driver struct {
	machine       *tenure.Machine
	asked, killed chan struct{}
	end           clock.Time
}

func (d *driver) listed() { <-d.asked }

func (d *driver) unreasoned() { <-d.asked } // want "driver.unreasoned receives"

func (d *driver) race() bool {
	select {
	case <-d.asked: // want "driver.race receives"
		return false
	case <-d.killed: // want "driver.race receives"
		return true
	}
}

func (d *driver) expire(ctx context.Context) error {
	ctx, cancel := context.WithDeadline(ctx, d.end) // want "driver.expire uses context.WithDeadline"
	defer cancel()
	return ctx.Err() // want "driver.expire looks whether a context has ended"
}

func (d *driver) drain() {
	for range d.asked { // want "driver.drain ranges over a channel"
	}
}

func (d *driver) look() bool {
	return d.machine != nil && clock.Now().After(d.end) // want "driver.look reads a clock"
}

func (d *driver) decide(c clockOf) bool {
	return c.now() > 0 // want "driver.decide reads a clock"
}

type clockOf struct{}

func (clockOf) now() int { return 1 }

// signal waits for nothing.
func (d *driver) signal() {
	select {
	case d.asked <- struct{}{}:
	default:
	}
}

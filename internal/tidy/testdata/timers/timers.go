// Package timers waits for instants by itself.
package timers

import (
	"context"
	clock "time"
)

type lease struct {
	expiry *clock.Timer // want "time.Timer"
	length clock.Duration
}

func (l *lease) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.length) // want "context.WithTimeout"
	defer cancel()
	l.expiry = clock.AfterFunc(l.length, cancel) // want "time.AfterFunc"
	select {
	case <-ctx.Done():
	case <-clock.After(l.length): // want "time.After"
	}
}

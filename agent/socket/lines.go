package socket

import (
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
)

// withEnd puts an end into an event: as an instant of the host's clock, rounded down, and how far it is off.
func (a *Server) withEnd(e *session.Event, end protocol.Time) *session.Event {
	host, err := clock.HostLow() // first: what passes until the next line makes the end earlier
	left := end.Sub(a.core.Now())
	if err == nil && left > 0 {
		e.Until, e.Remaining = host.Add(left), a.allow(left)
	}
	return e
}

// withLease does the same for an event that begins a tenure, and adds when it was granted at the latest.
func (a *Server) withLease(e *session.Event, end protocol.Time) *session.Event {
	if host, err := clock.HostLow(); err == nil {
		e.At = host
	}
	return a.withEnd(e, end)
}

// slewing is by what part a time service may slow the clock by which a program counts a length of time: chrony's default is 1/12.
const slewing = 12

// allow returns for how long a program leads that counts from when it reads a line, on any clock: what is left, less the guard time for the
// delay until it reads, and less what its clock may be slow by.
func (a *Server) allow(left time.Duration) time.Duration {
	return max(0, left-a.core.About().Timing.Guard-left/slewing)
}

// signOfLife is the line that programs write most often.
var signOfLife = []byte(`{"do":"alive"}`)

// pulse takes a sign of life of the program for all its candidacies that read the page.
func (c *conn) pulse() {
	c.signs.Give()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.candidates { // order does not matter: all are alive
		if k.Page && k.Signs == nil {
			k.RecordHeartbeat()
		}
	}
}

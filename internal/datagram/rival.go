package datagram

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// One name must belong to one process. A datagram of a lower incarnation than was heard is usually late: its process is dead. Its
// process lives if the datagram echoes what we sent after we had heard the higher one. Nothing that is late, repeated or recorded
// does: the process has received something of us since. The echo counts only if the datagram is meant for our present start.

// A rival is what shows that a lower incarnation of a peer lives.
type rival struct {
	since protocol.Time // when the higher incarnation was first heard
	both  bool          // both live, as of the last sign
	until protocol.Time // then neither counts before this
}

// rivalHold is how long neither counts after the last sign of both.
const rivalHold = 5 * time.Second

// old takes note of a datagram of a lower incarnation.
func (e *Endpoint) old(now protocol.Time, p *peer, h *Header) {
	e.owe(now, p) // it learns our name, if it does not have it
	if !e.mine(h) || h.To.Inc == 0 {
		return
	}
	// A process that had no name has one again, be it an old one. Were it still addressed as nameless, it would never learn that.
	p.nameless = false
	if h.Echo.Sent > p.rival.since && h.Echo.Sent <= now {
		p.rival.both, p.rival.until = true, now.Add(rivalHold)
	}
}

func (r *rival) mutes(now protocol.Time) bool { return r.both && now < r.until }

// twin takes note of a second start under the present incarnation of a peer, which its random bits tell apart: its disk was copied, or
// restored from an older copy.
func (e *Endpoint) twin(now protocol.Time, p *peer) {
	p.nameless = false // as in old
	e.owe(now, p)
}

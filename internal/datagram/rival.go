package datagram

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// One name must belong to one process. A datagram of a lower incarnation than was heard is usually late: its process is
// dead. It is not if it provably was sent after we heard the higher one. The proof uses the bound on the delay of an earlier
// datagram of the same process: that one was sent, at stamp C, no earlier than our instant X, so one with stamp C'
// was sent no earlier than X plus what C'-C is at least on our clock. Without such a bound we go by appearances: if
// the two take turns, long after the higher one was first heard, both live.
//
// Only a datagram that names our present incarnation is evidence. Others may have been recorded before we started.

// An anchor says that a stamp of the peer's clock is no earlier than an instant of ours. Zero: none.
type anchor struct{ stamp, instant protocol.Time }

func (a *anchor) set(now, stamp protocol.Time, bound time.Duration, rho protocol.Rho) {
	if bound < protocol.Unknown/4 {
		*a = anchor{stamp: stamp, instant: now.Add(-rho.WaitAtLeast(bound))}
	}
}

// after says whether a later stamp of the same clock provably is after the instant t of ours.
func (a anchor) after(stamp, t protocol.Time, rho protocol.Rho) bool {
	if a == (anchor{}) || stamp < a.stamp {
		return false
	}
	return a.instant.Add(rho.WaitAtMost(rho.RealAtLeast(stamp.Sub(a.stamp)))) > t
}

// A rival is the last lower incarnation of a peer that was heard.
type rival struct {
	inc    protocol.Inc
	anchor anchor
	top    uint64        // its highest number
	since  protocol.Time // when the higher incarnation was first heard
	last   protocol.Time // when it was last heard
	spoke  bool          // the higher one was heard after it
	turns  int           // how often it spoke again after that
	both   bool          // both live, as of the last sign
	until  protocol.Time // then neither counts before this
}

const (
	// rivalTurns is how often two incarnations must take turns to count as alive both.
	rivalTurns = 3
	// rivalGrace is how long after a restart datagrams of the dead process are no surprise, unless they prove more.
	rivalGrace = 5 * time.Second
	// rivalHold is how long neither counts after the last sign of both.
	rivalHold = 5 * time.Second
)

// retire makes the present incarnation the lower one.
func (p *peer) retire(now protocol.Time) {
	p.rival = rival{inc: p.inc, anchor: p.anchor, top: p.current.window.top, since: now, both: p.rival.both, until: p.rival.until}
}

// old takes note of a datagram of a lower incarnation.
func (e *Endpoint) old(now protocol.Time, p *peer, h *Header) {
	e.owe(now, p) // tells it that it is outdated
	if !e.mine(h) || h.To.Inc == 0 {
		return
	}
	// Whoever had no name has one again, be it an old one. Were it still addressed as nameless, it would never learn that.
	p.nameless = false
	r := &p.rival
	if h.From.Inc != r.inc {
		if h.From.Inc < r.inc {
			return
		}
		*r = rival{inc: h.From.Inc, since: r.since, spoke: r.spoke, both: r.both, until: r.until}
	}
	if h.Seq <= r.top {
		return
	}
	if now.Sub(r.last) > rivalHold {
		r.turns = 0
	}
	r.top, r.last = h.Seq, now
	if r.spoke && now.Sub(r.since) > rivalGrace {
		r.turns++
	}
	r.spoke = false
	if r.mutes(now) || r.turns >= rivalTurns || r.anchor.after(h.Sent, r.since, e.config.Rho) {
		r.mute(now)
	}
}

func (r *rival) mute(now protocol.Time) { r.both, r.until = true, now.Add(rivalHold) }

func (r *rival) mutes(now protocol.Time) bool { return r.both && now < r.until }

// twin takes note of a second process under the present incarnation of a peer, which its random bits tell apart: a disk was
// copied, or restored from an older copy. That incarnation is spoilt: from now on our datagrams name the next one, so both
// processes, or the one that lives, learn that they are outdated.
func (e *Endpoint) twin(now protocol.Time, p *peer) {
	p.spoilt, p.nameless = true, false // as in old
	p.rival.mute(now)
	e.owe(now, p)
}

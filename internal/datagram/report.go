package datagram

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Report is what is known of one peer, for people.
type Report struct {
	// Inc is the incarnation in which it was last heard; 0: not yet.
	Inc protocol.Inc
	// Heard is when; it counts only if Inc does.
	Heard protocol.Time
	// Bound is the proven bound on the delay of its last datagram, or Unknown, also if it includes a pause of this process; Fast says that it is at most Δ.
	Bound time.Duration
	Fast  bool
	// RTT is a smoothed round trip: two delays less all waiting between. Zero: not measured yet.
	RTT time.Duration
	// EchoAge is how old the echo was that proved the bound.
	EchoAge time.Duration
	// Rivals says that two processes speak for it, and that it does not count.
	Rivals bool
}

// Report returns what is known of a peer.
func (e *Endpoint) Report(now protocol.Time, peer protocol.Rank) Report {
	p := &e.peers[peer]
	bound := p.bound
	if p.own && bound > e.config.Delta {
		bound = protocol.Unknown
	}
	return Report{Inc: p.inc, Heard: p.heard, Bound: bound, Fast: bound <= e.config.Delta, RTT: p.rtt, EchoAge: p.echoAge,
		Rivals: p.rival.mutes(now)}
}

// Paused says that this process goes on after a pause. Packets that waited for it meanwhile seem to be late, so what they measure is not shown as the peer's.
func (e *Endpoint) Paused(now protocol.Time) { e.paused = now }

// Count counts a packet that was judged elsewhere, because it belongs to no start of a member.
func (e *Endpoint) Count(r Reason) { e.counts.Packets[r]++ }

// Counts returns what became of all packets so far.
func (e *Endpoint) Counts() Counts { return e.counts }

// smooth adds a measured round trip, at an eighth of its weight.
func (p *peer) smooth(rtt time.Duration) {
	if p.rtt == 0 {
		p.rtt = rtt
		return
	}
	p.rtt += (rtt - p.rtt) / 8
}

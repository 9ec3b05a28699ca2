package clock

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	// span is the shortest time over which a rate is judged. Each judgement is over span to 2·span.
	span = time.Minute
	// gather is how long the best points to measure from are looked for.
	gather = 5 * time.Second
)

// Rates compares the rate of a member's own clock with those of its peers, out of the stamps that datagrams carry anyway.
// It is pure arithmetic: times are arguments.
//
// A datagram that its sender stamped C and that came in at D proves that the sender's clock stood at C or later at the
// receiver's D. An echo (A,B) proves that it stood at B or earlier at the receiver's A. Out of a point of one kind and
// a later one of the other follows how far the peer's clock advanced at least, or at most, while the own one did so by
// a known length; if that is impossible for two clocks within ρ, one of the two is not. If a majority of the peers is
// beyond that bound on the same side, it is the own clock that is wrong.
type Rates struct {
	rho   protocol.Rho
	peers []peerRate
	// members is how many members there are; there may be more ranks.
	members int
}

// A point is an instant of the own clock and what the peer's stood at: at most, or at least.
type point struct{ own, peer protocol.Time }

type reference struct {
	since   protocol.Time
	most    point // of all points that bound the peer's clock from above, the tightest
	least   point // the same from below
	hasMost bool
	hasOne  bool
}

type peerRate struct {
	inc       protocol.Inc
	ref, next reference
	verdict   int           // +1: the peer's clock was provably too fast for the own one, -1: too slow, 0: neither yet
	proved    protocol.Time // when that was last proven
	low, high int64
	measured  bool
}

// A Rate is how much faster a peer's clock runs than the own one, in parts per billion: between Low and High.
type Rate struct{ Low, High int64 }

// NewRates returns the comparison for a council of n members whose clocks are meant to be within rho of real time.
func NewRates(n int, rho protocol.Rho) *Rates {
	return &Rates{rho: rho, peers: make([]peerRate, n), members: n}
}

// Reset forgets all points and verdicts: the own clock does not go on from where they were taken.
func (r *Rates) Reset() { clear(r.peers) }

// Adopt goes on for a council of so many members, in n ranks, whose clocks are meant to be within rho of real time. Those that stay keep
// their ranks, and what was measured of them.
func (r *Rates) Adopt(n, members int, rho protocol.Rho, stay protocol.Set) {
	before := r.peers
	r.members, r.rho = members, rho
	r.peers = make([]peerRate, n)
	for i := range min(n, len(before)) {
		if stay.Has(protocol.Rank(i)) {
			r.peers[i] = before[i]
		}
	}
}

// Observe takes the stamps of one datagram of a peer: it was sent at sent on the peer's clock and received at now on the
// own one, and says that what the own member sent at echoSent came in at echoReceived. Both zero: no echo.
func (r *Rates) Observe(peer protocol.Ident, echoSent, echoReceived, sent, now protocol.Time) {
	p := &r.peers[peer.Rank]
	if peer.Inc != p.inc {
		*p = peerRate{inc: peer.Inc}
	}
	if !p.ref.hasOne {
		p.ref.since = now
	}
	least := point{own: now, peer: sent}
	most := point{own: echoSent, peer: echoReceived}
	echo := echoSent != 0 || echoReceived != 0
	age := now.Sub(p.ref.since)
	if age <= gather {
		p.ref.take(least, most, echo)
		return
	}
	if age >= 2*span {
		p.ref, p.next = p.next, reference{}
		if age = now.Sub(p.ref.since); !p.ref.hasOne || age >= 2*span {
			*p = peerRate{inc: peer.Inc} // it was silent for so long that all is to be done again
			return
		}
	}
	if age >= span {
		if !p.next.hasOne {
			p.next.since = now
		}
		if now.Sub(p.next.since) <= gather {
			p.next.take(least, most, echo)
		}
		p.judge(r.rho, now, least, most, echo)
	}
}

func (f *reference) take(least, most point, echo bool) {
	if !f.hasOne || least.peer.Sub(least.own) > f.least.peer.Sub(f.least.own) {
		f.hasOne, f.least = true, least
	}
	if echo && most.own >= f.since && (!f.hasMost || most.peer.Sub(most.own) < f.most.peer.Sub(f.most.own)) {
		f.hasMost, f.most = true, most
	}
}

// judge compares the newest points with the reference. A datagram that proves nothing, as it took long, takes nothing
// back either.
func (p *peerRate) judge(rho protocol.Rho, now protocol.Time, least, most point, echo bool) {
	lowKnown := false
	if f := p.ref.most; p.ref.hasMost && least.own > f.own {
		own, peer := least.own.Sub(f.own), least.peer.Sub(f.peer) // the peer's clock advanced by peer or more
		if peer > rho.WaitAtLeast(rho.RealAtMost(own)) {
			p.verdict, p.proved = +1, now
		}
		p.low, lowKnown = excess(own, peer), true
	}
	if f := p.ref.least; echo && most.own.Sub(f.own) > span/2 {
		own, peer := most.own.Sub(f.own), most.peer.Sub(f.peer) // the peer's clock advanced by peer or less
		if peer < rho.WaitAtMost(rho.RealAtLeast(own)) {
			p.verdict, p.proved = -1, now
		}
		p.high = excess(own, peer)
		if lowKnown {
			p.measured = true
		}
	}
}

// excess returns by how many parts per billion peer is longer than own. It is for people: what is decided is decided in
// integers.
func excess(own, peer time.Duration) int64 { return int64(float64(peer-own) / float64(own) * 1e9) }

// Of returns the measured rate of a peer's clock relative to the own one.
func (r *Rates) Of(peer protocol.Rank) (Rate, bool) {
	p := &r.peers[peer]
	return Rate{Low: p.low, High: p.high}, p.measured
}

// Alarm says whether the own clock is provably beyond the bound as measured against a majority of the peers: they all run
// faster than any clock within ρ could look, or all slower. Then the own leases mean nothing and must end. A proof counts
// for a minute.
func (r *Rates) Alarm(now protocol.Time) bool {
	fast, slow := 0, 0
	for i := range r.peers {
		if now.Sub(r.peers[i].proved) > span {
			continue
		}
		switch r.peers[i].verdict {
		case +1:
			fast++
		case -1:
			slow++
		}
	}
	need := (r.members-1)/2 + 1
	return r.members > 1 && (fast >= need || slow >= need)
}

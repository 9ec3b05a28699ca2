package datagram

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// An Endpoint is one member's end of all its conversations. It stamps what goes out and judges what comes in; it says
// when a probe is due (Wake, Probes), and its driver sends it. It allocates nothing once it is made.
type Endpoint struct {
	config Config
	peers  []peer
	wake   protocol.Time // no probe is due before; it may be early
	due    []protocol.Rank
	counts Counts
	paused protocol.Time // when this process last went on after a pause
}

// A peer is what an endpoint knows of one other member.
type peer struct {
	inc      protocol.Inc  // the highest that was heard; 0: none
	current  session       // the start that speaks under inc
	lost     session       // the last start that has proved to speak under incarnation 0
	greeting greeting      // of a process under incarnation 0 that has not proved it
	proved   protocol.Time // a start under incarnation 0 proves itself with an echo of what we sent after this
	reply    Echo          // for the start under incarnation 0
	nameless bool          // the last datagram came from a process that did not know its incarnation
	seq      uint64        // of the last datagram to it

	pairs pairs // of stamps of its datagrams, of which the best is the echo for it

	absent      bool          // no member has the rank
	sent, heard protocol.Time // of the last datagram to and from it; what is never is far in the past
	owed        bool          // it needs a datagram of us soon
	greeted     protocol.Time // until when it gets more of them, for it does not know this start; zero: it does
	rival       rival
	bound       time.Duration
	own         bool // the bound includes a pause of this process
	rtt         time.Duration
	echoAge     time.Duration
}

// A greeting is what the last datagram under incarnation 0 said of itself that came from a start of which nothing is proved. It may
// be recorded: it only helps two members that both have no incarnation to find one another.
type greeting struct {
	start Start
	echo  Echo
}

// A session is what is remembered of one start of a peer, once a packet of it was authenticated. A member that starts again
// has other random bits, so no packet of the start before is fresh again.
type session struct {
	start  Start
	known  bool
	window window
}

// A Verdict is what is known of a datagram that came in.
type Verdict struct {
	// Reason says what became of it. Its messages may be delivered if it is Accepted.
	Reason Reason
	// Delay bounds the real time from its stamp to now, or is Unknown.
	Delay time.Duration
	// Restarted says that its sender is heard for the first time in this incarnation.
	Restarted bool
}

// By says whether the datagram is proven to have come within d of being sent: what an expiring link delivers.
func (v Verdict) By(d time.Duration) bool { return v.Delay <= d }

// New returns the endpoint of a member that starts at now.
func New(now protocol.Time, c Config) (*Endpoint, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	e := &Endpoint{config: c, peers: make([]peer, c.Members), due: make([]protocol.Rank, 0, c.Members), wake: now}
	for i := range e.peers {
		e.peers[i].begin(now, &c)
	}
	if c.Members == 1 {
		e.wake = protocol.Never
	}
	return e, nil
}

// Self returns the member in its present incarnation.
func (e *Endpoint) Self() protocol.Ident { return e.config.Self }

// Members returns the size of the council.
func (e *Endpoint) Members() int { return e.config.Members }

// Heard returns the highest incarnation above 0 in which a peer was heard; 0 if in none.
func (e *Endpoint) Heard(peer protocol.Rank) protocol.Inc { return e.peers[peer].inc }

// SetIncarnation is for a member that learns its incarnation after its start.
func (e *Endpoint) SetIncarnation(inc protocol.Inc) { e.config.Self.Inc = inc }

// Restart makes the endpoint that of another start, which has heard nobody and does not know its incarnation.
func (e *Endpoint) Restart(now protocol.Time, start Start) {
	c := e.config
	c.Self.Inc, c.Start = 0, start
	fresh, err := New(now, c)
	if err != nil {
		panic("datagram: a configuration that was checked: " + err.Error())
	}
	fresh.counts = e.counts
	for i := range fresh.peers {
		fresh.peers[i].absent = e.peers[i].absent
	}
	*e = *fresh
}

// Stamp returns the header of a datagram to a peer that leaves at now. sent is the instant of the Step that its messages
// come from: now, or earlier if they had to wait for the disk.
func (e *Endpoint) Stamp(now, sent protocol.Time, to protocol.Rank) Header {
	p := &e.peers[to]
	p.seq++
	if now.Sub(sent) <= e.config.Delta/prompt {
		p.sent, p.owed = now, false // a datagram that waited for long makes a bad echo, and does not stand in for a probe
	}
	h := Header{From: e.config.Self, Start: e.config.Start, To: protocol.Ident{Rank: to, Inc: p.inc}, Council: e.config.Council, Seq: p.seq,
		Sent: min(sent, now)}
	switch {
	case p.nameless:
		h.To.Inc, h.ToStart, h.Echo = 0, p.lost.start.Prefix(), p.reply
		return h
	case p.inc == 0:
		h.ToStart, h.Echo = p.greeting.start.Prefix(), p.greeting.echo
		return h
	}
	h.ToStart, h.Echo = p.current.start.Prefix(), p.pairs.best(now, &e.config)
	return h
}

// Loopback returns the bound on the delay of a message to oneself that was sent at sent: both are of one clock.
func (e *Endpoint) Loopback(now, sent protocol.Time) time.Duration {
	return e.config.Rho.RealAtMost(now.Sub(sent))
}

// Fast says whether a delay is proven to be at most Δ.
func (e *Endpoint) Fast(delay time.Duration) bool { return delay <= e.config.Delta }

// restart takes note of a higher incarnation. All that was known is about another process, with another clock.
func (p *peer) restart(now protocol.Time, h *Header) {
	p.rival.since = now
	p.inc, p.current, p.pairs = h.From.Inc, session{start: h.Start, known: true}, pairs{}
	p.bound, p.rtt, p.echoAge = protocol.Unknown, 0, 0
}

// measure works out the bound on the delay of a datagram, and sees to it that there will be a better one if need be.
func (e *Endpoint) measure(now protocol.Time, p *peer, h *Header) time.Duration {
	p.bound = protocol.Unknown
	if h.Echo == (Echo{}) || h.Echo.Sent > now {
		e.owe(now, p)
		return protocol.Unknown
	}
	p.echoAge = now.Sub(h.Echo.Sent)
	if p.echoAge > e.config.MaxAge/2 {
		e.owe(now, p)
	}
	bound := e.config.bound(h, now)
	if bound < e.config.MinDelay {
		e.counts.Impossible++
		return protocol.Unknown
	}
	p.bound, p.own = bound, h.Echo.Sent < e.paused
	if p.own {
		return bound // it bounds the delay, and says nothing of the network
	}
	p.smooth(now.Sub(h.Echo.Sent) - h.Sent.Sub(h.Echo.Received))
	return bound
}

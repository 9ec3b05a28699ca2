package link

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Change is one transition of a link. Those of one link come in the order of their counts, and none is left out.
type Change struct {
	// Peer is the other end, in the incarnation that the history is shared with.
	Peer protocol.Ident
	// Count is the number of the transition: odd if the link is Up now. It begins anew with each incarnation of either end. Of an
	// Up it is the number of the session.
	Count uint64
	Up    bool
	Why   Why
}

// Why says what led to a transition.
type Why uint8

const (
	// Tin: both directions work.
	Tin Why = iota
	// Tout: they did not for Config.Tout.
	Tout
	// Followed: the other end was ahead.
	Followed
	// Restarted: the other end is another incarnation now.
	Restarted
)

var whys = [...]string{"tin", "tout", "followed", "restarted"}

func (w Why) String() string { return whys[w] }

// history is one end of the shared history of a link, between one pair of incarnations.
type history struct {
	peer protocol.Ident
	// own is the number of the last transition, seen the highest that the peer was heard of.
	//
	// Invariant: own - seen <= 1 while the link is up, <= 2 at all times.
	own, seen uint64
	// ping is the peer's latest, to be echoed.
	ping protocol.Time
	// echo is the latest of one's own pings that the peer has echoed since the link last went down, and contact as of when that
	// proves that both directions work; 0: none was.
	echo, contact protocol.Time
	// fell is when the link last went down. Pings of before prove nothing any more, or an end that merely followed would come up
	// again at once, by what the other end found to be too little.
	fell protocol.Time
}

func (h *history) up() bool { return h.own%2 == 1 }

// silent says that nothing proves contact within the length that ends now.
func (h *history) silent(now protocol.Time, tout time.Duration) bool {
	return h.contact == 0 || now.Sub(h.contact) >= tout
}

// fresh says that a ping of within the length that ends now has been echoed.
func (h *history) fresh(now protocol.Time, tin time.Duration) bool {
	return h.echo != 0 && now.Sub(h.echo) < tin
}

// turn makes one transition.
func (h *history) turn(now protocol.Time, why Why) Change {
	h.own++
	if !h.up() {
		h.echo, h.contact, h.fell = 0, 0, now
	}
	return Change{Peer: h.peer, Count: h.own, Up: h.up(), Why: why}
}

// hear takes the header of a peer in its present incarnation; matching says that it was meant for this incarnation of ours.
func (h *history) hear(now protocol.Time, head *Header, matching bool, tin time.Duration) {
	h.ping = max(h.ping, head.Ping)
	if !matching {
		return
	}
	h.seen = max(h.seen, head.Count)
	if head.Echo > h.echo && head.Echo >= h.fell && head.Echo <= now { // nor does a ping prove anything that was not sent yet
		h.echo = head.Echo
		h.contact = min(now, head.Echo.Add(tin))
	}
}

package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// Constants of simulated links.
const (
	// A ping, its echo, the wait for it and a late timer fit into tin, which is 100ms.
	linkTimely = 20 * time.Millisecond
	linkSettle = time.Second
	// linkLate is more than random runs let a timer be late.
	linkLate = 10 * time.Millisecond
	// linkTalk is how often a member says something.
	linkTalk = 300 * time.Millisecond
)

// linkSetup is a configuration with what belongs to the machine above the links.
type linkSetup struct {
	link.Config
	talk time.Duration
}

// linkKnobs are the options of links.
var linkKnobs = knobs[linkSetup]{
	base: func(b sim.Boot) linkSetup { return linkSetup{link.Default(b.Self, b.Members, b.Inc), linkTalk} },
	spawn: func(c linkSetup, b sim.Boot) (protocol.Machine, error) {
		return link.NewMachine(c.Config, c.talk, b.Seed)
	},
	all: []knob[linkSetup]{
		{"ping", "how often a peer is sent something", func(c *linkSetup) any { return &c.Ping }},
		{"tout", "how long a link stays up without contact", func(c *linkSetup) any { return &c.Tout }},
		{"tin", "how fresh contact must be to bring it up", func(c *linkSetup) any { return &c.Tin }},
		{"window", "how many words may be on their way to a peer", func(c *linkSetup) any { return &c.Window }},
		{"talk", "how often a member says something by itself; 0s: never", func(c *linkSetup) any { return &c.talk }},
	},
}

// LinkLimits is what simulated links with the default periods are held to.
func LinkLimits() check.LinkLimits {
	c := link.Default(0, 1, 1)
	return check.LinkLimits{Tout: c.Tout, Tin: c.Tin, Late: linkLate, Settle: linkSettle, Patience: 500 * time.Millisecond}
}

// linkProtocol is consistent-history links under members that chat at random.
func linkProtocol() *Protocol {
	return &Protocol{
		Name:       "link",
		About:      "links whose ups and downs both ends see alike, with words in order within a session",
		Members:    4,
		MinMembers: 2,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return linkKnobs.spawn(linkKnobs.base(b), b)
		},
		Messages:  []string{"link.Ping", "link.Word"},
		Matters:   []string{"link.Word"},
		Configure: func(c *sim.Config) { c.Messages = true },
		Port:      pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 100 * time.Millisecond}),
		Checkers:  func(t check.Truth) []check.Checker { return check.NewLinks(t, LinkLimits()) },
		Faults: []Weight{
			{sim.Crash, 8}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Halt, 2}, {sim.Cut, 12}, {sim.Partition, 6}, {sim.Slow, 8},
			{sim.Lose, 6}, {sim.Duplicate, 6}, {sim.Rate, 3}, {sim.Jump, 2},
		},
		Timely: linkTimely,
		Settle: linkSettle,
		Core:   func(n int) int { return min(2, n) },
		Rows: []string{MessageLate, MessageLost, MessageTwice, ClockFast, ClockSlow, linkBounced, linkCutOneWay, linkFollowed, linkBothTout,
			linkTwoAhead, linkTwoAtOnce, linkRestarted, linkWordsLost, linkWindow},
		Watch: newLinkWatch,
	}
}

// The rows of its own.
const (
	linkBounced   = "link bounced"
	linkCutOneWay = "link cut one-way in a session"
	linkFollowed  = "down followed"
	linkBothTout  = "down found out by both ends"
	linkTwoAhead  = "one end two transitions ahead"
	linkTwoAtOnce = "two transitions followed at once"
	linkRestarted = "peer restarted in a session"
	linkWordsLost = "words lost with their session"
	linkWindow    = "more words on their way than a window holds"
)

// linkWatch covers the rows of links.
type linkWatch struct {
	truth  check.Truth
	hit    func(row string)
	window int
	ends   map[linkEnd]*linkState
}

// linkEnd is one end of a link, between two incarnations.
type linkEnd struct{ self, peer protocol.Ident }

// linkState is what is known of it.
type linkState struct {
	count  uint64
	at     sim.Real // of the last transition
	tout   uint64   // the last transition that it found out by itself
	posted uint64
	taken  uint64 // by the other end
}

func newLinkWatch(t check.Truth, hit func(string)) sim.Observer {
	return &linkWatch{truth: t, hit: hit, window: link.Default(0, 1, 1).Window, ends: map[linkEnd]*linkState{}}
}

func (w *linkWatch) end(self, peer protocol.Ident) *linkState {
	s := w.ends[linkEnd{self, peer}]
	if s == nil {
		s = &linkState{}
		w.ends[linkEnd{self, peer}] = s
	}
	return s
}

// Observe looks at what links do.
func (w *linkWatch) Observe(r *sim.Record) error {
	self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	switch r.Ev {
	case protocol.EvLink:
		w.onLink(r, w.end(self, r.Peer), w.end(r.Peer, self))
	case protocol.EvPost:
		e := w.end(self, r.Peer)
		e.posted = r.Seq
		if e.posted-min(e.taken, e.posted) > uint64(w.window) {
			w.hit(linkWindow)
		}
	case protocol.EvTake:
		w.end(r.Peer, self).taken = r.Seq
	case sim.EvFault:
		if f := r.Detail.(sim.Fault); f.Kind == sim.Cut && f.A < protocol.Rank(w.truth.Members()) && f.B < protocol.Rank(w.truth.Members()) {
			e := w.end(w.truth.Ident(f.A), w.truth.Ident(f.B))
			if e.count%2 == 1 && !w.truth.Cut(f.B, f.A) {
				w.hit(linkCutOneWay)
			}
		}
	}
	return nil
}

// onLink looks at a transition.
func (w *linkWatch) onLink(r *sim.Record, mine, other *linkState) {
	if r.Seq >= 3 {
		w.hit(linkBounced)
	}
	if r.Seq == other.count+2 {
		w.hit(linkTwoAhead)
	}
	switch down := r.Seq%2 == 0; {
	case r.Why == "restarted":
		w.hit(linkRestarted)
	case r.Why == "followed" && mine.count > 0 && mine.at == r.T:
		w.hit(linkTwoAtOnce)
	case r.Why == "followed" && down:
		w.hit(linkFollowed)
	case r.Why == "tout":
		mine.tout = r.Seq
		if other.tout == r.Seq {
			w.hit(linkBothTout)
		}
	}
	if r.Seq%2 == 0 {
		if mine.posted > mine.taken {
			w.hit(linkWordsLost)
		}
		mine.posted, mine.taken = 0, 0
	}
	mine.count, mine.at = r.Seq, r.T
}

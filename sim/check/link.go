package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// LinkLimits is what links are held to.
type LinkLimits struct {
	// Tout is how long an end may stay up without hearing the other, by its own clock, and Tin how much longer without being heard.
	Tout, Tin time.Duration
	// Late is how late a timer may be.
	Late time.Duration
	// Settle is how long the links of a healed core may take to come up, and Patience how long a message on one of them may then
	// be on its way.
	Settle, Patience time.Duration
}

// NewLinks returns the checkers of all that links promise, for any machine that states what its links do. They need the records of
// messages.
func NewLinks(t Truth, l LinkLimits) []Checker {
	all := newLives(t).judge(NewSlack(), NewSequence(), NewSingle(t), NewInSession(t, l.Patience))
	return append(all, NewSevered(t, l.Tout, l.Tin, l.Late), NewConnected(t, l.Settle))
}

// histories follows the transitions of links. The history of a link is that of two incarnations: each other pair begins a new one.
type histories map[couple]*counts

// A couple is the two ends of a link, the better-ranked first.
type couple [2]protocol.Ident

// counts are the last transitions of both ends.
type counts [2]uint64

// ends returns how far the member of a record and its peer have come.
func (h histories) ends(r *sim.Record) (mine, other *uint64) {
	self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	key, i := couple{self, r.Peer}, 0
	if r.Peer.Rank < r.Node {
		key, i = couple{r.Peer, self}, 1
	}
	c := h[key]
	if c == nil {
		c = &counts{}
		h[key] = c
	}
	return &c[i], &c[1-i]
}

// restart takes the ends of a member down: it may come back as an incarnation that it has been before.
func (h histories) restart(r protocol.Rank) {
	for key, c := range h {
		for i := range key {
			if key[i].Rank == r {
				c[i] = 0
			}
		}
	}
}

// up says whether a count is that of a link that is up.
func up(count uint64) bool { return count%2 == 1 }

// way is a direction between two members.
func way(n int, from, to protocol.Rank) int { return int(from)*n + int(to) }

// lives finds out who speaks as an incarnation that it has been before: a member that was started from a backup does, until the
// others tell it. A history of a link is one of two incarnations, and says nothing about such a member.
type lives struct {
	life  []int // how often each member was started
	first map[protocol.Ident]int
	twice map[protocol.Ident]bool
}

func newLives(t Truth) *lives {
	return &lives{make([]int, t.Members()), make(map[protocol.Ident]int), make(map[protocol.Ident]bool)}
}

// follow takes every record, once.
func (l *lives) follow(r *sim.Record) {
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		l.life[r.Node]++
	case protocol.EvLink, protocol.EvPost, protocol.EvTake:
		self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
		if life, ok := l.first[self]; !ok {
			l.first[self] = l.life[r.Node]
		} else if life != l.life[r.Node] {
			l.twice[self] = true
		}
	}
}

// judged is a checker that is not shown what such a member does, nor what others do with it if it compares both ends.
type judged struct {
	Checker
	*lives
	leads, both bool // it is the first of those that have the same lives; it compares both ends
}

// judge has checkers look away.
func (l *lives) judge(all ...Checker) []Checker {
	for i, c := range all {
		_, one := c.(*Sequence)
		all[i] = judged{c, l, i == 0, !one}
	}
	return all
}

// Observe passes on what can be judged.
func (j judged) Observe(r *sim.Record) error {
	if j.leads {
		j.lives.follow(r)
	}
	switch r.Ev {
	case protocol.EvLink, protocol.EvPost, protocol.EvTake:
		if j.twice[protocol.Ident{Rank: r.Node, Inc: r.Inc}] || j.both && j.twice[r.Peer] {
			return nil
		}
	}
	return j.Checker.Observe(r)
}

// Slack is CH1: of the two ends of a link none is ever more than two transitions ahead.
type Slack struct{ histories histories }

// NewSlack returns a checker of CH1.
func NewSlack() *Slack { return &Slack{histories{}} }

// Name returns CH1.
func (c *Slack) Name() string { return "CH1" }

// Observe compares both ends at every transition.
func (c *Slack) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvLink {
		return nil
	}
	mine, other := c.histories.ends(r)
	*mine = r.Seq
	if *mine > *other+2 || *other > *mine+2 {
		return Violatedf(c.Name(), r.T, "%v has made %d transitions of its link to %v, which has made %d", r.Node, *mine, r.Peer, *other)
	}
	return nil
}

// Finish has nothing to add.
func (c *Slack) Finish() error { return nil }

// Sequence is CH2: what an end goes through is a prefix of one sequence, up, down, up and so on, numbered from 1 without a gap, and
// the incarnations of a peer come one after another, each after the link to the one before went down.
type Sequence struct {
	histories histories
	latest    map[reader]progress
}

// progress is how far the history with the latest incarnation of a peer has come.
type progress struct {
	inc   protocol.Inc
	count uint64
}

// A reader is a member as it knows another.
type reader struct {
	self protocol.Ident
	peer protocol.Rank
}

// NewSequence returns a checker of CH2.
func NewSequence() *Sequence {
	return &Sequence{histories: histories{}, latest: map[reader]progress{}}
}

// Name returns CH2.
func (c *Sequence) Name() string { return "CH2" }

// Observe looks at every transition.
func (c *Sequence) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvLink {
		return nil
	}
	mine, _ := c.histories.ends(r)
	if r.Seq != *mine+1 {
		return Violatedf(c.Name(), r.T, "%v makes transition %d of its link to %v after %d", r.Node, r.Seq, r.Peer, *mine)
	}
	*mine = r.Seq
	switch r.Why {
	case "tin":
		if !up(r.Seq) {
			return Violatedf(c.Name(), r.T, "%v is back in contact with %v, and takes the link down", r.Node, r.Peer)
		}
	case "tout", "restarted":
		if up(r.Seq) {
			return Violatedf(c.Name(), r.T, "%v is out of contact with %v, and takes the link up", r.Node, r.Peer)
		}
	}
	who := reader{protocol.Ident{Rank: r.Node, Inc: r.Inc}, r.Peer.Rank}
	switch last := c.latest[who]; {
	case r.Peer.Inc < last.inc:
		return Violatedf(c.Name(), r.T, "the link of %v to %v changes after one to incarnation %d", r.Node, r.Peer, last.inc)
	case r.Peer.Inc > last.inc && up(last.count):
		return Violatedf(c.Name(), r.T, "the link of %v to incarnation %d never went down, and one to %v changes", r.Node, last.inc, r.Peer)
	}
	c.latest[who] = progress{r.Peer.Inc, r.Seq}
	return nil
}

// Finish has nothing to add.
func (c *Sequence) Finish() error { return nil }

// Single is CH4: what one end finds out makes at most one transition at each end. A transition that an end merely followed was made
// by the other before, under the same number, so each number has one that made it for a reason. And no end comes up by itself
// before messages have gone to the other end and back since it went down: what took it down is not over before. (Another
// incarnation of the other end is another history, which may begin with what was said to the one before.)
type Single struct {
	histories histories
	n         int
	fell      []sim.Real     // by end and peer: when the link last went down, or the end started
	reached   []sim.Real     // when a message of the end first arrived after that; Forever: none did
	back      []sim.Real     // when one of the peer last did
	with      []protocol.Inc // with which incarnation of the peer it was that it went down
}

// NewSingle returns a checker of CH4. It needs the records of messages.
func NewSingle(t Truth) *Single {
	n := t.Members()
	c := &Single{histories: histories{}, n: n, fell: make([]sim.Real, n*n), reached: make([]sim.Real, n*n), back: make([]sim.Real, n*n),
		with: make([]protocol.Inc, n*n)}
	for i := range c.reached {
		c.reached[i] = sim.Forever
	}
	return c
}

// Name returns CH4.
func (c *Single) Name() string { return "CH4" }

// Observe follows messages, and looks at every transition.
func (c *Single) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvDeliver:
		sent := way(c.n, r.Peer.Rank, r.Node)
		c.reached[sent] = min(c.reached[sent], r.T)
		c.back[way(c.n, r.Node, r.Peer.Rank)] = r.T
	case sim.EvStart, sim.EvRestart:
		for peer := range protocol.Rank(c.n) {
			c.fall(way(c.n, r.Node, peer), r.T, 0)
		}
	case protocol.EvLink:
		return c.onLink(r)
	}
	return nil
}

func (c *Single) fall(end int, t sim.Real, with protocol.Inc) {
	c.fell[end], c.reached[end], c.with[end] = t, sim.Forever, with
}

// onLink looks at a transition.
func (c *Single) onLink(r *sim.Record) error {
	mine, other := c.histories.ends(r)
	*mine = r.Seq
	end := way(c.n, r.Node, r.Peer.Rank)
	switch {
	case r.Why == "followed" && *other < r.Seq:
		return Violatedf(c.Name(), r.T, "%v follows transition %d of its link to %v, which is at %d itself", r.Node, r.Seq, r.Peer, *other)
	case r.Why == "tin" && (c.with[end] == 0 || c.with[end] == r.Peer.Inc) && c.back[end] < c.reached[end]:
		return Violatedf(c.Name(), r.T, "%v takes its link to %v up, although since %v nothing has gone there and back", r.Node, r.Peer, c.fell[end])
	}
	if !up(r.Seq) {
		c.fall(end, r.T, r.Peer.Inc)
	}
	return nil
}

// Finish has nothing to add.
func (c *Single) Finish() error { return nil }

// Severed is CH3: an end takes its link down within tout of the last message that it heard from the other end, and within tout + tin
// of the last that the other end heard, by its own clock. That is more than to be down in the end, and holds at both ends whichever
// direction broke.
//
// An end whose process stood still is given the time of a late timer after that.
type Severed struct {
	truth     Truth
	tout, tin time.Duration
	late      time.Duration
	n         int
	up        []bool     // by end and peer
	heard     []sim.Real // by sender and receiver: when the last message arrived
	disturbed []sim.Real // when a process last went on after standing still, or its clock jumped
	looked    sim.Real
	inc       []protocol.Inc // as which each member speaks
}

// NewSevered returns a checker of CH3.
func NewSevered(t Truth, tout, tin, late time.Duration) *Severed {
	n := t.Members()
	return &Severed{truth: t, tout: tout, tin: tin, late: late, n: n, up: make([]bool, n*n), heard: make([]sim.Real, n*n), disturbed: make([]sim.Real, n),
		inc: make([]protocol.Inc, n)}
}

// Name returns CH3.
func (c *Severed) Name() string { return "CH3" }

// Observe follows which members heard which others, and looks at all ends from time to time.
func (c *Severed) Observe(r *sim.Record) error {
	if r.T >= c.looked.Add(c.late) {
		c.looked = r.T
		if err := c.look(r.T); err != nil {
			return err
		}
	}
	switch r.Ev {
	case sim.EvDeliver:
		c.heard[way(c.n, r.Peer.Rank, r.Node)] = r.T
	case protocol.EvSpeak, protocol.EvNode:
		c.renew(r)
	case protocol.EvWait:
		c.renew(r)
		if r.Why == staleRecord {
			c.clear(r.Node) // it has no incarnation now, and no links
		}
	case protocol.EvLink:
		c.renew(r)
		c.up[way(c.n, r.Node, r.Peer.Rank)] = up(r.Seq)
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose:
		c.clear(r.Node)
	case sim.EvFault, sim.EvHeal:
		switch f := r.Detail.(sim.Fault); f.Kind {
		case sim.Pause, sim.Suspend, sim.Halt, sim.Jump:
			c.disturbed[f.A] = r.T
		}
	}
	return nil
}

// staleRecord is why a member waits that has found out that its record is an old copy.
const staleRecord = "stale record"

// renew follows the identity under which a member speaks: one that finds out that it has spoken as another drops its links, and makes new ones.
func (c *Severed) renew(r *sim.Record) {
	if c.inc[r.Node] != r.Inc {
		c.inc[r.Node] = r.Inc
		c.clear(r.Node)
	}
}

func (c *Severed) clear(r protocol.Rank) { clear(c.up[way(c.n, r, 0):way(c.n, r+1, 0)]) }

// look looks at all ends that are up.
func (c *Severed) look(t sim.Real) error {
	judged := t.Add(-c.late)
	for i, up := range c.up {
		a, b := protocol.Rank(i/c.n), protocol.Rank(i%c.n)
		if !up || c.truth.Frozen(a) || c.disturbed[a] >= judged {
			continue
		}
		if silent := c.since(a, c.heard[way(c.n, b, a)], judged); silent >= c.tout {
			return Violatedf(c.Name(), t, "the link of %v to %v is up %v after %v last heard from it", a, b, silent, a)
		}
		if silent := c.since(a, c.heard[way(c.n, a, b)], judged); silent >= c.tout+c.tin {
			return Violatedf(c.Name(), t, "the link of %v to %v is up %v after %v was last heard by it", a, b, silent, a)
		}
	}
	return nil
}

// since returns how long it is from one instant to a later one, by the clock of a member.
func (c *Severed) since(r protocol.Rank, from, to sim.Real) time.Duration {
	if from >= to {
		return 0
	}
	clock := c.truth.Clock(r)
	return clock.At(to).Sub(clock.At(from))
}

// Finish looks once more.
func (c *Severed) Finish() error { return c.look(c.truth.Now()) }

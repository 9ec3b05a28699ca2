package link

import (
	"github.com/regentproject/regent/internal/protocol"
)

// Links are all links of one member. They are a part of a machine and as pure as one: package doc shows how to own them.
type Links struct {
	config Config
	ends   []end
	next   protocol.Time // when the next pings are due
	check  protocol.Time // no link that is up can be silent for too long before
	absent protocol.Set  // the ranks that no member has
	busy   protocol.Set  // the members that something must go to in this Step
	zero   protocol.Time // what pings count from, so that no ping is 0, wherever the clock began
	began  bool

	changes  []Change
	messages []Message
	facts    []protocol.Fact
}

// end is one end of one link.
type end struct {
	history
	queue
}

// New returns the links of a member that is about to start. All are down.
func New(c Config) (*Links, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l := &Links{config: c, ends: make([]end, c.Members), check: protocol.Never}
	for r := range l.ends {
		l.ends[r].peer.Rank = protocol.Rank(r)
	}
	l.changes = make([]Change, 0, c.Members)
	return l, nil
}

// Grow makes room for so many members. One that has been there stays as it is. The absent are ranks that no member has: nothing is
// sent to them.
func (l *Links) Grow(members int, absent protocol.Set) {
	l.absent = absent
	for r := len(l.ends); r < members; r++ {
		e := end{}
		e.peer.Rank = protocol.Rank(r)
		l.ends = append(l.ends, e)
	}
	l.config.Members = len(l.ends)
}

// Vacate forgets the member that had a rank: the next one that has it begins a history of its own, whatever its incarnation.
func (l *Links) Vacate(now protocol.Time, r protocol.Rank) {
	if int(r) >= len(l.ends) {
		return
	}
	e := &l.ends[r]
	if changes := len(l.changes); e.up() {
		l.turn(now, e, Restarted)
		l.changes = l.changes[:changes]
	}
	e.discard()
	e.history = history{peer: protocol.Ident{Rank: r}}
}

// begin notes when the links were used first.
func (l *Links) begin(now protocol.Time) {
	if !l.began {
		l.began, l.zero, l.next = true, now-1, now
	}
}

// Receive takes what came from a peer. It returns the transitions that follow from it, in order, and the messages that are to be
// delivered after them; the next call uses both slices again. What is no Message of a peer changes nothing.
func (l *Links) Receive(now protocol.Time, r *protocol.Receive) ([]Change, []Message) {
	l.begin(now)
	l.changes, l.messages = l.changes[:0], l.messages[:0]
	m, ok := r.Message.(Message)
	from := r.From
	if !ok || int(from.Rank) >= len(l.ends) || from.Rank == l.config.Self || from.Inc == 0 {
		return nil, nil
	}
	e := &l.ends[from.Rank]
	if from.Inc < e.peer.Inc {
		return nil, nil
	}
	if from.Inc > e.peer.Inc {
		l.renew(now, e, from)
	}
	head := m.Head()
	matching := head.Peer == l.config.Inc
	if matching && head.Count > e.own+2 {
		return l.changes, nil // no peer that keeps to the rules is that far ahead
	}
	e.hear(now-l.zero, head, matching, l.config.Tin)
	if !matching {
		return l.changes, nil
	}
	l.judge(now, e)
	if e.up() && head.Count == e.own { // else it belongs to a session that is over, or to none
		l.take(e, m)
	}
	return l.changes, l.messages
}

// judge makes the transitions that follow from what was heard.
func (l *Links) judge(now protocol.Time, e *end) {
	for e.seen > e.own {
		l.turn(now, e, Followed)
	}
	switch {
	case e.up() && e.silent(now-l.zero, l.config.Tout):
		l.turn(now, e, Tout)
	case !e.up() && e.seen >= e.own && e.fresh(now-l.zero, l.config.Tin):
		l.turn(now, e, Tin)
	}
}

// take takes a message of the present session, and delivers what is next.
func (l *Links) take(e *end, m Message) {
	head := m.Head()
	e.acknowledge(head.Ack)
	if e.waiting(l.config.Window) { // the window has moved
		l.busy.Add(e.peer.Rank)
	}
	if head.Seq == 0 {
		return
	}
	l.busy.Add(e.peer.Rank) // also if it is known already: the acknowledgement was lost then
	for m = e.arrive(m, head.Seq, l.config.Window); m != nil; m = e.next() {
		l.messages = append(l.messages, m)
		l.state(protocol.EvTake, e, e.took, m)
	}
}

// renew begins a history with a new incarnation of the peer.
func (l *Links) renew(now protocol.Time, e *end, peer protocol.Ident) {
	if e.up() {
		l.turn(now, e, Restarted)
	}
	e.discard()
	e.history = history{peer: peer}
	l.busy.Add(peer.Rank)
}

// turn makes one transition.
func (l *Links) turn(now protocol.Time, e *end, why Why) {
	e.discard()
	l.busy.Add(e.peer.Rank)
	c := e.history.turn(now-l.zero, why)
	if c.Up {
		l.check = min(l.check, l.expiry(e))
	}
	l.changes = append(l.changes, c)
	l.facts = append(l.facts, protocol.Fact{Ev: protocol.EvLink, Dom: protocol.Consistent, Group: l.config.Group, Peer: c.Peer,
		Seq: c.Count, Why: why.String()})
}

// state states what became of the message seq of the session.
func (l *Links) state(ev protocol.Ev, e *end, seq uint64, m Message) {
	f := protocol.Fact{Ev: ev, Dom: protocol.Consistent, Group: l.config.Group, Peer: e.peer, Term: e.own, Seq: seq, Why: m.Name()}
	if m, ok := m.(interface{ Mark() uint64 }); ok {
		f.Gen = m.Mark()
	}
	l.facts = append(l.facts, f)
}

// Tick takes down the links whose peers are silent. It belongs into every Step; the transitions are valid until the next.
func (l *Links) Tick(now protocol.Time) []Change {
	l.begin(now)
	l.changes = l.changes[:0]
	if now < l.check {
		return l.changes
	}
	for r := range l.ends {
		if e := &l.ends[r]; e.up() && e.silent(now-l.zero, l.config.Tout) {
			l.turn(now, e, Tout)
		}
	}
	l.recheck()
	return l.changes
}

// expiry returns when a link that is up will have been silent for too long.
func (l *Links) expiry(e *end) protocol.Time { return (l.zero + e.contact).Add(l.config.Tout) }

// recheck finds out when the next link may have been silent for too long.
func (l *Links) recheck() {
	l.check = protocol.Never
	for r := range l.ends {
		if e := &l.ends[r]; e.up() {
			l.check = min(l.check, l.expiry(e))
		}
	}
}

// Up says whether the link to a peer is up, and in which session.
func (l *Links) Up(peer protocol.Rank) (session uint64, up bool) {
	e := &l.ends[peer]
	return e.own, e.up()
}

// Peer returns the peer in the latest incarnation that was heard of it; 0: none was.
func (l *Links) Peer(peer protocol.Rank) protocol.Ident { return l.ends[peer].peer }

// Send puts a message on the way to a peer, in the present session. It keeps a copy. If the link is down, or to oneself, it does nothing
// and returns false.
func (l *Links) Send(peer protocol.Rank, m Message) bool { return l.post(peer, m, false) }

// SendDurable does the same with a message that waits for the disk, as a durable Envelope does. Those behind it wait for it.
func (l *Links) SendDurable(peer protocol.Rank, m Message) bool { return l.post(peer, m, true) }

func (l *Links) post(peer protocol.Rank, m Message, durable bool) bool {
	e := &l.ends[peer]
	if !e.up() {
		return false
	}
	seq := e.post(m.Copy().(Message), durable)
	if e.waiting(l.config.Window) {
		l.busy.Add(peer)
	}
	l.state(protocol.EvPost, e, seq, m)
	return true
}

// Flush appends what is to be sent. It is called once in each Step, after all else.
func (l *Links) Flush(now protocol.Time, out *protocol.Effects) {
	l.begin(now)
	due := now >= l.next
	if due {
		l.next = now.Add(l.config.Ping)
		l.busy = protocol.Everyone(len(l.ends)).Without(l.config.Self)
		l.recheck()
	}
	for r := range l.busy.Minus(l.absent).All() {
		e := &l.ends[r]
		begin := len(out.Send)
		l.flush(now, e, due, out)
		if len(out.Send) == begin {
			ping := protocol.Make[Ping](out)
			l.address(now, e, &ping.Header, 0)
			out.Send = append(out.Send, protocol.Envelope{To: r, Message: ping})
		}
	}
	l.busy = protocol.Set{}
}

// flush appends the messages to one peer that have not been sent, or that should have been acknowledged by now.
func (l *Links) flush(now protocol.Time, e *end, due bool, out *protocol.Effects) {
	for i := range e.out[:min(len(e.out), l.config.Window)] {
		p := &e.out[i]
		if p.sent != protocol.Never && !(due && now.Sub(p.sent) >= l.config.Ping/2) {
			continue
		}
		if p.sent != protocol.Never {
			p.message = p.message.Copy().(Message) // the one that was sent stays as it is
		}
		p.sent = now
		l.address(now, e, p.message.Head(), e.acked+1+uint64(i))
		out.Send = append(out.Send, protocol.Envelope{To: e.peer.Rank, Message: p.message, Durable: p.durable})
	}
}

// address fills in the header of what goes to a peer now.
func (l *Links) address(now protocol.Time, e *end, h *Header, seq uint64) {
	*h = Header{Peer: e.peer.Inc, Count: e.own, Ping: now - l.zero, Echo: e.history.ping, Ack: e.took, Seq: seq}
}

// Wake returns when the links want a Step, as of the last Flush.
func (l *Links) Wake() protocol.Time { return min(l.next, l.check) }

// Facts appends what happened since it was called last.
func (l *Links) Facts(to []protocol.Fact) []protocol.Fact {
	to = append(to, l.facts...)
	l.facts = l.facts[:0]
	return to
}

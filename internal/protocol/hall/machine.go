package hall

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Machine is one member's part in one group. It takes part from Campaign on until it has resigned; outside of that it says
// nothing, as if it had crashed, but keeps the lock that it has given.
type Machine struct {
	cfg      Config
	everyone protocol.Set

	// open says that the member takes part. reopen is when it does so again by itself, after Unfit.
	open   bool
	reopen protocol.Time

	peers []peer
	// alive are the members that sent a fast message lately; stale is no later than the first instant at which one of
	// them no longer counts.
	alive protocol.Set
	stale protocol.Time
	// turn is by how much ranks are rotated. Invariant: it never falls.
	turn uint64

	grant lock
	// followed is the leader that this member sees, and partition its logical partition; none while the member leads.
	followed  protocol.Ident
	partition protocol.Set
	// hoped are the other members of the last partition that this member was in, until it leads. They are nodes of its tree before
	// they have answered. They count only with Arity.
	hoped protocol.Set

	request uint64 // the last one sent
	pend    round
	// cand is when to ask for support next, insist when the members that have not answered a relayed request are asked directly,
	// and collect when the replies to the pending request are counted.
	cand, insist, collect protocol.Time

	lead leadership
	// trees has one collation for each candidate that this member has answered along a tree. Invariant: no two have one root.
	trees []collation

	closing, closed bool

	now protocol.Time     // of the last Step, for AppendState only
	out *protocol.Effects // of the present Step
}

// A peer is what is known of one member.
type peer struct {
	inc protocol.Inc
	// heard is when the last fast message came; counts only while the member is in alive.
	heard protocol.Time
	// voided is the highest request that was released.
	voided uint64
	// slow is the bound of the last slow message since heard, zero if there was none.
	slow time.Duration
	// asked is when its last Election came, and unlisted since when they have come without a break and have not named this
	// one among those that it hears; zero if the last one did.
	asked, unlisted protocol.Time
	// met says that a fast message of it came from itself, and that it has not failed to answer since. direct is until when it
	// answers directly, because it did not answer a request of this member's in time along the tree. These count only with Arity.
	met    bool
	direct protocol.Time
	// lost says that it fell silent, or was restarted, while this member's last lock was on it. Fast messages of any kind have come
	// from since to last without a break. These count only with Calm.
	lost        bool
	since, last protocol.Time
}

// A round is one request and what became of it so far.
type round struct {
	on      bool
	request uint64
	sent    protocol.Time
	// target are the members that were alive when it was sent, and nodes those of its tree.
	target, nodes, yes, no protocol.Set
}

// silent returns the members that should have answered and have not.
func (p *round) silent() protocol.Set { return p.target.Union(p.nodes).Minus(p.yes.Union(p.no)) }

// New returns the machine of a member that is about to start.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := &Machine{
		cfg: c, everyone: protocol.Everyone(c.Members), peers: make([]peer, c.Members),
		reopen: protocol.Never, stale: protocol.Never, cand: protocol.Never, insist: protocol.Never, collect: protocol.Never,
		followed: protocol.NoIdent,
	}
	m.cfg.Supporters = max(1, c.Supporters)
	m.request = c.After
	m.grant.to = protocol.NoIdent
	m.lead.stopBy = protocol.Never
	return m, nil
}

// Step takes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out, m.now = out, now
	m.lapse(now)
	switch ev := ev.(type) {
	case protocol.Start:
		m.onStart(now)
	case *protocol.Receive:
		m.onReceive(now, ev)
	case protocol.Stopped:
		if ev.Group == m.cfg.Group {
			m.onStopped(now)
		}
	case protocol.Campaign:
		if ev.Group == m.cfg.Group {
			m.onCampaign(now)
		}
	case protocol.Resign:
		if ev.Group == m.cfg.Group {
			m.onResign(now, ev.Why)
		}
	case protocol.Lapse:
		if ev.Group == m.cfg.Group && m.lead.on && ev.Tenure == m.lead.tenure {
			m.endRenewals(now, protocol.Cause{Code: ev.Why, Peer: m.cfg.Self})
		}
	case protocol.Unfit:
		m.onUnfit(now)
	case protocol.Close:
		m.closing = true
		m.onResign(now, protocol.Closed)
	}
	m.onTimers(now)
	m.follow(now)
	m.closed = m.closing && !m.open && now > m.grant.until
	out.Wake = m.wake()
}

// Closed says that the member neither leads nor has a lock outstanding.
func (m *Machine) Closed() bool { return m.closed }

// onStart begins with a lock to nobody: whatever the incarnation before has promised is over when it ends (E-H8).
func (m *Machine) onStart(now protocol.Time) {
	m.peers[m.cfg.Self].inc = m.cfg.Inc
	m.grant = lock{to: protocol.NoIdent, until: now.Add(-1)}
	if !m.cfg.Clean {
		m.grant.until = now.Add(max(m.cfg.Lock, m.cfg.Longest))
		m.fact(protocol.Fact{Ev: protocol.EvWait, Until: m.grant.until, Why: "restarted"})
	}
	m.publish(protocol.NoIdent, protocol.Set{}, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
}

func (m *Machine) onCampaign(now protocol.Time) {
	if m.closing {
		return
	}
	m.lead.leaving = false
	m.reopen = protocol.Never
	if m.open {
		return
	}
	m.open = true
	m.cand = now
}

// onReceive hands a message of a present incarnation to its rule.
func (m *Machine) onReceive(now protocol.Time, r *protocol.Receive) {
	if int(r.From.Rank) >= m.cfg.Members {
		return
	}
	p := &m.peers[r.From.Rank]
	if r.From.Inc < p.inc {
		return
	}
	if r.From.Inc > p.inc {
		m.renew(r.From)
	}
	if rel, ok := r.Message.(*Release); ok {
		m.onRelease(now, r, rel)
		return
	}
	if !m.open {
		return
	}
	if r.Delay <= m.cfg.Delta {
		m.touch(now, r.From.Rank)
	}
	switch msg := r.Message.(type) {
	case *Election:
		m.onElection(now, r, msg, true)
	case *Relay:
		m.onRelay(now, r, msg)
	case *Reply:
		m.onReply(now, r, msg)
	case *Ack:
		m.onAck(r.From.Rank, msg)
	}
}

// renew forgets what was known of an earlier incarnation of a peer. The lock that it has stands.
func (m *Machine) renew(id protocol.Ident) {
	p := &m.peers[id.Rank]
	*p = peer{inc: id.Inc, heard: p.heard, lost: p.lost || m.grant.to.Rank == id.Rank}
	if p.lost && m.cfg.Calm > 0 {
		m.alive.Remove(id.Rank)
	}
}

// onTimers does what is due. A late timer is made up for once.
func (m *Machine) onTimers(now protocol.Time) {
	if now >= m.reopen {
		m.onCampaign(now)
	}
	m.onTreeTimers(now)
	if now >= m.insist {
		m.onInsist(now)
	}
	if now >= m.collect {
		m.evaluate(now)
	}
	if now >= m.lead.stopBy {
		m.endRenewals(now, m.lead.why)
	}
	if now >= m.cand {
		m.candidate(now)
	}
}

func (m *Machine) wake() protocol.Time {
	w := min(m.cand, m.insist, m.collect, m.reopen, m.lead.stopBy)
	for i := range m.trees {
		w = min(w, m.trees[i].due, m.trees[i].ackDue)
	}
	if m.lead.on {
		w = min(w, m.lead.until)
	}
	if m.followed != protocol.NoIdent || m.closing && !m.closed {
		w = min(w, m.grant.until.Add(1))
	}
	return w
}

func (m *Machine) fact(f protocol.Fact) {
	f.Dom, f.Group = protocol.Local, m.cfg.Group
	m.out.Facts = append(m.out.Facts, f)
}

// publish makes a view known.
func (m *Machine) publish(leader protocol.Ident, support protocol.Set, cause protocol.Cause) {
	m.out.Views = append(m.out.Views, protocol.View{Group: m.cfg.Group, Domain: protocol.Local, Leader: leader, Until: protocol.Never,
		Support: support, Cause: cause})
}

func (m *Machine) me() protocol.Ident { return protocol.Ident{Rank: m.cfg.Self, Inc: m.cfg.Inc} }

// broadcast sends a message to everybody, oneself included.
func (m *Machine) broadcast(msg protocol.Message) {
	for r := range protocol.Rank(m.cfg.Members) {
		m.out.Send = append(m.out.Send, protocol.Envelope{To: r, Message: msg})
	}
}

package rain

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/link"
)

// group is one consistent group at one member.
type group struct {
	m     *Machine
	name  protocol.Group
	me    protocol.Rank
	peers []peer
	open  bool // the program takes part
	phase Phase
	// retiring is why the program of a member was asked to stop; until it has, the member stays. Zero: it was not asked. shown is
	// the last view that it received in this life.
	retiring protocol.Cause
	shown    protocol.View
	// view is the installed one, and known says that the member cannot have forgotten a later one.
	view  View
	known bool
	// reported is the last view that programs received, recovered the last whose recovery was reported done, as far as this
	// member knows; delivered is the last that its own program received in this life.
	reported, recovered, delivered Number
	// stalled is the member that was reported to its program as stalled, or Nobody.
	stalled protocol.Rank
	// rifts are the broken links within the view, and failing are those that have to leave because of one.
	rifts   []rift
	failing protocol.Set

	topics  []*topic
	attempt uint64
	invites []Topic // to a dead member: the last cand about itself, by its sender

	lease   ownLease
	reading reading
	pending pending
	stay    stay
	begin   bool          // an operator's word
	again   bool          // something changed that asks for another evaluation
	due     protocol.Time // when time alone does

	private string // what was last stated as the node's own state
}

// peer is what a member knows of another.
type peer struct {
	ident protocol.Ident
	up    bool
	// said is what it said last in this session, if it said anything.
	said  State
	spoke bool
	// broke says that the link to it broke and does not work again yet. Of their broken links it has reported lacks, and was sent sent.
	broke       bool
	lacks, sent protocol.Set
	// stopping is when it said that it is dead and that its program has not stopped yet.
	stopping protocol.Time
	// since is when it was lost, being a member; Never: it is not lost. complained says that this was reported.
	since      protocol.Time
	complained bool
	standing   string // what was last stated of it
}

func newGroup(m *Machine, name protocol.Group) *group {
	n := m.cfg.Members
	g := &group{m: m, name: name, me: m.cfg.Self, peers: make([]peer, n), invites: make([]Topic, n), stalled: protocol.Nobody}
	g.known = m.remembers
	g.stay.heard = make([]protocol.Time, n)
	g.stay.due = protocol.Never
	for r := range g.peers {
		g.peers[r] = newPeer(protocol.Rank(r))
		p := &g.peers[r]
		if m.links != nil {
			p.ident = m.links.Peer(protocol.Rank(r))
			_, p.up = m.links.Up(protocol.Rank(r))
		}
	}
	return g
}

func newPeer(r protocol.Rank) peer {
	return peer{since: protocol.Never, ident: protocol.Ident{Rank: r}}
}

// onCampaign lets the program take part.
func (g *group) onCampaign(now protocol.Time) {
	if g.open || g.m.closed {
		return
	}
	g.open = true
	if g.phase == Out {
		g.enter(g.rest())
		g.publishDead(protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody}, false)
	}
}

// onResign lets it take part no more.
func (g *group) onResign(now protocol.Time) {
	g.open = false
	switch g.phase {
	case Alive:
		g.die(protocol.Cause{Code: protocol.Resigned, Peer: g.me})
	case Joining:
		g.enter(Out)
	}
}

// retire lets the member leave in good order: it stays until its program has stopped, so that nobody takes over from it before.
func (g *group) retire(cause protocol.Cause) {
	switch {
	case g.phase == Alive && g.delivered != Number{}:
		if g.retiring == (protocol.Cause{}) {
			g.retiring = cause
			v, a := g.shown, *g.shown.Agreed // a later view may be installed, and not be reported yet
			a.Recover = a.Recover && g.recovered != Number{v.Term, a.Vid}
			v.Stop, v.Cause, v.Agreed = true, cause, &a
			g.m.out.Views = append(g.m.out.Views, v)
		}
	case g.phase == Alive:
		g.die(cause)
	case g.phase == Joining:
		g.enter(Out)
	}
}

// onStopped follows the end of the program: of one that was asked to stop, or of one that has had enough.
func (g *group) onStopped(now protocol.Time) {
	switch {
	case g.phase == Alive && g.delivered != Number{}:
		cause := protocol.Cause{Code: protocol.Resigned, Peer: g.me}
		if g.retiring != (protocol.Cause{}) {
			cause = g.retiring
		}
		// A member that is to leave the council takes part again if the change is cancelled, or has been since its program was asked to stop.
		g.open = g.open && (g.retiring.Code == protocol.Closed || g.m.going && g.retiring != (protocol.Cause{}))
		g.delivered = Number{}
		g.die(cause)
	case g.phase == Stopping:
		g.enter(g.rest())
	}
}

// rest is where a dead member stands whose program has stopped.
func (g *group) rest() Phase {
	if g.open && !g.m.ill && !g.m.going {
		return Joining
	}
	return Out
}

// onBegin lets a dead member begin anew with those that it sees.
func (g *group) onBegin(protocol.Time) {
	if g.phase == Joining {
		g.begin, g.again = true, true
	}
}

// forgotten follows the discovery that the member's record was an old copy.
func (g *group) forgotten(now protocol.Time) {
	if g.phase == Alive {
		g.die(protocol.Cause{Code: protocol.Restarted, Peer: g.me})
	}
	g.known, g.view, g.reported, g.recovered = false, View{}, Number{}, Number{}
	for r := range g.peers {
		g.onLink(now, &link.Change{Peer: g.peers[r].ident})
	}
}

// enter changes the phase, and tells everybody.
func (g *group) enter(p Phase) {
	g.phase = p
	g.announce()
}

// die makes a member dead.
func (g *group) die(cause protocol.Cause) {
	g.forget()
	g.retiring = protocol.Cause{}
	g.stay.end, g.stay.due = 0, protocol.Never
	g.stalled = protocol.Nobody
	in := g.delivered != Number{}
	g.delivered = Number{}
	if in {
		g.enter(Stopping)
	} else {
		g.enter(g.rest())
	}
	g.publishDead(cause, in)
	g.stateNode()
}

// announce tells all that are linked where this member stands.
func (g *group) announce() {
	for r := range g.peers {
		g.tell(protocol.Rank(r))
	}
	g.again = true
}

// tell says to one peer where this member stands.
func (g *group) tell(to protocol.Rank) {
	if g.peers[to].up {
		g.send(to, &State{Group: g.name, Phase: g.phase, View: g.view, Reported: g.reported, Recovered: g.recovered})
	}
}

func (g *group) send(to protocol.Rank, msg link.Message) {
	if g.m.sender != nil {
		g.m.sender.Send(to, msg)
	}
}

// onLink follows a transition of a link: what was said over it is void.
func (g *group) onLink(now protocol.Time, c *link.Change) {
	r := c.Peer.Rank
	p := &g.peers[r]
	p.broke = !c.Up && (p.up || p.broke)
	p.ident, p.up = c.Peer, c.Up
	p.said, p.spoke = State{}, false
	p.lacks, p.sent = protocol.Set{}, protocol.Set{}
	g.invites[r] = Topic{}
	for _, t := range g.topics {
		t.erase(r)
	}
	g.again = true
	if !c.Up {
		g.pending.broken(g, r)
		return
	}
	g.tell(r)
	if g.reading.under(g) {
		g.send(r, &Query{Group: g.name, Token: g.lease.token})
	}
	g.repeat(now, r)
}

// onState takes a peer's word on where it stands, and with it whatever it knows better.
func (g *group) onState(now protocol.Time, from protocol.Rank, s *State) {
	p := &g.peers[from]
	if s.Phase == Stopping && p.said.Phase != Stopping {
		p.stopping = now
	}
	p.said, p.spoke = *s, true
	p.said.Header = link.Header{}
	g.again = true
	if s.View.after(&g.view) {
		g.install(now, s.View, "heard")
		g.announce()
	}
	if s.View.Number != g.view.Number || s.View.Members != g.view.Members {
		return
	}
	if s.Phase == Alive {
		g.pending.lives(g, now, from)
	}
	if s.Reported == g.view.Number {
		g.reported = s.Reported
	}
	if s.Recovered == g.view.Number {
		g.recovered = s.Recovered
	}
}

// lost says whether a member of the view is not one any more as this member sees it: there is no link to it, it died, it has to
// leave, or it has left the council.
func (g *group) lost(j protocol.Rank) bool {
	return j != g.me && (!g.m.is(j, g.view.Epoch) || !g.peers[j].up || g.failing.Has(j) || g.died(j))
}

// died says whether a member of the view that is linked has said that it died in this view or a later one. (Of an earlier one it does
// not know yet that it was taken in.)
func (g *group) died(j protocol.Rank) bool {
	p := &g.peers[j]
	return j != g.me && p.up && p.spoke && p.said.Phase != Alive && p.said.View.Number.Compare(g.view.Number) >= 0
}

// present returns the members of the view that are not lost, this one among them.
func (g *group) present() protocol.Set {
	s := g.view.Members
	for j := range g.view.Members.All() {
		if g.lost(j) {
			s.Remove(j)
		}
	}
	return s
}

// linked returns the members that are present, and those that have to leave and have not left yet.
func (g *group) linked() protocol.Set {
	s := g.present()
	for j := range g.failing.All() {
		if j != g.me && g.peers[j].up && !g.died(j) {
			s.Add(j)
		}
	}
	return s
}

// joining returns the linked members that wait to be taken in.
func (g *group) joining() protocol.Set {
	var s protocol.Set
	if g.m.cfg.Form == Phi {
		return s
	}
	for r := range g.peers {
		p := &g.peers[r]
		if j := protocol.Rank(r); p.up && p.spoke && p.said.Phase == Joining && !g.view.Members.Has(j) && g.m.here(j) {
			s.Add(j)
		}
	}
	return s
}

// waiting returns the linked members that wait to be taken in, or will once their programs have stopped. A program gets Evict for that.
func (g *group) waiting(now protocol.Time) protocol.Set {
	s := g.joining()
	for r := range g.peers {
		p := &g.peers[r]
		if j := protocol.Rank(r); p.up && p.spoke && p.said.Phase == Stopping && now.Sub(p.stopping) < g.m.cfg.Evict && !g.view.Members.Has(j) {
			s.Add(j)
		}
	}
	return s.Minus(g.m.absent())
}

// install makes a view this member's own: one that it decided or announces, that its manager sent, or that it heard of from
// another member. The others get it after this: those that are taken in must hear of it from the manager first.
func (g *group) install(now protocol.Time, v View, how string) {
	before := g.view.Number.Vid
	if v.Number == g.view.Number {
		// Two parts of a network without a gate met: what was said of this number was said of another view.
		g.reported, g.recovered = Number{}, Number{}
		if g.delivered == v.Number {
			g.delivered = otherPart
		}
	}
	g.view, g.begin = v, false
	g.forget()
	g.known = g.known || how != "heard"
	g.m.note()
	g.stateView(how)
	holds := g.m.holds(&v, g.me)
	taken := holds && v.Joined.Has(g.me) && v.Number.Vid > before && !g.m.old(&v)
	switch {
	case !holds || taken && g.delivered != Number{}:
		// The others took this member for dead, be it that they knew no better: it must not go on with what it had.
		if g.phase == Alive {
			g.die(g.exclusion(now, &v))
		}
	case g.phase == Joining && taken && g.known:
		g.phase = Alive
		g.stay.begin(g, now)
		g.stateNode()
	}
}

// stateView states which view the member has, and how it got it.
func (g *group) stateView(how string) {
	v := &g.view
	g.fact(protocol.Fact{Ev: protocol.EvInstall, Peer: g.peers[v.Manager].ident, Members: v.Members, Term: v.Number.Token,
		Gen: v.Number.Vid, Seq: v.Parent.Vid, Why: how, Detail: *v})
}

// exclusion says why a view is without this member: because of its broken link, if it has one.
func (g *group) exclusion(now protocol.Time, v *View) protocol.Cause {
	if g.stalled != protocol.Nobody {
		return protocol.Cause{Code: protocol.Stalled, Peer: g.stalled, Bound: now.Sub(g.peers[g.stalled].since).Truncate(time.Millisecond)}
	}
	return protocol.Cause{Code: protocol.Excluded, Peer: v.Manager}
}

// otherPart is the number of no view: of one that the program received and that has the number of another.
var otherPart = Number{Token: 1}

// onInstall takes a manager's decision.
func (g *group) onInstall(now protocol.Time, from protocol.Rank, v *View) {
	if v.Manager != from {
		return
	}
	if v.after(&g.view) {
		g.install(now, *v, "told")
		g.announce()
	}
	if v.Number == g.view.Number && v.Manager == g.view.Manager {
		g.known = true
		if g.m.sender != nil {
			g.m.sender.SendDurable(from, &Installed{Group: g.name, Number: v.Number, Epoch: g.m.term.number})
		}
	}
}

func (g *group) fact(f protocol.Fact) {
	f.Dom, f.Group = protocol.Consistent, g.name
	g.m.fact(f)
}

package check

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// Table is R-TAB: at every event each member does what a line of the paper's Table 1 says, as corrected by the errata. The table is a
// list of states, of what is sent in each, and to which members; the rules that all its lines follow are these, judged by the links that a member
// states, by what it received over them, and by nothing else that it remembers:
//
//	connected to members, to none     alive, dead; with a gate: to a quorum, to less than one; who fails or was regained counts here
//	failing j                         as lost j: there is a link to it, and it has to leave because of another one
//	lost j, and nobody better ranked  it has asked every member that it is connected to about j (E-R1, E-R2, E-R4)
//	lost j, and the best asks         it has confirmed that to it
//	regained j                        it may ask all of them, and j itself; it may confirm it
//	lost j no more                    what it said of it is taken back (E-R5), where the form has a cancel
//	a link goes down                  what was said over it is void (E-R7)
//	all asked have confirmed          only now it decides, and exactly what they confirmed, by the same attempt (E-R6)
//
// What it must not say is found when it says it, and what it must say when its Step is over.
type Table struct {
	spec     RainSpec
	of       []*column
	inFlight map[stream]*sentTopics // what is on its way, by its number in its session
	dirty    protocol.Rank          // whose Step is not judged yet
	at       sim.Real
}

// A column is what one member of the table knows and has said.
type column struct {
	inc      protocol.Inc
	alive    bool
	view     rain.View
	standing []string
	topics   []*exchange
	invited  []uint64  // to a dead member: the last attempt of each peer about itself
	unsent   [][]topic // what it has said in this Step, to each peer, and not posted yet
}

// topic is what is said of which member, in which view, and by which attempt.
type topic struct {
	rain.Topic
	ev protocol.Ev
}

// exchange are all words about one matter: attempts by peer, 0 if there are none.
type exchange struct {
	kind                           string
	about                          protocol.Rank
	asked, confirmed, heard, given []uint64 // by it, to it by who was asked, to it, by it to who asked
}

// sentTopics are the topics of one direction of a session.
type sentTopics struct {
	session uint64
	at      map[uint64]topic
}

// NewTable returns the checker.
func NewTable(t Truth, s RainSpec) *Table {
	c := &Table{spec: s, inFlight: make(map[stream]*sentTopics), dirty: protocol.Nobody}
	for range t.Members() {
		c.of = append(c.of, newColumn(t.Members()))
	}
	return c
}

func newColumn(n int) *column {
	return &column{standing: make([]string, n), invited: make([]uint64, n), unsent: make([][]topic, n)}
}

// Name returns R-TAB.
func (c *Table) Name() string { return "R-TAB" }

// Observe follows what members receive and judges what they say.
func (c *Table) Observe(r *sim.Record) error {
	if c.dirty != protocol.Nobody && (r.Node != c.dirty || r.T != c.at) {
		if err := c.settled(c.dirty); err != nil {
			return err
		}
		c.dirty = protocol.Nobody
	}
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		c.of[r.Node] = newColumn(len(c.of))
		return nil
	case protocol.EvLink, protocol.EvPost, protocol.EvTake:
	case protocol.EvInstall, protocol.EvNode, protocol.EvPeer, protocol.EvCand, protocol.EvAccept, protocol.EvCancel, protocol.EvConv:
		if r.Group != c.spec.Group {
			return nil
		}
	default:
		return nil
	}
	c.dirty, c.at = r.Node, r.T
	m := c.of[r.Node]
	if m.inc != r.Inc {
		m.inc = r.Inc
		m.forget() // as another incarnation it has said nothing yet
	}
	return c.step(r, m)
}

// step takes one fact.
func (c *Table) step(r *sim.Record, m *column) error {
	switch r.Ev {
	case protocol.EvLink:
		m.erase(r.Peer.Rank)
	case protocol.EvPost:
		c.post(r, m)
	case protocol.EvTake:
		c.take(r, m)
	case protocol.EvInstall:
		if v, ok := r.Detail.(rain.View); ok {
			m.view = v
		}
		m.forget()
	case protocol.EvNode:
		m.alive = r.Why != "dead"
		if !m.alive {
			m.forget()
		}
	case protocol.EvPeer:
		m.standing[r.Peer.Rank] = r.Why
	case protocol.EvConv:
		return c.decides(r, m)
	default:
		t := topic{ev: r.Ev}
		t.Number, t.About, t.Attempt = rain.Number{Token: r.Term, Vid: r.Gen}, r.Members.Min(), r.Seq
		t.Kind = rain.Up
		if r.Why == rain.Dn.String() {
			t.Kind = rain.Dn
		}
		m.unsent[r.Peer.Rank] = append(m.unsent[r.Peer.Rank], t)
		return c.says(r, m, &t)
	}
	return nil
}

// post gives what was said its number in the session.
func (c *Table) post(r *sim.Record, m *column) {
	said := m.unsent[r.Peer.Rank]
	if len(said) == 0 || r.Why != "rain.Cand" && r.Why != "rain.Accept" && r.Why != "rain.Cancel" {
		return
	}
	key := stream{protocol.Ident{Rank: r.Node, Inc: r.Inc}, r.Peer}
	w := c.inFlight[key]
	if w == nil {
		w = &sentTopics{at: make(map[uint64]topic)}
		c.inFlight[key] = w
	}
	if w.session != r.Term {
		w.session = r.Term
		clear(w.at)
	}
	w.at[r.Seq] = said[0]
	m.unsent[r.Peer.Rank] = append(said[:0], said[1:]...)
}

// take remembers what a member received, unless it is of another view.
func (c *Table) take(r *sim.Record, m *column) {
	w := c.inFlight[stream{r.Peer, protocol.Ident{Rank: r.Node, Inc: r.Inc}}]
	if w == nil || w.session != r.Term {
		return
	}
	t, ok := w.at[r.Seq]
	if !ok {
		return
	}
	from := r.Peer.Rank
	if own := t.Kind == rain.Up && t.About == r.Node; own && !m.alive && t.ev == protocol.EvCand {
		m.invited[from] = t.Attempt
	}
	if !m.alive || t.Number != m.view.Number {
		return
	}
	s := m.topic(t.Kind.String(), t.About)
	switch t.ev {
	case protocol.EvCand:
		s.heard[from] = t.Attempt
	case protocol.EvAccept:
		s.confirmed[from] = t.Attempt
	case protocol.EvCancel:
		s.heard[from], s.confirmed[from] = 0, 0
	}
}

// topic finds the sayings about a matter, or makes them.
func (m *column) topic(kind string, about protocol.Rank) *exchange {
	for _, s := range m.topics {
		if s.kind == kind && s.about == about {
			return s
		}
	}
	n := len(m.standing)
	all := make([]uint64, 4*n)
	s := &exchange{kind, about, all[:n], all[n : 2*n], all[2*n : 3*n], all[3*n:]}
	m.topics = append(m.topics, s)
	return s
}

func (m *column) forget() { m.topics = m.topics[:0] }

// erase forgets what was said over a link.
func (m *column) erase(peer protocol.Rank) {
	m.invited[peer], m.unsent[peer] = 0, nil
	for _, s := range m.topics {
		s.asked[peer], s.confirmed[peer], s.heard[peer], s.given[peer] = 0, 0, 0, 0
	}
}

// connected returns the members that it is connected to, itself among them, and lost those that it has lost.
func (m *column) connected(self protocol.Rank) (connected, lost protocol.Set) {
	connected.Add(self)
	for j := range m.view.Members.All() {
		switch {
		case j == self:
		case m.standing[j] == "connected":
			connected.Add(j)
		case m.standing[j] == "lost" || m.standing[j] == "failing":
			lost.Add(j)
		}
	}
	return connected, lost
}

// seen returns who is linked, in whatever state, and this member.
func (m *column) seen(self protocol.Rank) protocol.Set {
	s := protocol.NewSet(self)
	for j, is := range m.standing {
		if is == "connected" || is == "failing" || is == "regained" {
			s.Add(protocol.Rank(j))
		}
	}
	return s
}

// best returns who is to ask.
func (s *RainSpec) best(of protocol.Set) protocol.Rank {
	if !s.Leaders.Empty() {
		of = of.Intersect(s.Leaders)
	}
	return of.Min()
}

// says judges a cand, an accept or a cancel by what is so.
func (c *Table) says(r *sim.Record, m *column, t *topic) error {
	to := r.Peer.Rank
	if r.Ev == protocol.EvAccept && !m.alive && t.Kind == rain.Up && t.About == r.Node {
		if m.invited[to] != t.Attempt {
			return Violatedf(c.Name(), r.T, "%v, which is dead, confirms to %v that it is back by attempt %d; it was asked by %d", r.Node, to, t.Attempt, m.invited[to])
		}
		m.invited[to] = 0
		return nil
	}
	s := m.topic(t.Kind.String(), t.About)
	connected, lost := m.connected(r.Node)
	so := lost.Has(t.About) || t.Kind == rain.Up && m.standing[t.About] == "regained"
	best := c.spec.best(connected)
	heard := connected.Has(to) || t.Kind == rain.Up && to == t.About
	bad := ""
	switch {
	case !m.alive || t.Number != m.view.Number:
		bad = "it is dead, or in another view"
	case r.Ev == protocol.EvCancel && (max(s.asked[to], s.given[to]) != t.Attempt || t.Kind == rain.Dn && so):
		bad = "it has not said that, or it is still so"
	case r.Ev == protocol.EvCand && (!so || best != r.Node || !heard || s.asked[to] != 0):
		bad = "it is not so, or not its place to ask, or it has asked before"
	case r.Ev == protocol.EvAccept && (!so || best != to || s.heard[to] != t.Attempt || s.given[to] == t.Attempt):
		bad = "it is not so, or was not asked, or not by who is to ask, or it was confirmed before"
	}
	if bad != "" {
		return Violatedf(c.Name(), r.T, "%v says %s(%v, %s, attempt %d) to %v; %s: it is connected to %v and has lost %v", r.Node, r.Ev, t.About, t.Kind,
			t.Attempt, to, bad, connected, lost)
	}
	switch r.Ev {
	case protocol.EvCand:
		s.asked[to] = t.Attempt
	case protocol.EvAccept:
		s.given[to] = t.Attempt
	case protocol.EvCancel:
		s.asked[to], s.given[to], s.confirmed[to] = 0, 0, 0
	}
	return nil
}

// decides judges a decision: everybody has confirmed it. Dead members that begin have nobody to ask.
func (c *Table) decides(r *sim.Record, m *column) error {
	if !m.alive {
		return nil
	}
	connected, lost := m.connected(r.Node)
	joined := r.Members.Minus(m.view.Members)
	if r.Members != connected.Union(joined) || c.spec.best(connected) != r.Node {
		return Violatedf(c.Name(), r.T, "%v decides on %v; it is connected to %v, has lost %v, and %v is to ask", r.Node, r.Members, connected, lost,
			c.spec.best(connected))
	}
	for j := range lost.Union(joined).All() {
		kind, by := rain.Dn.String(), connected
		if joined.Has(j) {
			kind, by = rain.Up.String(), connected.With(j)
		}
		s := m.topic(kind, j)
		for i := range by.All() {
			if i != r.Node && (s.asked[i] == 0 || s.confirmed[i] != s.asked[i]) {
				return Violatedf(c.Name(), r.T, "%v decides on %v; %v has not confirmed what it asked about %v (%s)", r.Node, r.Members, i, j, kind)
			}
		}
	}
	return nil
}

// settled judges a member whose Step is over by what it should have said.
func (c *Table) settled(p protocol.Rank) error {
	m := c.of[p]
	if !m.alive || m.view.Members.Len() < 2 {
		return nil
	}
	connected, lost := m.connected(p)
	if seen := m.seen(p); seen.Len() < 2 && !c.spec.Gated || c.spec.Gated && !c.spec.Quorums.In(seen) {
		return Violatedf(c.Name(), c.at, "%v is connected to %v only, and alive", p, seen)
	}
	best := c.spec.best(connected)
	for j := range lost.All() {
		s := m.topic(rain.Dn.String(), j)
		for i := range connected.All() {
			if best == p && i != p && s.asked[i] == 0 {
				return Violatedf(c.Name(), c.at, "%v has lost %v, sees nobody better ranked, and has not asked %v about it", p, j, i)
			}
		}
		if best != p && best != protocol.Nobody && s.heard[best] != 0 && s.given[best] != s.heard[best] {
			return Violatedf(c.Name(), c.at, "%v has lost %v, is asked about it by %v, and has not confirmed it", p, j, best)
		}
	}
	if !c.spec.Live {
		return nil
	}
	for _, s := range m.topics {
		if s.kind == rain.Dn.String() && !lost.Has(s.about) && (slices.Max(s.asked) > 0 || slices.Max(s.given) > 0) {
			return Violatedf(c.Name(), c.at, "%v has said that it lost %v, which is not so any more, and has not taken it back", p, s.about)
		}
	}
	return nil
}

// Finish judges the last Step.
func (c *Table) Finish() error {
	if c.dirty == protocol.Nobody {
		return nil
	}
	return c.settled(c.dirty)
}

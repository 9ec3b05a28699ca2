package rain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/link"
)

// A harness is some members with links that a test puts up and takes down, over which messages go when the test says so.
type harness struct {
	t       *testing.T
	now     protocol.Time
	members []*Machine
	// inFlight is what is on its way, in order on each link.
	inFlight []envelope
	count    map[[2]int]uint64
	sent     []string // cand, accept and cancel as they were sent: "cand(2) 1->3"
}

type envelope struct {
	from, to int
	msg      link.Message
}

// carried is the end of the links of one member of a harness.
type carried struct {
	r    *harness
	self int
}

func (c carried) Send(to protocol.Rank, m link.Message) bool {
	if int(to) == c.self || !c.r.members[c.self].groups[0].peers[to].up {
		return false
	}
	c.r.inFlight = append(c.r.inFlight, envelope{c.self, int(to), m.Copy().(link.Message)})
	about := func(what string, t *Topic) {
		c.r.sent = append(c.r.sent, fmt.Sprintf("%s(%d) %d->%d", what, t.About+1, c.self+1, to+1))
	}
	switch m := m.(type) {
	case *Cand:
		about("cand", &m.Topic)
	case *Accept:
		about("accept", &m.Topic)
	case *Cancel:
		about("cancel", &m.Topic)
	}
	return true
}

func (c carried) SendDurable(to protocol.Rank, m link.Message) bool { return c.Send(to, m) }

// newHarness returns n members that are all linked and in one view, the first of them its manager, with nothing to recover.
func newHarness(t *testing.T, n int, change func(*Config)) *harness {
	r := &harness{t: t, count: make(map[[2]int]uint64)}
	for i := range n {
		c := Default(protocol.Rank(i), n, 1)
		if change != nil {
			change(&c)
		}
		m, err := New(c, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.inc, m.sender = 1, carried{r, i}
		g := m.group("g")
		g.open, g.phase, g.known = true, Alive, true
		g.view = View{Number: Number{Vid: 1}, Members: protocol.Everyone(n)}
		g.reported, g.recovered, g.delivered = g.view.Number, g.view.Number, g.view.Number
		r.members = append(r.members, m)
	}
	for i := range n {
		for j := range n {
			if i != j {
				r.link(i, j, true)
			}
		}
	}
	r.run()
	r.sent = nil
	return r
}

func (r *harness) group(i int) *group { return r.members[i].groups[0] }

// do runs f as one Step of a member. What it asked for is in the member's out until its next one.
func (r *harness) do(i int, f func(*Machine)) { drivetest.Step(inside{r.members[i]}, r.now, act{f: f}) }

// inside is a member to whose parts a test does something, which an act is, as an event.
type inside struct{ *Machine }

type act struct {
	protocol.Tick
	f func(*Machine)
}

// Step implements protocol.Machine.
func (m inside) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now, m.out = now, out
	ev.(act).f(m.Machine)
}

// link puts one end of a link up or down.
func (r *harness) link(i, j int, up bool) {
	k := [2]int{i, j}
	r.count[k]++
	r.do(i, func(m *Machine) {
		m.groups[0].onLink(r.now, &link.Change{Peer: protocol.Ident{Rank: protocol.Rank(j), Inc: 1}, Count: r.count[k], Up: up})
	})
	if !up {
		r.inFlight = slices.DeleteFunc(r.inFlight, func(l envelope) bool { return l.from == i && l.to == j || l.from == j && l.to == i })
	}
}

// both puts both ends of a link up or down, and lets the members see to it.
func (r *harness) both(i, j int, up bool) {
	r.link(i, j, up)
	r.link(j, i, up)
	r.settle()
}

func (r *harness) settle() {
	r.now++
	for i := range r.members {
		r.do(i, func(m *Machine) { m.groups[0].evaluate(r.now) })
	}
}

// run delivers all messages in flight, and what comes of it.
func (r *harness) run() {
	r.settle()
	for range 1000 {
		if len(r.inFlight) == 0 {
			return
		}
		r.deliver(0)
	}
	r.t.Fatal("the members talk without end")
}

// deliver gives one message to its receiver.
func (r *harness) deliver(i int) {
	l := r.inFlight[i]
	r.inFlight = slices.Delete(r.inFlight, i, i+1)
	r.do(l.to, func(m *Machine) { m.deliver(r.now, protocol.Rank(l.from), l.msg) })
	r.settle()
}

// find returns the first message of a kind from one member to another, -1 if there is none.
func (r *harness) find(name string, from, to int) int {
	return slices.IndexFunc(r.inFlight, func(l envelope) bool { return l.msg.Name() == name && l.from == from && l.to == to })
}

// said returns what was sent since it was asked last.
func (r *harness) said() string {
	s := r.sent
	r.sent = nil
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// managers lists who manages what, of the members that are alive.
func (r *harness) managers() string {
	var all []string
	for i := range r.members {
		if g := r.group(i); g.phase == Alive && g.view.Manager == g.me && g.view.Number.Vid > 1 {
			all = append(all, fmt.Sprintf("%d leads %v", i+1, g.view.Members))
		}
	}
	return strings.Join(all, ", ")
}

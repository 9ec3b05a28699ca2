package regent

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/eligible"
	"github.com/regentproject/regent/internal/runtime"
)

// An EventualGroup has a leader on which all its members agree in the end, for as long as nothing changes. It needs no
// votes and does not block while what its elector assumes holds, however many members are down. Until all agree, there may
// be two leaders, or none, and nobody can tell: there is no lease. It is for what is wasted when it is done twice, but not
// wrong: which replica to read from, who compacts, who warms a cache. For at most one leader there is [Group].
//
// Members that have opened the group take part, each as a candidate; all others count as down. Witnesses and observers cannot
// open it, and do not count at all. A member that is not well ([Config.Health]) sees who is trusted, is not trusted itself, as soon
// as the others have heard of it, and never says that it leads.
type EventualGroup struct {
	seen
	member *Member
	place  *runtime.OnDemand
	kind   elector.Kind
	close  sync.Once
}

// EventualGroup opens the eventual group with the name, as [Member.Group] does, and takes part in it until [EventualGroup.Close]. All members must open it with the same kind of elector, or they are
// not in the same group; the empty one is [elector.Stable]. [elector.TimeFree], [elector.FSource] and [elector.Hybrid] bear
// that a minority of the members that may lead is down, counting those that have not opened the group, and need three.
func (m *Member) EventualGroup(name string, kind elector.Kind) (*EventualGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	if err := m.councilOnly("eventual group " + name); err != nil {
		return nil, err
	}
	if err := mayLead(m.council().me()); err != nil {
		return nil, fmt.Errorf("eventual group %s: %w", name, err)
	}
	switch kind {
	case "":
		kind = elector.Stable
	case elector.Rank, elector.Ring, elector.Hall:
		return nil, fmt.Errorf("eventual group %s: elector %s is for quorum groups: use %s, %s, %s or %s", name, kind,
			elector.Stable, elector.TimeFree, elector.FSource, elector.Hybrid)
	}
	g := m.newOnDemand(Eventual, onDemandKey{modeEventual + string(kind), name}, "the eventual group "+strconv.Quote(name), runtime.OnDemandOptions{
		Make: func(_, _ protocol.Time, inc protocol.Inc) (protocol.Machine, error) {
			return m.newEventual(protocol.Group(name), kind, inc)
		},
		Changed: func(c *runtime.Change) {
			m.noteOther("eventual", c)
			m.noteAccess("eventual", c.Group, c.Leader, c.Cause.Code)
		},
	})
	place, group := g.use()
	defer g.done()
	if err := place.Enter(); err != nil {
		return nil, fmt.Errorf("eventual group %s: %w", name, err)
	}
	return &EventualGroup{seen: seen{&hostedGroup{m, Eventual, group}}, member: m, place: place, kind: kind}, nil
}

// newEventual makes an elector among the members that may lead; the others take no part in such a group.
func (m *Member) newEventual(name protocol.Group, kind elector.Kind, inc protocol.Inc) (protocol.Machine, error) {
	t, all := m.timing(), m.council()
	c := eligible.Config{Self: all.self, Members: all.leaders(), Repeat: 4 * t.Renew}
	return eligible.New(c, func(self protocol.Rank, members int) (protocol.Machine, error) {
		p := electorTiming{self: self, members: members, inc: inc, group: name, period: t.Renew, suspect: 3 * t.Renew, timing: t,
			faults: m.config.ElectorFaults, patience: m.config.ElectorPatience}
		return p.newElector(kind)
	})
}

// Elector returns what elects the leader of the group. It is empty at a [Client]: the configuration of the agent has it.
func (g *EventualGroup) Elector() elector.Kind { return g.kind }

// Close leaves the group: to the others this member is down there. Views stay what they were. The member closes all its
// groups when it is closed. At a [Client] it does nothing: the agent takes part.
func (g *EventualGroup) Close() {
	if g.member == nil {
		return // the agent takes part, whether a program looks or not
	}
	g.close.Do(func() {
		g.place.Exit()
		_ = g.member.loop.Do(func(protocol.Time) { g.member.access.forget(accessKey("eventual", protocol.Group(g.Name()))) })
	})
}

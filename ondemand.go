package regent

import (
	"context"
	"iter"
	"sync"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// onDemandGroups are the groups with a machine of their own that are in use: a program takes part or watches, or what the machine
// has promised is not over.
type onDemandGroups struct {
	mu  sync.Mutex
	all map[onDemandKey]*onDemandEntry
}

// An onDemandEntry is in the map while it has users: calls, and the loop while it has the machine.
type onDemandEntry struct {
	*runtime.OnDemand
	users int
}

// An onDemandKey names a machine: its mode, as it enters into channels, and the group.
type onDemandKey struct{ mode, name string }

// The modes of machines.
const (
	modeLocal    = "local"
	modeBeside   = "local beside quorum"
	modeEventual = "eventual "
	modeMembers  = "members"
)

// use counts a user of the group, which it makes with create if there is none.
func (g *onDemandGroups) use(key onDemandKey, create func() *runtime.OnDemand) *runtime.OnDemand {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[onDemandKey]*onDemandEntry)
	}
	e := g.all[key]
	if e == nil {
		e = &onDemandEntry{OnDemand: create()}
		g.all[key] = e
	}
	e.users++
	return e.OnDemand
}

// done ends a use.
func (g *onDemandGroups) done(key onDemandKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.all[key]
	e.users--
	if e.users == 0 {
		delete(g.all, key)
	}
}

// find returns a group that is in use; nil if it is not.
func (g *onDemandGroups) find(key onDemandKey) *runtime.OnDemand {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.all[key]; e != nil {
		return e.OnDemand
	}
	return nil
}

// An onDemandGroup is a group that has a machine of its own.
type onDemandGroup struct {
	member  *Member
	mode    Mode
	key     onDemandKey
	options runtime.OnDemandOptions
}

// newOnDemand returns the group of a mode and a name. Label is for people.
func (m *Member) newOnDemand(mode Mode, key onDemandKey, label string, o runtime.OnDemandOptions) *onDemandGroup {
	o.Channel, o.Group, o.Name = runtime.ChannelOf(key.mode, key.name), protocol.Group(key.name), label
	g := &onDemandGroup{member: m, mode: mode, key: key}
	o.InUse = func(yes bool) {
		if yes {
			g.use()
		} else {
			m.onDemand.done(key)
		}
	}
	g.options = o
	return g
}

// use returns the machine's place, until done is called.
func (g *onDemandGroup) use() (place *runtime.OnDemand, group *runtime.Group) {
	place = g.member.onDemand.use(g.key, func() *runtime.OnDemand { return runtime.NewOnDemand(g.member.loop, g.options) })
	return place, place.Group(g.options.Group)
}

// done ends a use. It goes by the loop, behind what the user has left there: a program whose context has ended may be yet to enter.
func (g *onDemandGroup) done() {
	m := g.member
	if err := m.loop.Do(func(protocol.Time) { m.onDemand.done(g.key) }); err != nil {
		m.onDemand.done(g.key)
	}
}

func (g *onDemandGroup) name() string { return g.key.name }

func (g *onDemandGroup) view(context.Context) (View, error) {
	if place := g.member.onDemand.find(g.key); place != nil {
		return g.member.latest(g.mode, place.Group(g.options.Group)), nil
	}
	return noView(g.mode, g.options.Group), nil
}

func (g *onDemandGroup) watch(ctx context.Context) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		_, group := g.use()
		defer g.done()
		watch(ctx, g.member, g.mode, group)(yield)
	}
}

package regent

import (
	goruntime "runtime"
	"sync"
	"weak"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// onDemandCache finds the groups that have a machine of their own. It does not keep them: a group lives while somebody holds it,
// or while its machine is in the loop.
type onDemandCache struct {
	mu    sync.Mutex
	known map[onDemandKey]weak.Pointer[runtime.OnDemand]
}

// The modes of groups that have a machine of their own, as they enter into channels.
const (
	modeLocal    = "local"
	modeBeside   = "local beside quorum"
	modeEventual = "eventual "
	modeMembers  = "members"
)

type onDemandKey struct{ mode, name string }

func newOnDemandCache() *onDemandCache {
	return &onDemandCache{known: make(map[onDemandKey]weak.Pointer[runtime.OnDemand])}
}

// onDemand returns the group of a mode and a name, which it makes from o if nobody knows of it.
func (m *Member) onDemand(mode, name, label string, o runtime.OnDemandOptions) *runtime.OnDemand {
	p, key := m.onDemandGroups, onDemandKey{mode, name}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.known[key].Value(); s != nil {
		return s
	}
	o.Channel, o.Group, o.Name = runtime.ChannelOf(mode, name), protocol.Group(name), label
	s := runtime.NewOnDemand(m.loop, o)
	p.known[key] = weak.Make(s)
	goruntime.AddCleanup(s, p.forget, key) // p knows of no member, or a member would never be forgotten
	return s
}

// forget removes an entry that leads nowhere any more.
func (c *onDemandCache) forget(key onDemandKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key].Value() == nil {
		delete(c.known, key)
	}
}

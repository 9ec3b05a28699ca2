package regent

import (
	goruntime "runtime"
	"sync"
	"weak"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// siteCache finds the groups that have a machine of their own. It does not keep them: a group lives while somebody holds it,
// or while its machine is in the loop.
type siteCache struct {
	mu    sync.Mutex
	known map[siteKey]weak.Pointer[runtime.Site]
}

// The modes of groups that have a machine of their own, as they enter into channels.
const (
	modeLocal    = "local"
	modeBeside   = "local beside quorum"
	modeEventual = "eventual "
	modeMembers  = "members"
)

type siteKey struct{ mode, name string }

func newSiteCache() *siteCache {
	return &siteCache{known: make(map[siteKey]weak.Pointer[runtime.Site])}
}

// site returns the group of a mode and a name, which it makes from o if nobody knows of it.
func (m *Member) site(mode, name, label string, o runtime.SiteOptions) *runtime.Site {
	p, key := m.sites, siteKey{mode, name}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.known[key].Value(); s != nil {
		return s
	}
	o.Channel, o.Group, o.Name = runtime.ChannelOf(mode, name), protocol.Group(name), label
	s := runtime.NewSite(m.loop, o)
	p.known[key] = weak.Make(s)
	goruntime.AddCleanup(s, p.forget, key) // p knows of no member, or a member would never be forgotten
	return s
}

// forget removes an entry that leads nowhere any more.
func (c *siteCache) forget(key siteKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key].Value() == nil {
		delete(c.known, key)
	}
}

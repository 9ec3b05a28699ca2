package lease

import (
	"slices"
)

// Clone returns a voter in the same state, with its own policy, terms and reach.
func (g *Grantor) Clone(cfg *Config, policy Policy, terms *Terms, reach *Reach) *Grantor {
	c := NewGrantor(cfg, policy, terms, reach)
	c.ready, c.closed, c.hand, c.lapse, c.assigned = g.ready, g.closed, g.hand, g.lapse, g.assigned
	c.changes = slices.Clone(g.changes)
	c.all = make([]*entry, len(g.all))
	for i, e := range g.all {
		x := *e
		x.to, x.prev, x.next = nil, nil, nil
		c.all[i] = &x
		c.groups[x.group] = &x
	}
	copied := func(p *promise) *promise {
		x := *p
		x.first = nil
		var last *entry
		for e := p.first; e != nil; e = e.next {
			y := c.all[e.index]
			y.to, y.prev = &x, last
			if last == nil {
				x.first = y
			} else {
				last.next = y
			}
			last = y
		}
		return &x
	}
	for i, w := range g.wards {
		if w != nil {
			x := *w
			x.promises = each(w.promises, copied)
			c.wards[i] = &x
		}
	}
	for _, p := range g.old {
		c.old = append(c.old, copied(p))
	}
	return c
}

// cloner maps the parts of a holder to those of its copy.
type cloner struct {
	tenures  map[*tenure]*tenure
	releases map[*release]*release
	lengths  map[*length]*length
}

// Clone returns a holder in the same state, with its own policy, terms and voter.
func (h *Holder) Clone(cfg *Config, policy Policy, terms *Terms, grantor *Grantor) *Holder {
	c := NewHolder(cfg, policy, terms, grantor)
	c.me, c.now, c.seq, c.number, c.horizon = h.me, h.now, h.seq, h.number, h.horizon
	c.renew, c.quiet, c.retry, c.proved = h.renew, h.quiet, h.retry, h.proved
	c.outcomes, c.joined = slices.Clone(h.outcomes), h.joined
	m := cloner{make(map[*tenure]*tenure), make(map[*release]*release), make(map[*length]*length)}
	c.lengths = each(h.lengths, m.length)
	// order does not matter: each goes into a map again.
	for g, t := range h.tenures {
		c.tenures[g] = m.tenure(t)
	}
	// order does not matter: each goes into a map again.
	for k, r := range h.releases {
		c.releases[k] = m.release(r)
	}
	c.trying = each(h.trying, m.tenure)
	for _, k := range h.classes {
		c.classes = append(c.classes, m.class(k))
	}
	for i := range h.voters {
		v := h.voters[i]
		v.claims, v.refused, v.releases = each(v.claims, m.tenure), each(v.refused, m.tenure), each(v.releases, m.release)
		v.flights = make([]flight, len(h.voters[i].flights))
		for j, f := range h.voters[i].flights {
			f.claims, f.releases, f.asks = each(f.claims, m.tenure), each(f.releases, m.release), slices.Clone(f.asks)
			v.flights[j] = f
		}
		c.voters[i] = v
	}
	for _, it := range h.agenda.items {
		if h.tenures[it.what.group] == it.what && it.what.due == it.at {
			c.agenda.Add(it.at, it.name, m.tenure(it.what))
		}
	}
	return c
}

func each[T any](list []T, f func(T) T) []T {
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

func (m *cloner) tenure(t *tenure) *tenure {
	if c := m.tenures[t]; c != nil {
		return c
	}
	c := *t
	c.bids, c.length = slices.Clone(t.bids), m.length(t.length)
	c.class, c.prev, c.next = nil, nil, nil // linked by class
	m.tenures[t] = &c
	return &c
}

func (m *cloner) release(r *release) *release {
	if c := m.releases[r]; c != nil {
		return c
	}
	c := *r
	m.releases[r] = &c
	return &c
}

func (m *cloner) length(l *length) *length {
	if c := m.lengths[l]; c != nil {
		return c
	}
	c := *l
	c.by = slices.Clone(l.by)
	m.lengths[l] = &c
	return &c
}

func (m *cloner) class(k *class) *class {
	c := *k
	c.first, c.length = nil, m.length(k.length)
	var last *tenure
	for t := k.first; t != nil; t = t.next {
		x := m.tenure(t)
		x.class, x.prev = &c, last
		if last == nil {
			c.first = x
		} else {
			last.next = x
		}
		last = x
	}
	return &c
}

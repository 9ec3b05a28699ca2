package sim

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Keys are those in the files of one member, by number: the first key of a member is 0. A world without ports has no packets, and its
// members no keys: there a revocation is the cut that it amounts to.
type Keys struct {
	// Own are the member's, the oldest first: one, or two while one is replaced.
	Own []int
	// Lists are those of all members, by rank, as this one knows them. One without a key is revoked.
	Lists [][]int
}

// firstKeys returns the keys with which a council begins.
func firstKeys(members int) Keys {
	k := Keys{Own: []int{0}, Lists: make([][]int, members)}
	for i := range k.Lists {
		k.Lists[i] = []int{0}
	}
	return k
}

// rekey puts what is in the files of m in force, as a reload does. If m is down its next start does.
func (w *World) rekey(m *member) {
	m.rekeyed = true
	if m.up && m.port != nil {
		m.port.Rekey(&m.keys)
	}
}

// revoke has B, or everybody, list no key of A.
func (w *World) revoke(f *Fault, id uint64) {
	cut := int64(0)
	if w.config.Port == nil {
		cut = 1
	}
	w.eachRevoked(f, func(m *member, in, out *link) {
		in.add(mod{id, f.Kind, cut})
		out.add(mod{id, f.Kind, cut})
		m.keys.Lists[f.A] = nil
		w.rekey(m)
	})
}

// admit undoes a revocation.
func (w *World) admit(f *Fault, id uint64) {
	w.eachRevoked(f, func(m *member, in, out *link) {
		in.remove(id)
		out.remove(id)
		if !slices.ContainsFunc(in.mods, func(x mod) bool { return x.kind == Revoke }) {
			m.keys.Lists[f.A] = slices.Clone(w.members[f.A].keys.Own)
			w.rekey(m)
		}
	})
}

// eachRevoked visits the members that revoke A, with the links from it and to it.
func (w *World) eachRevoked(f *Fault, visit func(m *member, in, out *link)) {
	if int(f.A) >= len(w.members) {
		return
	}
	for _, m := range w.members {
		if m.rank != f.A && (f.B == m.rank || f.B == protocol.Nobody) {
			visit(m, w.link(f.A, m.rank), w.link(m.rank, f.A))
		}
	}
}

// rotate replaces the key of a member. In the first half of the time it and the others get the next one, in any order, and after the
// second half they lose the one before.
func (w *World) rotate(m *member, took time.Duration) {
	if len(m.keys.Own) > 1 {
		return
	}
	next := m.keys.Own[0] + 1
	within := func(x *member, from, length time.Duration, keys []int) {
		w.At(w.now.Add(from+m.dice.Between(0, length)), func() {
			if x == m {
				x.keys.Own = keys
			}
			if x != m && len(x.keys.Lists[m.rank]) > 0 {
				x.keys.Lists[m.rank] = keys
			}
			w.rekey(x)
		})
	}
	for _, x := range w.members {
		within(x, 0, took/2, []int{next - 1, next})
	}
	// Nobody drops the old key before all list the new one, and the member itself does so first.
	within(m, took, 0, []int{next})
	for _, x := range w.members {
		if x != m {
			within(x, took+1, took/2, []int{next})
		}
	}
}

package lease

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A class is all leases of one length that the same voters back. They end together, behind one horizon, so that a renewal moves one
// instant however many groups it is for.
type class struct {
	id      protocol.HorizonID
	length  *length
	backers protocol.Set
	// until is E of each group in it. Invariant: it never falls; every lease in the class was at some time backed until
	// then, by promises that stand until then whatever was heard since.
	until protocol.Time
	first *tenure
}

// endOf returns E: the latest instant until which enough of the backers can be relied on, by their promises of one length;
// zero if there are too few.
func (h *Holder) endOf(l *length, backers protocol.Set) protocol.Time {
	h.order = h.order[:0]
	for r := range backers.All() {
		h.order = append(h.order, r)
	}
	slices.SortFunc(h.order, func(a, b protocol.Rank) int {
		switch x, y := l.by[a].end, l.by[b].end; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return int(a) - int(b)
	})
	var s protocol.Set
	for _, r := range h.order {
		s.Add(r)
		if h.policy.Complete(s) {
			return l.by[r].end
		}
	}
	return 0
}

// advance moves the horizon of a class if its backers have moved.
func (h *Holder) advance(c *class) {
	end := h.endOf(c.length, c.backers)
	if end <= c.until {
		return
	}
	c.until = end
	h.out.Horizons = append(h.out.Horizons, protocol.Horizon{ID: c.id, Until: end})
	h.out.Facts = append(h.out.Facts, protocol.Fact{Ev: protocol.EvHorizon, Dom: h.cfg.Domain, Seq: uint64(c.id), Until: end})
}

// join puts a tenure, whose lease already ran until had, into a class with these backers. An existing one will do if its
// end is no earlier than what the tenure had and no later than what the tenure is entitled to.
func (h *Holder) join(t *tenure, backers protocol.Set, had protocol.Time) {
	end := max(had, h.endOf(t.length, backers))
	for _, c := range h.classes {
		if c.length == t.length && c.backers == backers && had <= c.until && c.until <= end {
			h.enter(t, c)
			return
		}
	}
	h.horizon++
	c := &class{id: h.horizon, length: t.length, backers: backers, until: end}
	h.classes = append(h.classes, c)
	h.out.Horizons = append(h.out.Horizons, protocol.Horizon{ID: c.id, Until: c.until})
	h.enter(t, c)
}

func (h *Holder) enter(t *tenure, c *class) {
	h.leave(t)
	t.class, t.horizon, t.prev, t.next = c, c.id, nil, c.first
	if c.first != nil {
		c.first.prev = t
	}
	c.first = t
}

// leave takes a tenure out of its class, and the class out of the list if it was the last.
func (h *Holder) leave(t *tenure) {
	c := t.class
	if c == nil {
		return
	}
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		c.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.class, t.prev, t.next = nil, nil, nil
	if c.first == nil {
		h.classes = slices.DeleteFunc(h.classes, func(x *class) bool { return x == c })
	}
}

// manyClasses is how many classes there may be before those that have become alike are made one. Views of their groups
// are published anew then, so it is not done for a few.
const manyClasses = 8

// unite makes one class of those with the same backers and end.
func (h *Holder) unite() {
	if len(h.classes) <= manyClasses {
		return
	}
	for i := 0; i < len(h.classes); i++ {
		for j := len(h.classes) - 1; j > i; j-- {
			a, b := h.classes[i], h.classes[j]
			if a.length != b.length || a.backers != b.backers || a.until != b.until {
				continue
			}
			for more := b.first != nil; more; {
				t := b.first
				more = t.next != nil
				h.enter(t, a)
				h.moved(t)
			}
		}
	}
}

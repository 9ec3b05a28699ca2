package core

import "slices"

// A manager shares out, once for its view, the keys that no member of the view owns.
type manager struct {
	owned    map[int][]string // as members answered
	assigned map[int][]string // what each inherits; nil: not all have answered
	safe     Set
	stuck    Set // members that inherited what is out of reach
	ticks    int // in this view
	reported bool
}

func newManager() *manager { return &manager{owned: make(map[int][]string)} }

// take notes what a member says. Its first answer counts: later ones may include what it inherited.
func (g *manager) take(from int, msg *Message) {
	switch {
	case msg.Kind == Answer && g.assigned == nil:
		if _, ok := g.owned[from]; !ok {
			g.owned[from] = slices.Clone(msg.Keys)
		}
	case msg.Kind == Safe && g.assigned != nil:
		for _, key := range g.assigned[from] {
			if !slices.Contains(msg.Keys, key) && !slices.Contains(msg.Stuck, key) {
				return
			}
		}
		g.safe |= Of(from)
		g.stuck &^= Of(from)
		if len(msg.Stuck) > 0 {
			g.stuck |= Of(from)
		}
	}
}

// patience is after how many ticks a manager reports a view in which not all members are safe. Members may have failed since the group agreed on
// the view. The group agrees on nothing else before the report, so they would neither answer nor be replaced.
const patience = 20

// hurry counts a tick.
func (m *Machine) hurry() {
	g := m.manager
	g.ticks++
	if g.ticks >= patience && !g.reported {
		g.reported = true
		m.out.Recovered = true
	}
}

// manage sends what is still to be answered, and reports the view recovered when all members are safe. It reports a view with keys that are out of
// reach, too: the group takes no member in before, and the shares that are missing are on the disks of members that are out.
func (m *Machine) manage() {
	g := m.manager
	if g.assigned == nil {
		waiting := false
		for to := range m.view.Members.All() {
			if _, ok := g.owned[to]; !ok {
				waiting = true
				m.send(to, Message{Kind: Ask})
			}
		}
		if waiting {
			return
		}
		g.share(m.config.Keys, m.view.Members)
	}
	for to := range (m.view.Members &^ g.safe).All() {
		m.send(to, Message{Kind: Assign, Keys: g.assigned[to]})
	}
	if g.safe != m.view.Members {
		return
	}
	if !g.reported {
		g.reported = true
		m.out.Recovered = true
	}
	if g.stuck != 0 {
		return
	}
	for to := range m.view.Members.All() {
		m.send(to, Message{Kind: Done})
	}
}

// share gives each key without an owner to the member that has fewest.
func (g *manager) share(keys []string, members Set) {
	g.assigned = make(map[int][]string)
	has := make(map[int]int)
	taken := make(map[string]bool)
	for m := range members.All() {
		has[m] = len(g.owned[m])
		for _, key := range g.owned[m] {
			taken[key] = true
		}
	}
	for _, key := range keys {
		if taken[key] {
			continue
		}
		heir := -1
		for m := range members.All() {
			if heir < 0 || has[m] < has[heir] {
				heir = m
			}
		}
		g.assigned[heir] = append(g.assigned[heir], key)
		has[heir]++
	}
}

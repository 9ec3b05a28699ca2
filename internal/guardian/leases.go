package guardian

import "github.com/regentproject/regent/internal/protocol"

// Leases keeps each group of a member that leads for programs outside of its process. A lease of the member may be over before its program has
// stopped: the member was suspended, or has begun a new life. So the group is kept until no lease can have been shown that still runs.
type Leases struct {
	page *Page
	// highest is the latest end of any lease that was shown. Invariant: it never moves back.
	highest protocol.Time
	// led are the groups that are led now, and over those that are not any more, in the order of what is waited for.
	led  map[protocol.Group]bool
	over []overLease
}

type overLease struct {
	group protocol.Group
	until protocol.Time
}

// NewLeases returns one without leases.
func NewLeases(p *Page) *Leases { return &Leases{page: p, led: make(map[protocol.Group]bool)} }

// Shown says that a lease is shown until an instant of the member's clock.
func (l *Leases) Shown(until protocol.Time) { l.highest = max(l.highest, until) }

// Begins says that a group is about to be led, or is led still. It comes before the lease is published.
func (l *Leases) Begins(now protocol.Time, g protocol.Group) {
	if l.led[g] {
		return
	}
	l.forget(now)
	for i := range l.over {
		if l.over[i].group == g {
			l.page.Entangle(g)
			l.over[i].group = "" // the new lease keeps it
		}
	}
	l.led[g] = true
	l.page.Keep(g)
}

// Ended says that a group is not led any more.
func (l *Leases) Ended(now protocol.Time, g protocol.Group) {
	if !l.led[g] {
		return
	}
	delete(l.led, g)
	l.over = append(l.over, overLease{g, l.highest})
	l.forget(now)
}

// Tenure returns the number of the tenure of a group that is led; zero: none is known by a number.
func (l *Leases) Tenure(g protocol.Group) uint64 {
	if !l.led[g] {
		return 0
	}
	return l.page.Tenure(g)
}

// forget takes groups off the page for which nothing may act any more.
func (l *Leases) forget(now protocol.Time) {
	n := 0
	for ; n < len(l.over) && l.over[n].until < now; n++ {
		if g := l.over[n].group; g != "" {
			l.page.Forget(g)
		}
	}
	l.over = l.over[n:]
}

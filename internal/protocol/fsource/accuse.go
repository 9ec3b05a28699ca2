package fsource

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// accuse adds an accusation of each peer that missed its deadline, gives it another one, and works out when to look again.
func (a *Accusations) accuse(now protocol.Time) {
	a.check = protocol.Never
	for r := range a.peers {
		p := &a.peers[r]
		if protocol.Rank(r) == a.config.Self {
			continue
		}
		if now >= p.deadline {
			a.late(now, protocol.Rank(r), p)
		}
		a.check = min(a.check, p.deadline)
	}
}

// late accuses one peer. The first accusation of a row is news to the others, and is sent at once.
func (a *Accusations) late(now protocol.Time, r protocol.Rank, p *peer) {
	silent := now.Sub(p.deadline.Add(-p.timeout))
	if !p.accused {
		p.accused = true
		a.well.Remove(r)
		a.nextAlive = now
		a.m.State(protocol.Fact{Ev: protocol.EvSuspect, Peer: a.m.Ident(r)})
	}
	p.deadline = now.Add(p.timeout)
	a.add(r, protocol.Cause{Code: protocol.Suspected, Peer: r, Bound: silent})
}

// add accuses k once more.
func (a *Accusations) add(k protocol.Rank, why protocol.Cause) {
	mine := &a.matrix[int(a.config.Self)*a.config.Members+int(k)]
	*mine = a.table.Leap(k, *mine)
	a.judge(k, why)
}

// merge takes over the numbers of a row that are higher in what from gossips.
func (a *Accusations) merge(from, row protocol.Rank, numbers []uint64) {
	own := a.matrix[int(row)*a.config.Members:]
	for k, x := range numbers {
		if x > own[k] {
			own[k] = x
			a.judge(protocol.Rank(k), protocol.Cause{Code: protocol.Doubted, Peer: from})
		}
	}
}

// judge works out the counter of k anew: what n-f members agree on, or what it says itself.
func (a *Accusations) judge(k protocol.Rank, why protocol.Cause) {
	n := a.config.Members
	for j := range n {
		a.column[j] = a.matrix[j*n+int(k)]
	}
	self := a.column[k]
	if counts := a.table.Counts(); a.above(counts[k]) {
		slices.Sort(a.column)
		self = max(self, a.column[a.config.F])
	}
	if self > a.table.Counts()[k] {
		a.peers[k].calm = a.now.Add(2 * a.config.Cap)
		a.table.Raise(k, self, why)
	}
}

// Well returns who stands well, k aside: those whose counters have not grown for longer than those of members that are
// accused for ever rest, and that this member does not accuse either. If there are none the council's verdict is what
// counts, since this member may only be far from everybody; and if that is against all, its own.
//
// Its own is not enough to begin with. It never accuses itself, so a member that all others accuse for ever would lift them
// over nothing but its own counter; and of all that accuse a member the least so many decide.
func (a *Accusations) Well(k protocol.Rank) protocol.Set {
	var calm protocol.Set
	for r := range a.peers {
		if a.now >= a.peers[r].calm {
			calm.Add(protocol.Rank(r))
		}
	}
	calm.Remove(k)
	own := a.well.Without(k)
	switch both := calm.Intersect(own); {
	case !both.Empty():
		return both
	case !calm.Empty():
		return calm
	}
	return own
}

// above says whether n-f numbers of the column exceed the counter, so that it must grow.
func (a *Accusations) above(count uint64) bool {
	higher := 0
	for _, x := range a.column {
		if x > count {
			higher++
		}
	}
	return higher >= a.config.Members-a.config.F
}

// Restarted counts a crash that is proven, and takes back what its silence did to the time-out.
func (a *Accusations) Restarted(now protocol.Time, r protocol.Rank) {
	a.now = now
	p := &a.peers[r]
	p.seq, p.timeout, p.deadline = 0, a.config.Timeout, now.Add(a.config.Timeout)
	if p.accused {
		p.accused = false
		a.well.Add(r)
		a.m.State(protocol.Fact{Ev: protocol.EvTrust, Peer: a.m.Ident(r), Why: protocol.Restarted.String()})
	}
	a.add(r, protocol.Cause{Code: protocol.Restarted, Peer: r})
	a.nextAlive = now
}

// Unfit makes the member itself leap, by its own word.
func (a *Accusations) Unfit() {
	self := int(a.config.Self)
	own := &a.matrix[self*a.config.Members+self]
	*own = max(*own, a.table.Counts()[self])
	a.add(a.config.Self, protocol.Cause{Code: protocol.NoQuorum, Peer: a.config.Self})
}

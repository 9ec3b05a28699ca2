package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// RainSpec is what the checkers of consistent groups have to know about a run.
type RainSpec struct {
	Group protocol.Group
	// Gated: a quorum and a lease decide. Quorums are those of the council, and Leaders are who may manage.
	Gated   bool
	Quorums protocol.Quorums
	Leaders protocol.Set
	// Live: a healed core comes to agree again, and no wrong suspicion leaves a trace.
	Live bool
	// Settle is how long a healed core may take to agree.
	Settle time.Duration
}

// manageable says whether somebody of a core may manage.
func (s *RainSpec) manageable(core protocol.Set) bool {
	able := core.Intersect(s.Leaders)
	return s.Leaders.Empty() || !able.Empty()
}

// Rain returns the checkers of all that consistent groups promise.
func Rain(t Truth, s RainSpec) []Checker {
	all := []Checker{NewDead(s.Group), NewOneView(t, s), NewTable(t, s)}
	if s.Live {
		all = append(all, NewWeakLive(t, s), NewNoTrace(t, s.Group))
	}
	if s.Gated {
		all = append(all, NewOneChain(s.Group), NewOutside(t, s.Group), NewRecovered(s.Group))
	}
	return all
}

// agreement is what one program was told last.
type agreement struct {
	number  rain.Number
	members protocol.Set
	manager protocol.Rank
	horizon protocol.HorizonID
}

// agreements follow what the programs of a group were told; one that is of no view has a zero number.
type agreements struct {
	group protocol.Group
	now   []agreement
}

func newAgreements(t Truth, g protocol.Group) agreements {
	return agreements{g, make([]agreement, t.Members())}
}

// follow takes a record, and says whether a program was told of a view.
func (a *agreements) follow(r *sim.Record) bool {
	switch r.Ev {
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		a.now[r.Node] = agreement{}
	case sim.EvView:
		v, ok := r.Detail.(*protocol.View)
		if !ok || v.Domain != protocol.Consistent || v.Group != a.group {
			return false
		}
		if v.Agreed == nil {
			a.now[r.Node] = agreement{}
			return false
		}
		a.now[r.Node] = agreement{rain.Number{Token: v.Term, Vid: v.Agreed.Vid}, v.Support, v.Leader.Rank, v.Horizon}
		return true
	}
	return false
}

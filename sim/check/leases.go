package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
)

// A tenure is one leadership as its holder's facts tell it.
type tenure struct {
	holder protocol.Ident
	group  protocol.Group
	number uint64
	token  uint64
	quorum stamp.Quorum
	// since is the first completion. until is E on the holder's clock, and horizon what moves it; zero once it is frozen.
	since   sim.Real
	until   protocol.Time
	horizon uint64
	frozen  bool
}

// leases follows the operational leases of all members in the domain Quorum: in force from their first completion until
// the holder's clock reaches their end, the holder steps down, or it crashes.
type leases struct {
	truth Truth
	of    [][]*tenure // by rank
}

func newLeases(t Truth) leases { return leases{truth: t, of: make([][]*tenure, t.Members())} }

// A step is what one record did to the leases.
type step struct {
	begun *tenure // leads from now on
	// moved lists tenures whose end or horizon moved, the one that has begun among them.
	moved []*tenure
	// ended stepped down now. gone ended with their process.
	ended *tenure
	gone  []*tenure
}

// follow takes a record in. The result is valid until the next call.
func (l *leases) follow(r *sim.Record) (s step) {
	switch r.Ev {
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose:
		s.gone = l.of[r.Node]
		l.of[r.Node] = nil
		return s
	}
	if r.Dom != protocol.Quorum {
		return s
	}
	switch r.Ev {
	case protocol.EvLease:
		x := l.find(r.Node, r.Group)
		if x == nil || x.number != r.Tenure || x.holder.Inc != r.Inc {
			l.drop(r.Node, r.Group)
			x = &tenure{holder: protocol.Ident{Rank: r.Node, Inc: r.Inc}, group: r.Group, number: r.Tenure, token: r.Term, since: r.T}
			x.quorum, _ = r.Detail.(stamp.Quorum)
			l.of[r.Node] = append(l.of[r.Node], x)
			s.begun = x
		}
		x.until, x.horizon = max(x.until, r.Until), r.Seq
		x.frozen = r.Seq == 0
		s.moved = append(s.moved, x)
	case protocol.EvHorizon:
		for _, x := range l.of[r.Node] {
			if x.horizon == r.Seq && r.Until > x.until {
				x.until = r.Until
				s.moved = append(s.moved, x)
			}
		}
	case protocol.EvStepdown:
		s.ended = l.drop(r.Node, r.Group)
	}
	return s
}

func (l *leases) find(r protocol.Rank, g protocol.Group) *tenure {
	for _, x := range l.of[r] {
		if x.group == g {
			return x
		}
	}
	return nil
}

func (l *leases) drop(r protocol.Rank, g protocol.Group) *tenure {
	for i, x := range l.of[r] {
		if x.group == g {
			l.of[r] = append(l.of[r][:i:i], l.of[r][i+1:]...)
			return x
		}
	}
	return nil
}

// leads says whether the tenure's lease is in force at t, which is not before the last record.
func (l *leases) leads(x *tenure, t sim.Real) bool {
	return l.truth.Clock(x.holder.Rank).At(t) < x.until
}

// end returns when the lease ends if it is not renewed.
func (l *leases) end(x *tenure, t sim.Real) sim.Real {
	return l.truth.Clock(x.holder.Rank).Reach(t, x.until)
}

// leaders calls f for every lease of the group that is in force at t.
func (l *leases) leaders(g protocol.Group, t sim.Real, f func(*tenure)) {
	for _, all := range l.of {
		for _, x := range all {
			if x.group == g && l.leads(x, t) {
				f(x)
			}
		}
	}
}

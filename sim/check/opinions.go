package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// opinions follows whom each member trusts, by its weak facts.
type opinions struct {
	truth Truth
	of    []opinion
}

// An opinion is what one member thinks.
type opinion struct {
	trusts  protocol.Ident
	term    uint64
	members protocol.Set // whom it trusts to be alive, where it says so
	up      bool
	since   sim.Real // of its last start
	counts  bool     // it has been up for long enough since, and trusted somebody at that time or later
}

func newOpinions(t Truth) opinions {
	o := opinions{truth: t, of: make([]opinion, t.Members())}
	for r := range o.of {
		o.of[r].trusts = protocol.NoIdent
	}
	return o
}

// follow takes a record and says whether it may have changed who leads.
func (o *opinions) follow(r *sim.Record) bool {
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		o.of[r.Node] = opinion{trusts: protocol.NoIdent, up: true, since: r.T}
	case sim.EvCrash, sim.EvClose:
		o.of[r.Node] = opinion{trusts: protocol.NoIdent}
	case protocol.EvWeak:
		m := &o.of[r.Node]
		m.trusts, m.term, m.members = r.Peer, r.Term, r.Members
	default:
		return false
	}
	return true
}

// leader returns whom all members trust that are up at t, if it is one of them; else NoIdent. With an age, newcomers do not
// count before they have been up for that long and trust somebody.
func (o *opinions) leader(t sim.Real, age time.Duration) protocol.Ident {
	found := protocol.NoIdent
	for r := range o.of {
		m := &o.of[r]
		m.counts = m.up && (m.counts || age == 0 || t.Sub(m.since) >= age && m.trusts.Rank != protocol.Nobody)
		if !m.counts {
			continue
		}
		if m.trusts.Rank == protocol.Nobody || found.Rank != protocol.Nobody && found != m.trusts {
			return protocol.NoIdent
		}
		found = m.trusts
	}
	if int(found.Rank) >= len(o.of) || !o.of[found.Rank].counts {
		return protocol.NoIdent
	}
	return found
}

// next returns when the next member will have been up for the given time, after t.
func (o *opinions) next(t sim.Real, age time.Duration) sim.Real {
	first := sim.Forever
	for r := range o.of {
		if due := o.of[r].since.Add(age); o.of[r].up && due > t {
			first = min(first, due)
		}
	}
	return first
}

// up returns who is up.
func (o *opinions) up() protocol.Set {
	var s protocol.Set
	for r := range o.of {
		if o.of[r].up {
			s.Add(protocol.Rank(r))
		}
	}
	return s
}

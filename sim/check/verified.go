package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Verified is N-VER: while a member's clock is below the end of what it was told about a leader, that leader leads, in
// the tenure that it said, unless it has crashed.
type Verified struct {
	leases leases
	open   []proof
}

// A proof is what one member knows of another.
type proof struct {
	by     protocol.Rank
	leader protocol.Ident
	group  protocol.Group
	token  uint64
	end    sim.Real
}

// NewVerified returns the checker.
func NewVerified(t Truth) *Verified { return &Verified{leases: newLeases(t)} }

// Name returns N-VER.
func (v *Verified) Name() string { return "N-VER" }

// Observe judges each proof when it is given and when its leader steps down.
func (v *Verified) Observe(r *sim.Record) error {
	did := v.leases.follow(r)
	if x := did.ended; x != nil {
		return v.stepdown(x, r.T)
	}
	if r.Ev != protocol.EvVerify || r.Dom != protocol.Quorum {
		return nil
	}
	p := proof{by: r.Node, leader: r.Peer, group: r.Group, token: r.Term, end: v.leases.truth.Clock(r.Node).Reach(r.T, r.Until)}
	if p.end <= r.T || !v.leases.truth.Up(r.Peer.Rank) || v.leases.truth.Ident(r.Peer.Rank) != r.Peer {
		return nil
	}
	x := v.leases.find(r.Peer.Rank, r.Group)
	switch {
	case x == nil || x.token != p.token || !v.leases.leads(x, r.T):
		return Violatedf(v.Name(), r.T, "%v is told that %v leads %q with token %d until %v, and it does not", p.by, p.leader, p.group, p.token, p.end)
	case v.leases.end(x, r.T) < p.end:
		return Violatedf(v.Name(), r.T, "%v is told that %v leads %q until %v, but its lease ends at %v", p.by, p.leader, p.group, p.end,
			v.leases.end(x, r.T))
	}
	keep := v.open[:0]
	for _, q := range v.open {
		if q.end > r.T {
			keep = append(keep, q)
		}
	}
	v.open = append(keep, p)
	return nil
}

func (v *Verified) stepdown(x *tenure, t sim.Real) error {
	for _, p := range v.open {
		if p.leader == x.holder && p.group == x.group && p.token == x.token && p.end > t {
			return Violatedf(v.Name(), t, "%v steps down from %q, but %v was told that it leads until %v", x.holder, x.group, p.by, p.end)
		}
	}
	return nil
}

// Finish has nothing to add.
func (v *Verified) Finish() error { return nil }

package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Verified is N-VER: while a member's clock is below the end of what it was told about a leader, that leader leads, in
// the tenure that it said, unless it has crashed.
type Verified struct {
	follower
	open []proof
}

// A proof is what one member knows of another.
type proof struct {
	by     protocol.Rank
	leader protocol.Ident
	group  protocol.Group
	token  uint64
	end    sim.Real
}

// Name returns N-VER.
func (v *Verified) Name() string { return "N-VER" }

// Observe judges each proof when it is given and when its leader steps down.
func (v *Verified) Observe(r *sim.Record) error {
	did := v.follow(r)
	switch {
	case r.Dom != protocol.Quorum:
		return nil
	case r.Ev == protocol.EvStepdown && len(did.Ended) > 0:
		return v.stepdown(&did.Ended[0], r.T)
	case r.Ev != protocol.EvVerify:
		return nil
	}
	p := proof{by: r.Node, leader: r.Peer, group: r.Group, token: r.Term, end: v.truth.Clock(r.Node).Reach(r.T, r.Until)}
	if p.end <= r.T || !v.truth.Up(r.Peer.Rank) || v.truth.Ident(r.Peer.Rank) != r.Peer {
		return nil
	}
	x := v.ledger.Lease(r.Peer.Rank, protocol.Quorum, r.Group)
	switch {
	case x == nil || x.Token != p.token || !v.leads(x, r.T):
		return Violatedf(v.Name(), r.T, "%v is told that %v leads %q with token %d until %v, and it does not", p.by, p.leader, p.group, p.token, p.end)
	case v.end(x, r.T) < p.end:
		return Violatedf(v.Name(), r.T, "%v is told that %v leads %q until %v, but its lease ends at %v", p.by, p.leader, p.group, p.end,
			v.end(x, r.T))
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

func (v *Verified) stepdown(x *ledger.Lease, t sim.Real) error {
	for _, p := range v.open {
		if p.leader == x.Holder && p.group == x.Group && p.token == x.Token && p.end > t {
			return Violatedf(v.Name(), t, "%v steps down from %q, but %v was told that it leads until %v", x.Holder, x.Group, p.by, p.end)
		}
	}
	return nil
}

// Finish has nothing to add.
func (v *Verified) Finish() error { return nil }

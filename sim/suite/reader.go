package suite

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// A stampReader is what the programs of a quorum group read: the published lease of package stamp, as in a real member.
// What a program does under it is to make an edict.
type stampReader struct {
	self     protocol.Rank
	groups   map[protocol.Group]*published
	horizons map[protocol.HorizonID]*stamp.Horizon
}

// published is the lease of one group.
type published struct {
	slot   stamp.Slot
	tenure *stamp.Tenure
	number uint64
}

func newStampReader(b sim.Boot) sim.Reader {
	return &stampReader{self: b.Self, groups: make(map[protocol.Group]*published), horizons: make(map[protocol.HorizonID]*stamp.Horizon)}
}

func (s *stampReader) horizon(id protocol.HorizonID) *stamp.Horizon {
	if s.horizons[id] == nil {
		s.horizons[id] = new(stamp.Horizon)
	}
	return s.horizons[id]
}

func (s *stampReader) Move(h protocol.Horizon) { s.horizon(h.ID).Extend(int64(h.Until)) }

func (s *stampReader) Publish(v *protocol.View) {
	if v.Domain != protocol.Quorum {
		return
	}
	p := s.groups[v.Group]
	if p == nil {
		p = &published{}
		s.groups[v.Group] = p
	}
	if v.Leader.Rank != s.self {
		p.slot.Clear()
		p.tenure = nil
		return
	}
	if p.tenure == nil || p.number != v.Tenure {
		p.slot.Clear()
		p.tenure, p.number = p.slot.NewTenure(v.Epoch, v.Term, v.Quorum), v.Tenure
	}
	p.slot.Publish(p.tenure, s.horizon(v.Horizon), int64(v.Until))
}

func (s *stampReader) Act(clock func() protocol.Time, d protocol.Domain, g protocol.Group) (protocol.Fact, bool) {
	p := s.groups[g]
	if d != protocol.Quorum || p == nil || p.tenure == nil {
		return protocol.Fact{}, false
	}
	e, err := p.tenure.Edict(func() int64 { c := clock(); return int64(c + lateness(c)) })
	if err != nil {
		return protocol.Fact{}, false
	}
	return protocol.Fact{Ev: protocol.EvEdict, Dom: d, Group: g, Tenure: p.number, Term: e.Token, At: protocol.Time(e.Counter), Detail: e}, true
}

// lateness is by how much a cheap reading is after the clock: up to check.Late, a little otherwise each time, and so that
// readings run backwards now and then, as those of package clock may.
func lateness(c protocol.Time) protocol.Time {
	const golden = 0x9e3779b97f4a7c15 // the golden ratio, which spreads neighbours
	return protocol.Time(uint64(c) * golden % uint64(check.Late))
}

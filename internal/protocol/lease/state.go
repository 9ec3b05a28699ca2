package lease

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// State appends values to a canonical encoding of a machine's state. Instants are taken relative to Now, and those that
// are so long past that it no longer matters by how much are taken as equal, so that states repeat.
type State struct {
	B    []byte
	Now  protocol.Time
	Past time.Duration // how long past still matters
}

// Int appends a number.
func (s *State) Int(x int64) { s.B = binary.AppendVarint(s.B, x) }

// Uint appends a number.
func (s *State) Uint(x uint64) { s.B = binary.AppendUvarint(s.B, x) }

// Bool appends a flag.
func (s *State) Bool(x bool) {
	if x {
		s.B = append(s.B, 1)
	} else {
		s.B = append(s.B, 0)
	}
}

// Text appends a string.
func (s *State) Text(x string) {
	s.Uint(uint64(len(x)))
	s.B = append(s.B, x...)
}

// Set appends a set of members.
func (s *State) Set(x protocol.Set) {
	s.Uint(uint64(x.Len()))
	for r := range x.All() {
		s.Uint(uint64(r))
	}
}

// Ident appends a member's incarnation.
func (s *State) Ident(x protocol.Ident) {
	s.Uint(uint64(x.Rank))
	s.Uint(uint64(x.Inc))
}

// Future appends an instant that counts only as long as it has not come.
func (s *State) Future(t protocol.Time) {
	if t == protocol.Never {
		s.Int(-1)
		return
	}
	s.Int(int64(max(0, t.Sub(s.Now))))
}

// Instant appends an instant whose distance matters for a while after it has passed.
func (s *State) Instant(t protocol.Time) {
	if t == protocol.Never {
		s.Int(int64(protocol.Never))
		return
	}
	s.Int(int64(max(-s.Past, t.Sub(s.Now))))
}

// AppendState appends what the voter will ever act on.
func (g *Grantor) AppendState(s *State) {
	s.Future(g.ready)
	s.Bool(g.closed)
	g.terms.appendState(s)
	g.reach.AppendState(s, g.cfg)
	for _, w := range g.wards {
		s.Bool(w != nil)
		if w == nil {
			continue
		}
		s.Ident(w.to)
		s.Uint(w.seq)
		s.Uint(w.gen)
		s.Bool(w.dead != protocol.Never)
		s.Uint(uint64(len(w.promises)))
		for _, p := range w.promises {
			g.appendPromise(s, p)
		}
	}
	s.Uint(uint64(len(g.old)))
	for _, p := range g.old {
		g.appendPromise(s, p)
	}
	all := slices.SortedFunc(slices.Values(g.all), func(a, b *entry) int { return cmp.Compare(a.group, b.group) })
	s.Uint(uint64(len(all)))
	for _, e := range all {
		s.Text(string(e.group))
		s.Bool(e.to != nil)
		if e.to != nil {
			s.Ident(e.to.to)
			s.Int(int64(e.to.length))
			s.Uint(e.held)
		}
		s.Uint(e.term)
		s.Ident(e.owner)
		s.Uint(e.tenure)
		s.Uint(e.token)
		s.Uint(e.seen)
		s.Instant(e.free)
		s.Future(e.reserved)
		s.Uint(uint64(e.heir))
	}
}

func (g *Grantor) appendPromise(s *State, p *promise) {
	s.Ident(p.to)
	s.Int(int64(p.length))
	s.Future(p.until)
	s.Uint(p.gen)
}

// AppendState appends what the holder will ever act on.
func (h *Holder) AppendState(s *State) {
	s.Ident(h.me)
	s.Uint(h.seq)
	s.Uint(h.number)
	s.Future(h.renew)
	s.Int(int64(h.quiet))
	s.Uint(uint64(len(h.lengths)))
	for _, l := range h.lengths {
		s.Int(int64(l.nominal))
		if l.nominal != 0 {
			s.Future(l.next)
		}
		for _, x := range l.by {
			s.Uint(x.gen)
			s.Future(x.end)
			s.Bool(x.begun)
		}
	}
	for i := range h.voters {
		h.appendVoter(s, &h.voters[i])
	}
	names := slices.Sorted(maps.Keys(h.tenures))
	s.Uint(uint64(len(names)))
	for _, name := range names {
		h.appendTenure(s, h.tenures[name])
	}
	rels := slices.SortedFunc(maps.Values(h.releases), func(a, b *release) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Of.Rank, b.Of.Rank), cmp.Compare(a.Of.Inc, b.Of.Inc))
	})
	s.Uint(uint64(len(rels)))
	for _, r := range rels {
		s.Text(string(r.Group))
		s.Ident(r.Of)
		s.Uint(r.Term)
		s.Uint(uint64(r.To))
		s.Set(r.wants)
	}
}

func (h *Holder) appendVoter(s *State, v *voter) {
	s.Uint(uint64(v.inc))
	s.Bool(v.silent)
	s.Bool(v.deaf)
	s.Future(v.shut)
	s.Int(int64(v.wish))
	v.rtt.appendState(s, h.cfg)
	s.Int(int64(v.late))
	s.Int(int64(v.omitted))
	s.Uint(v.probe.seq)
	if v.probe.seq != 0 {
		s.Future(v.probe.start.Add(h.cfg.patience()))
	}
	s.Uint(uint64(len(v.flights)))
	for i := range v.flights {
		f := &v.flights[i]
		s.Uint(f.seq)
		s.Instant(f.start)
		for _, a := range f.asks {
			s.Int(int64(a.Length))
			s.Int(int64(a.Delta))
		}
		s.Bool(f.overdue)
		s.Uint(uint64(len(f.claims)))
		for _, t := range f.claims {
			s.Text(string(t.group))
			s.Uint(t.number)
		}
		appendReleases(s, f.releases)
	}
	s.Uint(uint64(len(v.claims)))
	for _, t := range v.claims {
		s.Text(string(t.group))
		s.Uint(t.number)
	}
	appendReleases(s, v.releases)
}

func appendReleases(s *State, rs []*release) {
	s.Uint(uint64(len(rs)))
	for _, r := range rs {
		s.Text(string(r.Group))
		s.Ident(r.Of)
	}
}

func (h *Holder) appendTenure(s *State, t *tenure) {
	s.Text(string(t.group))
	s.Uint(t.number)
	s.Int(int64(t.length.nominal))
	s.Uint(t.term)
	s.Uint(t.highest)
	s.Uint(t.token)
	s.Bool(t.class != nil)
	if t.class != nil {
		s.Future(t.class.until)
		s.Set(t.class.backers)
	}
	s.Future(t.until)
	s.Future(t.verified)
	s.Future(t.due)
	for i := range h.voters {
		s.Bool(!t.leads() && h.voters[i].heard >= t.start)
	}
	s.Bool(t.stopping)
	s.Bool(t.stopped)
	s.Uint(uint64(t.heir))
	s.Set(t.asked)
	s.Set(t.candidates)
	s.Set(t.joined)
	s.Uint(uint64(len(t.bids)))
	for i := range t.bids {
		b := &t.bids[i]
		s.Uint(uint64(b.state))
		s.Uint(b.term)
		s.Uint(b.led)
		s.Future(b.until)
		s.Bool(b.leader)
		if !t.leads() && b.state == backed {
			s.Instant(b.at)
		}
	}
	s.Uint(uint64(len(t.quorum)))
	for _, q := range t.quorum {
		s.Uint(uint64(q.Voter))
		s.Uint(uint64(q.Inc))
	}
}
